"""What a rank can do wrong, and right."""

import os
import signal
import subprocess
import time

import torch
import torch.distributed as dist

from instrument import watch
from tests.properties.loops import live_model
from tests.ranks.jobs import LOOPS


def summed(x):
    """Both ranks' numbers."""
    total = torch.tensor([x * (dist.get_rank() + 1.0)])
    dist.all_reduce(total)
    return total.item()


def process():
    return os.getpid()


def where():
    return os.getcwd()


def threads():
    return torch.get_num_threads()


def one_raises():
    if dist.get_rank() == 1:
        raise KeyError("the reason")
    summed(1)


def one_dies():
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    summed(1)


def one_sleeps(file):
    """Rank 1 never comes to the collective, and has a process of its own."""
    if dist.get_rank() == 1:
        file.write_text(str(subprocess.Popen(["sleep", "1000"]).pid))
        time.sleep(1000)
    summed(1)


def returns_what_no_pickle_holds():
    return lambda: 1


def gathered(lengths, stays_away):
    """Each rank trains on its rows and asks for the report over all; a rank may fail to."""
    model = live_model(0)
    rank = dist.get_rank()
    rows = [[3 + n + i for i in range(length)] for n, length in enumerate(lengths)]
    with watch(model) as report:
        LOOPS["ddp"](model, rows, rows, micro_batch=1)
    if rank == stays_away:
        return "stayed away"
    try:
        return report.gathered(seconds=2).record
    except RuntimeError as error:
        return str(error)


def saved(lengths, folder):
    """As gathered, through files."""
    model = live_model(0)
    rows = [[3 + n + i for i in range(length)] for n, length in enumerate(lengths)]
    with watch(model) as report:
        LOOPS["ddp"](model, rows, rows, micro_batch=1)
    report.save(folder)
    return report.record


def unequal_windows():
    """Rank 1 is watched for one step only."""
    model = live_model(0)
    rows = [[3, 4, 5], [6, 7, 8]]
    with watch(model) as report:
        LOOPS["ddp"](model, rows, rows, micro_batch=1)
        if dist.get_rank() == 0:
            model(input_ids=torch.tensor(rows), labels=torch.tensor(rows)).loss.backward()
    return report.record
