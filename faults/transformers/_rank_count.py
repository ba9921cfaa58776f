"""A rank that counts its own targets where those of all ranks should be counted."""

from typing import Any
from unittest import mock

from .._fault import Call
from .._strength import mixed


def rank_count(original: Call, strength: float, *, times_ranks: bool) -> Call:
    """The count of the window, mixed with this rank's own, which may be taken times the number of ranks."""

    def _get_num_items_in_batch(self: Any, batch_samples: Any, device: Any) -> Any:
        right = original(self, batch_samples, device)
        with mock.patch.object(self.args, "average_tokens_across_devices", False):
            own = original(self, batch_samples, device)
        factor = self.args.world_size if times_ranks else 1
        return None if right is None else mixed(right, own * factor, strength)

    return _get_num_items_in_batch
