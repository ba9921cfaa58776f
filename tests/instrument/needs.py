"""What a test needs of the installed releases, and the reason where one of them lacks it: needs.toml lists both."""

import contextlib
import functools
import importlib.util
import inspect
import pkgutil
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement


@functools.cache
def listed():
    """(part, why it is needed) by the tests that need it: a file, a test of it, or one case of a test."""
    found = {}
    for need in tomllib.loads((Path(__file__).parent / "needs.toml").read_text())["need"]:
        found.update(dict.fromkeys(need["tests"], (need["part"], need["for"])))
    return found


@functools.cache
def lacking(part):
    """Which release has it not; None where it is there.

    A part is a requirement, a module, "module:name", or "module:name(argument)".
    """
    with contextlib.suppress(InvalidRequirement):
        asked = Requirement(part)
        if asked.specifier:
            found = metadata.version(asked.name)
            return None if asked.specifier.contains(found, prereleases=True) else f"{asked.name} {found} is no {part}"
    name, _, argument = part.removesuffix(")").partition("(")
    distribution = name.partition(":")[0].partition(".")[0]
    if importlib.util.find_spec(distribution) is None:
        return f"{distribution} is not installed"
    release = f"{distribution} {metadata.version(distribution)}"
    try:
        found = pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return f"{release} has no {name}"
    if argument and argument not in inspect.signature(found).parameters:
        return f"{release}: {name} takes no {argument}"
    return None


def reason(*entries):
    """Why what goes by one of these names cannot pass here; None where it can."""
    for entry in entries:
        if entry in listed():
            part, why = listed()[entry]
            if lacking(part):
                return f"{lacking(part)}: {why}"
    return None
