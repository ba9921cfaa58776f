"""R7 read a second way: at the embedding of the probe, where the completions of a prompt are told apart.

The token before the first one of a completion is the last of its prompt, from which every completion of the group is
predicted: its embedding's gradient is a sum, of which least squares gives each completion its part.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instrument import xray_rows
from instrument.loops.dpo import run_dpo
from instrument.loops.grpo import run_grpo
from instrument.loops.rloo import run_rloo
from instrument.objective_pairs import PairOptions, of_dpo
from instrument.objective_policy import Options, of_grpo, of_rloo
from instrument.probe import EOS
from instrument.tiny import near
from tests.properties.objectives import RATE
from tests.properties.strategies import PAIRS, TWICE, betas, few, pairs, rollouts
from tests.properties.test_objectives_policy import LOSS_TYPES, groups_of, rewards_of

penalties = st.sampled_from([0.0, 0.1])


def probed(loop, rows):
    """What a loop leaves behind when it trains the probe on rows, and [window][number] the probe's own reading."""
    driven = []
    report = xray_rows(lambda model, _: driven.append(loop(model)), rows)
    place = {tuple(row): number for number, row in enumerate(rows)}
    read = [{place[tuple(row.ids)]: row for row in [*w.rows, *w.carried]} for w in report.record.windows]
    return with_probe(driven[0], read), read


def with_probe(driven, read):
    """The run with the probe's amplification, from which the bounds come."""
    windows = []
    for batches, rows in zip(driven.windows, read, strict=True):
        windows.append([])
        for batch in batches:
            amplification = np.zeros_like(batch.amplification)
            for b, number in enumerate(batch.numbers):
                if number >= 0:
                    own = rows[number].amplification
                    amplification[b, : len(own)] = own
            windows[-1].append(replace(batch, amplification=amplification))
    return replace(driven, windows=windows)


def assert_read(driven, read, forms):
    """Every row's weight is the sum of its closed forms in the window: it may run in several micro-batches of it.

    Returns:
        how many weights other than 0 were told.
    """
    told = 0
    for batches, rows, expected in zip(driven.windows, read, forms, strict=True):
        for number, row in rows.items():
            places = [(k, b) for k, batch in enumerate(batches) for b in np.flatnonzero(batch.numbers == number)]
            n = len(row.weight)
            weight, allowed = (
                np.sum([np.zeros(n)] + [getattr(expected[k], name)[b, :n] for k, b in places], axis=0)
                for name in ("weight", "allowed")
            )
            # A nan is a weight of which rounding leaves nothing to tell.
            off = np.abs(row.weight - weight) > np.nan_to_num(allowed, nan=np.inf)
            assert not off.any(), (number, row.weight, weight, allowed)
            told += int((np.isfinite(allowed) & (weight != 0)).sum())
    return told


def rows_of(groups):
    return [[*group.prompt, *ids] for group in groups for ids in group.completions]


@pytest.mark.filterwarnings("ignore:When using `importance_sampling_level")
@pytest.mark.parametrize("loss_type", LOSS_TYPES)
@few
@example(drawn=TWICE, beta=0.0, level="token")
@given(drawn=rollouts(), beta=penalties, level=st.sampled_from(["token", "sequence"]))
def test_every_completion_of_grpo_has_its_part_of_the_prompt(loss_type, drawn, beta, level):
    given_groups, split = drawn
    groups = groups_of(given_groups)
    options = {"loss_type": loss_type, "importance_sampling_level": level, "beta": beta, "max_completion_length": 16}

    def loop(model):
        reference = near(model) if beta else None
        return run_grpo(model, groups, reference=reference, learning_rate=RATE, **options, **split)

    driven, read = probed(loop, rows_of(groups))
    closed = Options(**options, steps_per_generation=split["steps_per_generation"])
    forms = of_grpo(driven, rewards_of(given_groups), len(groups[0].completions), closed)
    assert assert_read(driven, read, forms) or drawn is not TWICE


@few
@example(drawn=TWICE, beta=0.0)
@given(drawn=rollouts(), beta=penalties)
def test_every_completion_of_rloo_has_its_part_of_the_prompt(drawn, beta):
    given_groups, split = drawn
    groups = groups_of(given_groups)

    def loop(model):
        reference = near(model) if beta else None
        return run_rloo(model, groups, reference=reference, learning_rate=RATE, beta=beta, **split)

    driven, read = probed(loop, rows_of(groups))
    forms = of_rloo(driven, rewards_of(given_groups), len(groups[0].completions), beta=beta)
    assert assert_read(driven, read, forms) or drawn is not TWICE


@pytest.mark.parametrize("loss_type", ["sigmoid", "ipo", "aot"])
@few
@example(drawn=PAIRS, beta=0.5, micro_batch=3, accumulation=2)
@given(drawn=pairs(), beta=betas, micro_batch=st.integers(1, 3), accumulation=st.integers(1, 3))
def test_chosen_and_rejected_have_their_parts_of_the_prompt(loss_type, drawn, beta, micro_batch, accumulation):
    # Of a longer prompt every pair of tokens stands in both rows.
    drawn = [(prompt[-1:], chosen, rejected) for prompt, chosen, rejected in drawn]
    split = {"micro_batch": micro_batch, "gradient_accumulation_steps": accumulation}

    def loop(model):
        return run_dpo(
            model, drawn, reference=near(model), loss_type=[loss_type], beta=beta, learning_rate=RATE, **split
        )

    driven, read = probed(loop, [[*prompt, *side, EOS] for prompt, *sides in drawn for side in sides])
    assert assert_read(driven, read, of_dpo(driven, {loss_type: 1.0}, PairOptions(beta)))
