"""A library to plant faults in: one function for each way in which a fault can end."""


def wrong(x):
    return x + 1


def late(x):
    return x + 1


def harmless(x):
    return x + 1


def excused(x):
    return x + 1


def denied(x):
    return x + 1


def unmeasured(x):
    return x + 1


def measured_only(x):
    return x + 1


def raises(x):
    return x + 1


def hangs(x):
    return x + 1


def segfaults(x):
    return x + 1


def exits(x):
    return x + 1


def unreached(x):
    return x + 1


def once(x):
    return x + 1


def unplantable(x):
    return x + 1


def outdated(x):
    return x + 1


def litters(x):
    return x + 1


def cached(x):
    return x + 1


def interrupts(x):
    return x + 1


def tabulated(x):
    return x + 1


def vanishing(x):
    return x + 1
