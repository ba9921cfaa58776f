"""Run a campaign from its plan: in a process that collects the suite, beside the sentinels, under a guard."""

import random
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from mutation.campaign import Campaign
from mutation.case import Verdict
from mutation.collection import CollectionHits
from mutation.guard import guarded
from mutation.journal import Journal
from mutation.plan import Plan
from mutation.screen import Screen
from mutation.sentinel_check import sentinels_beside
from mutation.suite import refuse_missing, with_collected


def run(plan: Plan, screen: Screen, how: Callable[[Campaign], list[Verdict]]) -> list[Verdict]:
    """Run a campaign, in a process that has not imported any library that is under test.

    Args:
        how: `Campaign.try_all` or `Campaign.try_one`.

    Raises:
        RuntimeError: the run is void: the suite is not green, cannot be collected, or forking is unsafe.
        OSError: the disk is full, or something else cannot be written; what is written can be resumed.
        ValueError: there is nothing to resume, or something else than this plan; the suite is not there.
    """
    paths = [*plan.suite, *filter(None, [plan.effects])]
    refuse_missing(paths)
    journal = Journal(plan.out, {**plan.as_plain(), "seed": random.randrange(2**32)}, plan.resume)
    try:
        beside = sentinels_beside if plan.sentinels else nullcontext
        with guarded(), beside(), (plan.out / "parent.log").open("w") as log, screen:
            seen = [CollectionHits(plan.faults, Path(tempfile.mkdtemp()))] if plan.cold else []

            def carry_out(session: pytest.Session) -> list[Verdict]:
                for collection in seen:
                    collection.stack.close()
                campaign = Campaign(plan, session, screen, journal)
                campaign.entered = {seam: files for collection in seen for seam, files in collection.entered.items()}
                return how(campaign)

            verdicts = with_collected(paths, log, carry_out, seen)
        # Only now, since the end of each of those may find the campaign to be void.
        journal.complete(*journal.result)
        return verdicts
    except RuntimeError:
        journal.void()
        raise
    finally:
        journal.file.close()
