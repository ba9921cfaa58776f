"""How the text of an error is checked: its parts that help, in their order."""

import re


def says(*parts):
    """A pattern for a message with these parts in this order."""
    return "(?s)" + ".*".join(map(re.escape, parts))
