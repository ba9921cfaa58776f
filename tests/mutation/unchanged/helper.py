"""What one test imports, and no other."""


def expected(x):
    return x
