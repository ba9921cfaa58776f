"""One fault per file, found by name as in the real catalogue."""

from importlib import import_module

from faults import Fault

FAULTS = {
    name: Fault(
        library="toy",
        seam=f"toy:{name}",
        source="https://example.org",
        year=2026,
        mechanism="None.",
        effect="toy:none",
        quantity="weights",
        visible="toy",
        patch=import_module(f"{name}_fault").patch,
    )
    for name in ("added", "doubled", "kept")
}
