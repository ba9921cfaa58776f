"""Runs the campaign over this folder; exits 1 when it is void."""

import sys
from pathlib import Path

from planted_faults import FAULTS

from mutation.campaign import Campaign, run
from mutation.plan import Plan
from mutation.screen import Screen

plan = Plan(
    FAULTS,
    Path("out"),
    suite=["test_toy.py"],
    effects="test_effects.py",
    equivalent={"excused": "it changes nothing"},
    first_kill="matrix" not in sys.argv,
    patience=0.5,
)
try:
    run(plan, Screen(), Campaign.try_all)
except RuntimeError as error:
    sys.exit(str(error))
