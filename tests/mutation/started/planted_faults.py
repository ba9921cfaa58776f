"""One fault for each way in which a test can start a process."""

from toy_fault import fault


def off_by_one(original):
    return lambda x: original(x) + 1


SEAMS = ("in_fork", "in_spawn", "in_subprocess", "before_exit", "in_old_release", "in_rank")
FAULTS = {name: fault(name, off_by_one) for name in SEAMS}
