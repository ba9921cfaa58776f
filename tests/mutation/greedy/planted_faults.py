"""One fault for each limit, and one that exceeds it in a process of its own."""

import multiprocessing
import os
import time

from toy_fault import fault


def hold():
    kept = []
    while len(kept) < 40:
        kept.append(b"x" * 2**26)
        time.sleep(0.02)
    time.sleep(60)


def hoard(original):
    return lambda x: hold()


def hoard_elsewhere(original):
    def start(x):
        process = multiprocessing.get_context("fork").Process(target=hold)
        process.start()
        process.join()

    return start


def chatter(original):
    def print_for_ever(x):
        while True:
            os.write(1, b"x" * 2**16)
            time.sleep(0.0005)

    return print_for_ever


def fill(original):
    def write(x):
        with open("stray", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 3 * 2**30)
            time.sleep(60)

    return write


PATCHES = {"hoard": hoard, "hoard_elsewhere": hoard_elsewhere, "chatter": chatter, "fill": fill}
FAULTS = {name: fault(name, patch) for name, patch in PATCHES.items()}
