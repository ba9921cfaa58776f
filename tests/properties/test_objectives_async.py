"""R7: every token of AsyncGRPOTrainer weighs its closed form, where rollouts share what they begin with."""

from hypothesis import example, given
from hypothesis import strategies as st

from instrument.loops.async_grpo import Rollout, run_async_grpo
from instrument.objective_async import of_async_grpo
from instrument.objective_record import ObjectiveRun
from instrument.objective_verdict import judge_objective
from instrument.tiny import tiny_policy
from tests.properties.strategies import VOCABULARY, few, seeds

# Few ids, so that rollouts begin alike for a while; the last one of each is its own.
ids = st.lists(st.integers(3, 5), min_size=0, max_size=4)


@st.composite
def rolled_out(draw):
    """Rollouts that fill windows, and how these are split."""
    windows, micro_batch, steps = draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(st.integers(1, 2))
    rows = windows * micro_batch * steps
    prompts = st.sampled_from([(3,), (3, 4), (5, 3)])
    advantages = st.integers(-16, 16).filter(bool).map(lambda a: a / 8)
    drawn = draw(st.lists(st.tuples(prompts, ids, advantages), min_size=rows, max_size=rows))
    rollouts = [Rollout(prompt, (*said, 10 + n), a) for n, (prompt, said, a) in enumerate(drawn)]
    return rollouts, {"micro_batch": micro_batch, "gradient_accumulation_steps": steps}


# Behind the first window every ratio is off by more: test_objectives_regions.py.
WINDOWS = (
    [Rollout((3,), (4, 3, 10 + n), 1.0 if n % 2 else -1.0) for n in range(6)],
    {"micro_batch": 2, "gradient_accumulation_steps": 1},
)


@few
@example(drawn=WINDOWS, epsilons=(1e-4, 1e-4), seed=0)
@example(drawn=WINDOWS, epsilons=(1e-4, 5.0), seed=0)
@given(drawn=rolled_out(), epsilons=st.sampled_from([(0.02, 0.03), (0.2, 0.3)]), seed=seeds)
def test_every_token_of_async_grpo(drawn, epsilons, seed):
    rollouts, split = drawn

    windows, changes = run_async_grpo(
        tiny_policy(VOCABULARY, seed),
        rollouts,
        epsilon=epsilons[0],
        epsilon_high=epsilons[1],
        learning_rate=0.1,
        **split,
    )
    rows = [(*rollout.prompt, *rollout.completion) for rollout in rollouts]
    compared, apart = of_async_grpo(windows, rows, [rollout.advantage for rollout in rollouts], *epsilons)
    assert judge_objective(ObjectiveRun(compared, changes, apart=apart), [])[:2] == ("the closed form", "ok")
    assert sorted(n for window in compared for batch in window for n in batch.numbers) == list(range(len(rollouts)))
    assert any(batch.expected.any() for batch in compared[0])
