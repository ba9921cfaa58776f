"""A library to plant faults in that take too much from the machine."""


def hoard(x):
    return x + 1


def hoard_elsewhere(x):
    return x + 1


def chatter(x):
    return x + 1


def fill(x):
    return x + 1
