"""Would the suite notice a wrong line of our own? mutmut's mutants, and by what kind of failure each one died."""
