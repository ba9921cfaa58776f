"""What is said of a check of the report that ended in an error: it is no pass, and not the end of the others."""

import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .history.paths import shortened

# The library that a group of checks drives.
LIBRARIES = {
    "trainer": "transformers",
    "accelerate": "accelerate",
    "leaks": "transformers",
    "peft": "peft",
    "trl": "trl",
}


def told(group: str, error: Exception) -> str:
    """The library that is driven with its version, the error, and where the code of that library was when it came."""
    library = LIBRARIES.get(group, "transformers")
    stack = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in stack if f"/{library}/" in frame.filename.replace("\\", "/")] or stack
    where = f" ({Path(inside[-1].filename).name}, {inside[-1].name})" if inside else ""
    said = shortened(" ".join(str(error).split()))
    return f"does not run on {library} {release(library)}: {type(error).__name__}: {said}{where}"


def release(library: str) -> str:
    """Its version, or that there is none."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "(not installed)"
