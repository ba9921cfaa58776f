"""A library whose functions three faults can break."""


def added(x):
    return x + 1


def doubled(x):
    return 2 * x


def kept(x):
    return x
