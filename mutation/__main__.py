"""`python -m mutation`."""

import sys

try:
    from mutation.cli import main
except ModuleNotFoundError as missing:
    # An environment that only measures has no pytest.
    sys.exit(
        f"python -m mutation: there is no module {missing.name}: install what tests need, "
        'python -m pip install -c constraints.txt -e ".[test,trl]"'
    )

main()
