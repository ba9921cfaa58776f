"""Named runs of DPOTrainer and KTOTrainer in which faults of their losses show."""

import copy

import numpy as np
from peft import get_peft_model

from closed_forms import unpaired
from instrument.loops.dpo import run_dpo
from instrument.loops.installed import Installed
from instrument.loops.kto import cycled, run_kto
from instrument.loops.reference_free import run_cpo
from instrument.loops.scored import log_probabilities, lora, padded
from instrument.report.report import Report
from instrument.tiny import near, tiny_policy
from instrument.trl_rows import ANSWERS, PAIRS, VOCABULARY
from tests.faults.trl_rollouts import masks_of, ragged


def log_ratios(batch):
    """[b] sum over the scored tokens of log pi - log pi_ref."""
    return ((batch.policy - batch.reference) * batch.mask).sum(1)


def halves(ratios):
    """The log-ratios of the chosen and of the rejected rows."""
    return ratios[: len(ratios) // 2], ratios[len(ratios) // 2 :]


def told_of(driven, **constants):
    """[w] arguments: what is scored, the scores of the pairs of each micro-batch, and constants."""
    scores = [[halves(log_ratios(batch)) for batch in window] for window in driven.windows]
    sums = [[halves((batch.policy * batch.mask).sum(1)) for batch in window] for window in driven.windows]
    return [{"masks": m, "scores": s, "sums": t, **constants} for m, s, t in zip(masks_of(driven), scores, sums)]


def trl_dpo():
    """Two windows of two micro-batches of pairs under the robust loss."""
    model = tiny_policy(VOCABULARY)
    options = {"loss_type": ["robust"], "beta": 0.5, "label_smoothing": 0.25, "learning_rate": 0.1}
    driven = run_dpo(model, PAIRS[:4], reference=near(model), micro_batch=1, gradient_accumulation_steps=2, **options)
    return Report(driven.record), told_of(driven, beta=0.5, epsilon=0.25)


def trl_dpo_sharp():
    """Two windows of two micro-batches of pairs under the sigmoid loss, with a beta that tells small margins apart."""
    model = tiny_policy(VOCABULARY)
    options = {"beta": 4.0, "learning_rate": 0.0}
    driven = run_dpo(model, PAIRS[:4], reference=near(model), micro_batch=1, gradient_accumulation_steps=2, **options)
    told = told_of(driven, beta=4.0)
    for w, (known, window) in enumerate(zip(told, driven.windows)):
        known["policy"] = ragged(driven, w, [batch.policy for batch in window])
        known["reference"] = ragged(driven, w, [batch.reference for batch in window])
    return Report(driven.record), told


def trl_dpo_ipo():
    """A window of two micro-batches of a pair under ipo, and a tail of one."""
    model = tiny_policy(VOCABULARY)
    options = {"loss_type": ["ipo"], "beta": 0.25}
    driven = run_dpo(model, PAIRS[:3], reference=near(model), micro_batch=1, gradient_accumulation_steps=2, **options)
    return Report(driven.record), told_of(driven, beta=0.25, accumulation=2)


def trl_dpo_answers():
    """A window of two micro-batches of pairs under the sigmoid loss and the likelihood of the chosen answers."""
    model = tiny_policy(VOCABULARY)
    options = {"loss_type": ["sigmoid", "sft"], "beta": 0.5}
    driven = run_dpo(model, PAIRS[:4], reference=near(model), micro_batch=2, gradient_accumulation_steps=2, **options)
    return Report(driven.record), told_of(driven, beta=0.5)


def trl_dpo_light_answers():
    """As ``trl_dpo_answers``, the likelihood of the answers taken a quarter times."""
    model = tiny_policy(VOCABULARY)
    options = {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, 0.25], "beta": 0.5}
    driven = run_dpo(model, PAIRS[:4], reference=near(model), micro_batch=2, gradient_accumulation_steps=2, **options)
    return Report(driven.record), told_of(driven, beta=0.5, share=0.25)


def trl_dpo_adapter():
    """Two windows of a model that had an adapter before, which is part of the reference."""
    base = tiny_policy(VOCABULARY)
    with Installed():
        model = get_peft_model(copy.deepcopy(base), lora(("q_proj", "down_proj")))
    driven = run_dpo(model, PAIRS[:4], reference=copy.deepcopy(model), micro_batch=2, beta=1.0, learning_rate=0.3)
    told = told_of(driven, beta=1.0)
    for known, window, rows in zip(told, driven.windows, driven.record.windows):
        ids = [row.ids for row in rows.by_micro_batch()]
        (batch,) = window
        bare = padded(log_probabilities(base, ids, {}).log_p)
        known["base_scores"] = [halves(((batch.policy - bare) * batch.mask).sum(1))]
    return Report(driven.record), told


def trl_simpo():
    """A window of two micro-batches of a pair under SimPO, without the likelihood of the answers."""
    options = {"loss_type": "simpo", "beta": 0.5, "simpo_gamma": 0.5, "cpo_alpha": 0.0, "label_smoothing": 0.0}
    driven = run_cpo(tiny_policy(VOCABULARY), PAIRS[:2], micro_batch=1, gradient_accumulation_steps=2, **options)
    sums = [[halves((batch.policy * batch.mask).sum(1)) for batch in window] for window in driven.windows]
    return Report(driven.record), [
        {"masks": m, "sums": s, "beta": 0.5, "gamma": 0.5} for m, s in zip(masks_of(driven), sums)
    ]


def trl_kto():
    """Two windows of two micro-batches, the desirable completions counted twice, the others one and a half times.

    A learning rate of 0 keeps the policy where it is, so that it can be asked for other completions afterwards.
    """
    model = tiny_policy(VOCABULARY)
    reference = near(model, by=0.5)
    driven, mixed = run_kto(
        model,
        ANSWERS,
        reference=reference,
        micro_batch=2,
        gradient_accumulation_steps=2,
        learning_rate=0.0,
        beta=0.5,
        desirable_weight=2.0,
        undesirable_weight=1.5,
    )
    told = []
    for masks, window, others in zip(masks_of(driven), driven.windows, mixed):
        numbers = [number for batch in window for number in batch.numbers]
        wide = log_ratios(cycled(model, reference, ANSWERS, numbers, {}))
        told.append(
            {
                "masks": masks,
                "ratios": [log_ratios(batch) for batch in window],
                "desirable": [[ANSWERS[number][2] for number in batch.numbers] for batch in window],
                "baselines": [unpaired.kto_baseline(log_ratios(other)) for other in others],
                "window_baselines": [unpaired.kto_baseline(part) for part in np.split(wide, len(window))],
                "beta": 0.5,
                "gain": 2.0,
                "loss": 1.5,
            }
        )
    return Report(driven.record), told


PAIRED = (
    trl_dpo,
    trl_dpo_sharp,
    trl_dpo_ipo,
    trl_dpo_answers,
    trl_dpo_light_answers,
    trl_dpo_adapter,
    trl_simpo,
    trl_kto,
)
