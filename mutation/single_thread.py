"""One thread before every fork: a child forked from a process with an OpenMP pool waits for ever."""

import os
import sys
from pathlib import Path


def use_one_thread() -> None:
    """Tell the numerical libraries to stay with one thread; call it before they are imported, and after."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def refuse_threads() -> None:
    """Check that a fork is safe now.

    Raises:
        RuntimeError: this process has a second thread, other than that of pyarrow's allocator, which is harmless.
    """
    names = [
        (task / "comm").read_text().strip()
        for task in Path("/proc/self/task").iterdir()
        if task.name != str(os.getpid())
    ]
    foreign = sorted(name for name in names if name != "jemalloc_bg_thd")
    if foreign:
        raise RuntimeError(
            f"a fork needs a process of one thread, this one also has {foreign}: its children could hang, so the run "
            "is void; find what starts threads while the suite is collected"
        )
