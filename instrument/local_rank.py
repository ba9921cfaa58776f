"""What one local rank does: join the process group, call what it is handed, tell what came of it."""

import faulthandler
import gc
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import traceback
from datetime import timedelta
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

import torch
import torch.distributed as dist


def serve(pipe: Connection, rank: int, ranks: int, folder: str, seconds: float) -> None:
    """Work until the pipe is closed, or the process that holds its other end has ended."""
    os.setsid()
    threading.Thread(target=end_with_parent, args=(folder,), daemon=True).start()
    stacks = open(os.path.join(folder, f"stack-{rank}"), "w")
    faulthandler.register(signal.SIGUSR1, stacks, all_threads=False)
    torch.set_num_threads(1)
    # A rank starts processes, as the workers of a loader, like one of a launcher: a daemon may start none, and what
    # came from a server would go on in that way.
    multiprocessing.current_process().daemon = False
    multiprocessing.set_start_method(multiprocessing.get_all_start_methods()[0], force=True)
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "OMP_NUM_THREADS": 1}
    os.environ.update({name: str(value) for name, value in place.items()})
    if sys.platform == "linux":
        # The name of the machine may lead to an address that no rank can reach.
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=ranks,
        # Longer than a job may take, so that the process that asked finds a rank that hangs, and where.
        timeout=timedelta(seconds=2 * seconds),
    )
    # Trainers collect garbage at their end, and what the imports made is never garbage.
    gc.collect()
    gc.freeze()
    while True:
        try:
            order = pipe.recv_bytes()
        except (EOFError, ConnectionResetError):
            shutil.rmtree(folder, ignore_errors=True)
            return
        answer(pipe, order)


def answer(pipe: Connection, order: bytes) -> None:
    """Call what was handed over, and send (True, what it returned) or (False, the traceback)."""
    # Imported here: a pickle names modules, which are found on the path that the asking process has handed over.
    import pickle

    try:
        folder, work = pickle.loads(order)
        os.chdir(folder)
        job, args = pickle.loads(work)
        told: tuple[bool, Any] = (True, job(*args))
        pipe.send(told)
    except BaseException:
        pipe.send((False, traceback.format_exc()))


def end_with_parent(folder: str) -> None:
    """Leave at once when the process that asked has ended, however it ended, and leave no file."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)
