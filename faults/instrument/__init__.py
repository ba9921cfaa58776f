"""Faults of the instrument itself, written to slip past the tests. They have no link, since nobody reported them."""
