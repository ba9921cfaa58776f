"""One pool of local ranks for all tests of a process, with the faults on that are on here."""

import atexit
import functools
import os
from contextlib import ExitStack

import torch
from accelerate.state import AcceleratorState, GradientState

from faults import CATALOGUE, WEAKENED, planted
from faults._plant import ON
from instrument.local_ranks import LocalRanks
from instrument.ranks import merge
from instrument.report.report import Report
from mutation.single_thread import refuse_threads


@functools.cache
def pool(ranks):
    started = LocalRanks(ranks, seconds=120, start="fork" if is_fresh() else "forkserver")
    atexit.register(started.close)
    return started


def is_fresh():
    """Whether ranks may be forked from this process: one thread, nothing planted by a test, autograd not used yet."""
    try:
        refuse_threads()
    except RuntimeError:
        return False
    return not ON and forks_run_autograd()


def forks_run_autograd():
    """Whether a fork of this process can run autograd, which torch refuses where the process has run it itself."""
    pid = os.fork()
    if pid == 0:
        try:
            torch.ones(1, requires_grad=True).sum().backward()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def on_ranks(job, *args, ranks=2):
    """What job(*args) returns on each rank. Calls of a planted seam there count as if they had been here."""
    known = {**CATALOGUE, **WEAKENED.made}
    names = [next(name for name, fault in known.items() if fault is on) for on, _ in ON]
    try:
        answers = pool(ranks).run(under, names, job, args)
    except BaseException:
        # Those that come next may have to be started in another way.
        pool.cache_clear()
        raise
    for counts, _ in answers:
        for (_, hits), count in zip(ON, counts):
            hits.count += count
    return [answer for _, answer in answers]


def measured(job, *args, ranks=2):
    """The report over all ranks of jobs that return a record each."""
    return Report(merge(on_ranks(job, *args, ranks=ranks)))


def under(names, job, args):
    """On a rank: the job under the faults of these names, and the calls of their seams."""
    # What an earlier job left behind.
    AcceleratorState._reset_state(True)
    GradientState._reset_state()
    torch.manual_seed(0)
    with ExitStack() as stack:
        faults = [(WEAKENED if "@" in name else CATALOGUE)[name] for name in names]
        hits = [stack.enter_context(planted(fault)) for fault in faults]
        answer = job(*args)
    return [hit.count for hit in hits], answer
