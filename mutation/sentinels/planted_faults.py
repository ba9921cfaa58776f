"""One fault for each status that a campaign can give."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

from toy_fault import fault

HERE = Path(__file__).parent


def off_by_one(original):
    return lambda x: original(x) + 1


def the_same(original):
    return lambda x: original(x)


def type_error(original):
    return lambda x: original(x) + "1"


def hang(original):
    def wait(x):
        while True:
            time.sleep(1)

    return wait


def segfault(original):
    return lambda x: ctypes.string_at(0)


def leave(original):
    return lambda x: os._exit(3)


def interrupt(original):
    def stop(x):
        raise KeyboardInterrupt

    return stop


def wrong_once(original):
    def wrong_at_first(x):
        seen = HERE / "seen"
        if seen.exists():
            return original(x)
        seen.touch()
        return original(x) + 1

    return wrong_at_first


def no_patch(original):
    raise OSError("the patch itself fails")


def patch_of_another_release(original):
    raise LookupError("the line that the patch replaces is not there")


def leave_a_process_and_a_file(original):
    def start(x):
        left = subprocess.Popen(["sleep", "600"], start_new_session=True)
        Path("stray").touch()
        with (HERE / "left").open("a") as file:
            file.write(f"{left.pid}\n")
        return original(x) + 1

    return start


def vanish(original):
    del sys.modules["toy"].vanishing
    return original


PATCHES = {
    "wrong": off_by_one,
    "late": off_by_one,
    "harmless": the_same,
    "excused": the_same,
    "denied": off_by_one,
    "unmeasured": off_by_one,
    "measured_only": off_by_one,
    "raises": type_error,
    "hangs": hang,
    "segfaults": segfault,
    "exits": leave,
    "interrupts": interrupt,
    "unreached": off_by_one,
    "once": wrong_once,
    "unplantable": no_patch,
    "outdated": patch_of_another_release,
    "litters": leave_a_process_and_a_file,
    "cached": off_by_one,
    "moved": off_by_one,
    "tabulated": off_by_one,
    "vanishing": vanish,
}
FAULTS = {name: fault(name, patch) for name, patch in PATCHES.items()}
