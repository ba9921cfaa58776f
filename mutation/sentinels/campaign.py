"""Runs `first`, `matrix`, `prove NAME` or `why NAME TEST` over this folder; exits 1 when the run is void.

`--cache` takes from the cache without running anything again, `--check-cache` runs all of it again, `--resume` goes on,
`--cold` has each fault on before the tests are collected, `--patient` lets tests run for long with little
memory, `--foreign` asks for no effect, `--killer=TEST` goes first.
"""

import sys
from pathlib import Path

from planted_faults import FAULTS

from mutation.campaign import Campaign
from mutation.plan import Plan
from mutation.run import run
from mutation.scale.shards import faults_of, read_shard
from mutation.screen import Screen
from mutation.show import show_story, show_summary
from mutation.why import explain

options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
mode, *names = [argument for argument in sys.argv[1:] if argument not in options]
if mode == "why":
    sys.exit(str(explain(FAULTS[names[0]], f"planted_faults:FAULTS:{names[0]}", names[1:])))
given = dict(option.split("=", 1) for option in options if "=" in option)
asked = names or list(FAULTS)
shard = read_shard(given["--shard"]) if "--shard" in given else None
plan = Plan(
    {name: FAULTS[name] for name in (faults_of(asked, shard) if shard else asked)},
    Path(given.get("--out", "out")),
    catalogue="planted_faults:FAULTS",
    suite=[file for file in ("test_toy.py", "test_collected.py") if Path(file).exists()],
    effects="" if "--foreign" in options else "test_effects.py",
    equivalent={"excused": "it changes nothing"},
    killers={name: [given["--killer"]] for name in asked} if "--killer" in given else {},
    first_kill=mode != "matrix",
    cache="--cache" in options or "--check-cache" in options,
    resume="--resume" in options,
    cold="--cold" in options,
    share=1.0 if "--check-cache" in options else 0.0,
    patience=20.0 if "--patient" in options else 2.0,
    audit=float(given.get("--audit", 0)),
    shard=shard,
    asked=asked,
    memory=1.0 if "--patient" in options else 6.0,
)
screen = Screen(show_story)
try:
    verdicts = run(plan, screen, Campaign.try_one if mode == "prove" else Campaign.try_all)
except (RuntimeError, ValueError, OSError) as error:
    sys.exit(str(error))
show_summary(screen.console, verdicts)
