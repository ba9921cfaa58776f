"""A library to plant faults in, which tests call in other processes only."""


def in_fork(x):
    return x + 1


def in_spawn(x):
    return x + 1


def in_subprocess(x):
    return x + 1


def before_exit(x):
    return x + 1


def in_old_release(x):
    return x + 1


def in_rank(x):
    return x + 1
