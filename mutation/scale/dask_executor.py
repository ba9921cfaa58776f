"""Run the shards of a campaign on the workers of Dask: it places them, and places them anew when a worker is lost."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from mutation.scale.merge import merge

# What the kernel was told outlives the exec.
DIES_WITH_WORKER = """
import os, sys
from mutation.processes import die_with_parent
die_with_parent()
os.execv(sys.argv[1], sys.argv[1:])
"""


def spread_out(
    command: Sequence[str], faults: int, out: Path, scheduler: str | None, workers: int, tell: Callable[[str], None]
) -> None:
    """Run one shard per worker, each in a warm parent of its own, and merge what comes back.

    Args:
        command: what runs a campaign; `--shard=I/N` and `--out=DIR` are added to it.
        faults: how many are to be tried.
        out: gets the files of the whole campaign; the journal that it holds serves every shard as its cache.
        scheduler: address of a Dask scheduler, whose workers have this checkout as their working folder; None starts
            as many local worker processes as `workers` says.
        tell: hears what happens.

    Raises:
        ValueError: no worker has come.
        RuntimeError: a shard is void, or its worker was lost too often.
    """
    from distributed import Client, KilledWorker, LocalCluster, as_completed

    journal = out / "journal.jsonl"
    known = journal.read_bytes() if journal.exists() else b""
    with tempfile.TemporaryDirectory(prefix="shards-") as folder:
        local = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) if not scheduler else None
        try:
            with Client(local or scheduler, timeout="30s") as client:
                parts = min(faults, len(client.scheduler_info(n_workers=-1)["workers"]))
                if not parts:
                    raise ValueError(f"the scheduler at {scheduler} has no worker: start `dask worker {scheduler}`")
                shards = [f"{part}/{parts}" for part in range(1, parts + 1)]
                futures = client.map(run_shard, shards, command=list(command), known=known, pure=False)
                names = dict(zip((future.key for future in futures), shards))
                for future in as_completed(futures):
                    try:
                        files, told = future.result()
                    except KilledWorker as error:
                        raise RuntimeError(f"shard {names[future.key]}: its worker was lost again and again") from error
                    tell(f"shard {names[future.key]} on a worker of Dask:\n{told}")
                    part = Path(folder, names[future.key].replace("/", "-of-"))
                    part.mkdir()
                    for name, data in files.items():
                        (part / name).write_bytes(data)
        finally:
            if local:
                local.close()
        merge(sorted(Path(folder).iterdir()), out)


def run_shard(shard: str, command: Sequence[str], known: bytes) -> tuple[dict[str, bytes], str]:
    """Run one shard on a worker, in a process that dies with it.

    Args:
        known: the journal of earlier campaigns.

    Returns:
        The files of the campaign, and what it printed.

    Raises:
        RuntimeError: it is void, or could not run.
    """
    with tempfile.TemporaryDirectory(prefix="shard-") as folder:
        Path(folder, "journal.jsonl").write_bytes(known)
        done = subprocess.run(
            [sys.executable, "-c", DIES_WITH_WORKER, *command, f"--shard={shard}", f"--out={folder}"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        # A verdict against the suite also ends with 1: what tells is whether the campaign came to its end.
        if not Path(folder, "summary.json").exists():
            raise RuntimeError(f"shard {shard} came to no end (status {done.returncode}): {done.stdout}{done.stderr}")
        files = {name: Path(folder, name).read_bytes() for name in ("summary.json", "cells.jsonl", "journal.jsonl")}
        files["journal.jsonl"] = files["journal.jsonl"][len(known) :]
        return files, done.stdout
