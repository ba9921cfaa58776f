"""A fault of the toy library."""

from faults import Fault


def fault(seam, patch):
    return Fault(
        family="masks",
        library="toy",
        seam=f"toy:{seam}",
        source="https://example.org",
        year=2026,
        mechanism="None.",
        effect="toy:none",
        quantity="weights",
        visible="toy",
        patch=patch,
    )
