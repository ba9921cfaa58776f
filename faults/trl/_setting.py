"""A method of a trainer that runs while one of its settings is another."""

from collections.abc import Callable
from typing import Any
from unittest import mock

from .._fault import Call


def with_setting(original: Call, name: str, instead: Callable[[Any], Any]) -> Call:
    """The method, while `instead` of the setting stands in its place: it is put back, also when the method fails."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        with mock.patch.object(self, name, instead(getattr(self, name))):
            return original(self, *args, **kwargs)

    return method
