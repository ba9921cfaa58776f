"""Under a launcher each rank measures its own rows; here they meet, and the first of them tells.

They meet in a folder, through files: a collective of ours in somebody's run could hang it.
"""

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any


class Meeting:
    """The ranks of one launch, by the variables that torchrun and accelerate set.

    Attributes:
        rank, ranks: of this process; (0, 1) without a launcher.
        named: the folder was asked for by name, so it stays.
    """

    def __init__(self, folder: Path | None) -> None:
        self.rank, self.ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        self.named = folder is not None
        self.folder = folder or default_folder()
        if self.ranks > 1:
            self.folder.mkdir(parents=True, exist_ok=True)
            for file in self.mine():
                file.unlink(missing_ok=True)

    def mine(self) -> list[Path]:
        """Files that this rank may leave: its record, or why it has none, and what its loss was given."""
        names = f"rank-{self.rank}-of-{self.ranks}.json", f"rank-{self.rank}.txt", f"heard-{self.rank}.npz"
        return [self.folder / name for name in names]

    def leave(self, record: Any, reason: str, heard: Any = ()) -> None:
        """Hand over what this rank measured and what its loss was given, or why it did not measure."""
        from ..saved import save
        from .heard import save as save_heard

        if record is not None and not reason:
            # The record comes last: who sees it may read both.
            save_heard(list(heard), self.mine()[2])
            save(record, self.folder)
        else:
            self.mine()[1].write_text(reason or "it measured nothing")

    def gather(self, seconds: float = 60.0) -> tuple[Any, str, list[Any]]:
        """The records of all ranks as one, or None, and why; and [rank] what the loss was given."""
        from ..saved import load
        from .heard import load as load_heard

        deadline = time.monotonic() + seconds
        missing: list[int] = []
        while time.monotonic() < deadline:
            reasons = {r: self.folder / f"rank-{r}.txt" for r in range(self.ranks)}
            for r, file in reasons.items():
                if file.exists():
                    return None, f"rank {r} of {self.ranks} has no verdict: {file.read_text()}", []
            missing = [r for r in range(self.ranks) if not (self.folder / f"rank-{r}-of-{self.ranks}.json").exists()]
            if not missing:
                try:
                    heard = [load_heard(self.folder / f"heard-{r}.npz") for r in range(self.ranks)]
                    return load(self.folder), "", heard
                except (LookupError, ValueError) as problem:
                    return None, str(problem.args[0]), []
                finally:
                    if not self.named:
                        # Every rank has left what it had, and nobody else knows of the folder.
                        shutil.rmtree(self.folder, ignore_errors=True)
            time.sleep(0.05)
        why = (
            f"{len(missing)} of {self.ranks} ranks handed over no record within {seconds:g} s, rank {missing[0]} the "
            f"first of them; where the ranks share no folder for temporary files, name one by --records (it was "
            f"{self.folder})"
        )
        return None, why, []


def default_folder() -> Path:
    """A folder for temporary files, the same for all ranks of a launch and for no other launch."""
    names = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID")
    key = "-".join(os.environ.get(name, "") for name in names).replace("/", "_")
    return Path(tempfile.gettempdir()) / f"weighbridge-{os.getuid()}-{os.getppid()}-{key}"
