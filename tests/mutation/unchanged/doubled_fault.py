"""Off by one."""


def patch(original):
    return lambda x: original(x) + 1
