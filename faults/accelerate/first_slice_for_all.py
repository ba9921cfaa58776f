"""Of a batch that one rank reads for all, every rank trains on the first part."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take the first slice of that length."""

    def slice_tensors(data: Any, tensor_slice: Any, process_index: Any = None, num_processes: Any = None) -> Any:
        return original(data, slice(0, tensor_slice.stop - tensor_slice.start), process_index, num_processes)

    return slice_tensors


FAULT = Fault(
    family="samplers",
    library="accelerate>=1",
    seam="accelerate.utils.operations:slice_tensors",
    source="https://github.com/k2-fsa/icefall/issues/1616",
    year=2024,
    mechanism="No rank is told apart when a batch is shared out, so all get the same part; emulated in accelerate.",
    effect="closed_forms.shares:first_slice_for_all",
    quantity="ledger",
    visible="ranks_dispatched",
    patch=patch,
)
