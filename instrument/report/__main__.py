"""`python -m instrument.report report.json > docs/checks.md`: the page of the checks, from what a run wrote."""

import argparse
import json
from pathlib import Path

from .as_page import page

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m instrument.report", description=__doc__)
    parser.add_argument("file", type=Path, help="what `weighbridge report --json FILE` wrote, of all checks")
    parser.add_argument("--held", type=Path, help="compare with this page instead, and fail where they differ")
    given = parser.parse_args()
    try:
        checks = json.loads(given.file.read_text())["checks"]
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"{given.file} is no report ({error!r}): write one with weighbridge report --json {given.file}")
    if given.held is None:
        print(page(checks), end="")
    elif given.held.read_text() != page(checks):
        parser.exit(
            1, f"{given.held} is not what this run gives: python -m instrument.report {given.file} > {given.held}\n"
        )
