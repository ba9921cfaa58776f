"""What the loops of DistillationTrainer, trl.experimental and bfloat16 refuse, in one clear error each."""

import numpy as np
import pytest
from trl import DistillationTrainer

from instrument.loops.a2po import Valued, run_a2po
from instrument.loops.distillation import run_distillation
from instrument.loops.groups import Group
from instrument.loops.online_dpo import run_online_dpo
from instrument.loops.reference_free import experimental, run_cpo, run_orpo, run_tpo
from instrument.loops.scored import looked_up
from instrument.tiny import near, tiny_policy

PAIRS = [((3, 4), (5, 6), (7,)), ((8,), (9,), (10, 11))]


def online(groups, **options):
    model = tiny_policy(32)
    return run_online_dpo(model, [Group(*group) for group in groups], reference=near(model), micro_batch=1, **options)


@pytest.mark.parametrize("run", [run_cpo, run_orpo])
@pytest.mark.parametrize("pairs", [[*PAIRS, PAIRS[0]], [((3,), (), (4,))], [((), (3,), (4,))]])
def test_pairs_given_twice_or_empty_are_refused(run, pairs):
    with pytest.raises(ValueError, match="pairs need a prompt and two completions, no row twice"):
        run(tiny_policy(32), pairs, micro_batch=2)


def test_a_pair_without_its_gold_completion_is_refused():
    with pytest.raises(ValueError, match="pairs need a prompt and three completions"):
        run_tpo(tiny_policy(32), PAIRS, micro_batch=2)


def test_a_trainer_that_is_not_there_is_named_with_the_version():
    with pytest.raises(LookupError, match=r"^trl \d.*no PPOTrainer in trl\.experimental\.ppo"):
        experimental("ppo", "PPO")


def test_online_dpo_compares_two_completions():
    with pytest.raises(ValueError, match="OnlineDPO compares two completions"):
        online([((3,), ((4,), (5,), (6,)), ((1.0,), (0.0,), (0.5,)))])


def test_a_seam_of_distillation_that_moved_is_named(monkeypatch):
    monkeypatch.delattr(DistillationTrainer, "_generate_single_turn")

    with pytest.raises(LookupError, match=r"^trl \d.*DistillationTrainer has no _generate_single_turn"):
        run_distillation(tiny_policy(32), tiny_policy(32, 1), [((3,), (4, 2))], micro_batch=1)


@pytest.mark.parametrize("answers", [[((3,), (4,)), ((3,), (5,))], [((3,), ())], [((), (3,))]])
def test_answers_given_twice_or_empty_are_refused(answers):
    with pytest.raises(ValueError, match="answers need a prompt and a completion, no prompt twice"):
        run_distillation(tiny_policy(32), tiny_policy(32, 1), answers, micro_batch=1)


def test_a_row_that_nobody_gave_is_named():
    with pytest.raises(RuntimeError, match=r"ran the row \[3, 5\], which is none of the 1 that were given"):
        looked_up([np.array([3, 4]), np.array([3, 5])], {(3, 4): (0, [True])})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"values": (1.0,)}, "prompts need as many samples as rewards"),
        ({"completion": ()}, "prompts and completions need a token"),
        ({"samples": ((7,), (8, 9, 2))}, r"the completion \[7\] of the prompt \[3\] has no end of sequence"),
    ],
)
def test_prompts_that_a2po_cannot_value_are_refused(change, match):
    prompt = Valued((3,), (4, 2), 1.0, ((5, 2), (6, 2)), (1.0, 0.0))

    with pytest.raises(ValueError, match=match):
        run_a2po(tiny_policy(32), [prompt._replace(**change)], micro_batch=1)
