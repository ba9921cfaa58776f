"""A fault that changes the log-probabilities that a preference trainer gets from its models."""

from collections.abc import Callable
from typing import Any

from .._fault import Call


def with_log_probs(original: Call, instead: Callable[[Any, Any, bool], Any]) -> Call:
    """The loss, while `instead` of log-probabilities, inputs and whether of the reference stands in their place."""

    def _compute_loss(self: Any, model: Any, inputs: Any, *args: Any) -> Any:
        def hook(reference: bool) -> Call:
            def changed(module: Any, given: Any, outputs: Any) -> Any:
                outputs.log_probs = instead(outputs.log_probs, inputs, reference)
                return outputs

            return changed

        handles = [model.register_forward_hook(hook(False)), self.ref_model.register_forward_hook(hook(True))]
        try:
            return original(self, model, inputs, *args)
        finally:
            for handle in handles:
                handle.remove()

    return _compute_loss
