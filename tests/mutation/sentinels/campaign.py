"""Runs `first`, `matrix`, `prove NAME` or `why NAME TEST` over this folder; exits 1 when the run is void."""

import sys
from pathlib import Path

from planted_faults import FAULTS

from mutation.campaign import Campaign, run
from mutation.plan import Plan
from mutation.screen import Screen
from mutation.show import show_story, show_summary
from mutation.why import explain

mode, *names = sys.argv[1:]
if mode == "why":
    sys.exit(f"{explain(FAULTS[names[0]], names[1:])}")
plan = Plan(
    {name: FAULTS[name] for name in names or FAULTS},
    Path("out"),
    suite=["test_toy.py"],
    effects="test_effects.py",
    equivalent={"excused": "it changes nothing"},
    first_kill=mode != "matrix",
    patience=2.0,
)
screen = Screen(show_story)
try:
    verdicts = run(plan, screen, Campaign.try_one if mode == "prove" else Campaign.try_all)
except RuntimeError as error:
    sys.exit(str(error))
show_summary(screen.console, verdicts)
