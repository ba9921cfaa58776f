"""Shapes such as [m][b] in docstrings are no links: says so to Markdown, when the reference is built."""

from typing import Any

import griffe


class PlainShapes(griffe.Extension):
    """Escapes the second bracket of neighbours."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called with each module, class, function and attribute once it is loaded."""
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("][", "]\\[")
