"""Tools that look for silent training bugs, side by side: each around the same training, with the same faults in it.

    python benchmarks/peers.py FOLDER [TOOL ...]

Each tool is installed into an environment of its own in FOLDER, which borrows this environment's packages, and attached
as its own documentation says (benchmarks/peers/attach.py). TrainCheck learns invariants from a clean run first, which
takes up to an hour; all others take minutes. What came of each run is kept in FOLDER and not run again. It tells:

- a fault is found when the tool says something that it does not say of three clean runs, whatever it says there;
- false alarms are the lines that it says of the clean runs;
- slowdown is the seconds of the training's loop with the tool over those without, median of three clean runs in turn;
- the run was changed when the trained parameters are not the same bit for bit.
"""

import json
import os
import shutil
import site
import statistics
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

HERE = Path(__file__).parent / "peers"
FAULTS = (
    "mean of means",
    "swapped mask",
    "packed without boundaries",
    "normaliser 1 % off",
    "normaliser 2 times",
    "dropped micro-batch",
    "parameter not in the optimizer",
)
TOOLS = {
    "weighbridge": "",
    "guardtower": "guardtower==0.1.0",
    "torch-audit": "torch-audit==0.3.0",
    "torchtest2": "torchtest2==0.1.0",
    "TrainCheck": "traincheck==0.2.0",
    "dattri-llm": "dattri-llm==0.1.0",
}


def interpreter(folder: Path, tool: str) -> Path:
    """Of an environment that holds the tool; this one's for Weighbridge."""
    if not TOOLS[tool]:
        return Path(sys.executable)
    home = folder / "environments" / tool
    if not (home / "complete").exists():
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, with_pip=False)
        (packages,) = home.glob("lib/python*/site-packages")
        (packages / "base.pth").write_text(f"{site.getsitepackages()[0]}\n")
        pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "--quiet"]
        constraints = Path(__file__).parents[1] / "constraints.txt"
        subprocess.run([*pip, "--only-binary", ":all:", "-c", str(constraints), TOOLS[tool]], check=True)
        (home / "complete").touch()
    return home / "bin" / "python"


def trained(folder: Path, tool: str, case: str, attach: str, again: int = 0) -> dict[str, Any]:
    """{"said": lines, "seconds": of the loop, "digest": of the parameters} of one training, kept in the folder."""
    kept = folder / "runs" / f"{tool} {attach} {case} {again}.json"
    if not kept.exists():
        environment = {**os.environ, "CASE": case, "TOOL": attach, "PEERS": str(HERE)}
        environment["PYTHONPATH"] = str(HERE.parents[1])
        if tool == "TrainCheck" and attach == tool:
            found = traincheck(folder, interpreter(folder, tool).parent, case, {**environment, "TOOL": "nothing"})
        else:
            words = [str(interpreter(folder, tool)), str(HERE / "training.py")]
            found = came_of(
                subprocess.run(words, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
            )
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found))
    return json.loads(kept.read_text())


def came_of(output: str) -> dict[str, Any]:
    """The training's last line, which TrainCheck colours."""
    return json.loads("{" + output.rpartition("{")[2].rpartition("}")[0] + "}")


def traincheck(folder: Path, scripts: Path, case: str, environment: dict[str, str]) -> dict[str, Any]:
    """Its four steps: a trace of a clean run, the invariants of it (both once), a trace of this run, the check."""
    home = folder / "traincheck"
    home.mkdir(parents=True, exist_ok=True)

    def step(script: str, *words: str, case: str = case) -> str:
        done = subprocess.run(
            [str(scripts / script), *words],
            cwd=home,
            env={**environment, "CASE": case},
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.stdout

    # It writes the copy that it runs beside the script.
    shutil.copy(HERE / "training.py", home)
    follow = ("--pyscript", str(home / "training.py"), "--models-to-track", "model", "--output-dir")
    if not (home / "invariants.json").exists():
        step("traincheck-collect", *follow, "reference", case="clean")
        step("traincheck-infer", "-f", "reference", "-o", "invariants.json")
    trace = f"trace-{case}".replace(" ", "-").replace("%", "percent")
    shutil.rmtree(home / trace, ignore_errors=True)
    found = came_of(step("traincheck-collect", *follow, trace, "--invariants", "invariants.json"))
    shutil.rmtree(home / f"{trace}-results", ignore_errors=True)
    step("traincheck-check", "-f", trace, "-i", "invariants.json", "-o", f"{trace}-results")
    failed = [path.read_text() for path in (home / f"{trace}-results").rglob("failed*.log")]
    found["said"] = sorted(
        {json.dumps(violated["invariant"], sort_keys=True) for text in failed for violated in parts(text)}
    )
    return found


def parts(text: str) -> list[dict[str, Any]]:
    """The JSON objects that stand one behind the other in a text."""
    decoder, found, at = json.JSONDecoder(), [], 0
    text = text.strip()
    while at < len(text):
        value, end = decoder.raw_decode(text, at)
        found.append(value)
        at = end + len(text[end:]) - len(text[end:].lstrip())
    return found


def column(folder: Path, tool: str) -> list[str]:
    """The cells of one tool, in the order of the table's rows."""
    pairs = [(trained(folder, tool, "clean", "nothing", n), trained(folder, tool, "clean", tool, n)) for n in range(3)]
    clean = pairs[0][1]
    # What it says of a clean run may differ from one to the next.
    alarms = {line for _, watched in pairs for line in watched["said"]}
    cells = []
    for case in FAULTS:
        said = trained(folder, tool, case, tool)["said"]
        if tool == "dattri-llm":
            # It judges nothing; four captured norms are those of the first window.
            cells.append("-" if said[:4] == clean["said"][:4] else "differs")
        else:
            cells.append("found" if set(said) - alarms else "-")
    false = "judges nothing" if tool == "dattri-llm" else str(len(alarms))
    slower = statistics.median(watched["seconds"] / plain["seconds"] for plain, watched in pairs)
    changed = "no" if clean["digest"] == pairs[0][0]["digest"] else "yes"
    return [*cells, false, f"{slower:.1f} times", changed]


def main(folder: str, *tools: str) -> None:
    """Print the table."""
    home = Path(folder).resolve()
    columns = {tool: column(home, tool) for tool in track(tools or tuple(TOOLS), "tools")}
    table = Table("", *(f"{tool} {TOOLS[tool].partition('==')[2]}".strip() for tool in columns))
    for number, row in enumerate([*FAULTS, "false alarms", "slowdown", "run changed"]):
        table.add_row(row, *(cells[number] for cells in columns.values()))
    Console().print(table)


if __name__ == "__main__":
    main(*sys.argv[1:])
