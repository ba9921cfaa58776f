"""Nothing that anybody could notice."""


def patch(original):
    return lambda x: original(x)
