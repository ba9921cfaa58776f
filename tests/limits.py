"""Closed forms that are given another limit than the trainer, to see them contradicted."""

import functools
import inspect
from typing import NamedTuple


class Told(NamedTuple):
    """Changes a form: its argument `name` has another value, or that of the argument whose name is given."""

    name: str
    value: object

    def __call__(self, form):
        signature = inspect.signature(form)

        @functools.wraps(form)
        def wrong(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            other = bound.arguments[self.value] if isinstance(self.value, str) else self.value
            bound.arguments[self.name] = other
            return form(*bound.args, **bound.kwargs)

        return wrong
