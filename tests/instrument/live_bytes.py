"""How much memory torch holds at most while a block runs; tracemalloc does not see tensors."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveBytes(TorchDispatchMode):
    """Follows every storage that is made inside until it is freed; `peak` is the largest sum in bytes."""

    def __init__(self):
        super().__init__()
        self.peak = 0
        self._sizes = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        given = {id(storage) for storage in storages((args, kwargs))}
        result = function(*args, **(kwargs or {}))
        for storage in storages(result):
            key = storage._cdata
            if id(storage) not in given and key not in self._sizes:
                self._sizes[key] = storage.nbytes()
                weakref.finalize(storage, self._sizes.pop, key)
        self.peak = max(self.peak, sum(self._sizes.values()))
        return result


def storages(tree):
    """The storages of all tensors in it."""
    return [leaf.untyped_storage() for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
