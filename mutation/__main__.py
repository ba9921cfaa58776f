"""`python -m mutation`."""

from mutation.cli import main

main()
