"""One fault for each way in which a test can start a process."""

from faults import Fault


def off_by_one(original):
    return lambda x: original(x) + 1


SEAMS = ("in_fork", "in_spawn", "in_subprocess", "before_exit", "in_old_release", "in_rank")
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
        patch=off_by_one,
    )
    for name in SEAMS
}
