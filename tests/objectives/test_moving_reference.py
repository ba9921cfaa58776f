"""A reference that follows its policy, against TRL's own callbacks on parameters that move at random."""

import os
from types import SimpleNamespace

import numpy as np
import torch
from accelerate import Accelerator
from hypothesis import given
from hypothesis import strategies as st
from trl.trainer.callbacks import SyncRefModelCallback

from closed_forms.moving_reference import bias_corrected, synchronized
from tests.closed_forms.tokens import seeds

counts = st.integers(1, 3)
# Eight steps of a float32 average, each of a few roundings of numbers up to 16.
ATOL = 8 * 8 * 16 * 2**-24


class Toy(torch.nn.Module):
    def __init__(self, config=None):
        super().__init__()
        self.config = config
        self.weight = torch.nn.Parameter(torch.zeros(2, 3))


def moved(callback, seed, arguments, policy, reference):
    """[w] the reference before each of eight steps, and what the policy was."""
    rng = np.random.default_rng(seed)
    states, found = [], []
    callback.on_train_begin(arguments, SimpleNamespace(global_step=0), None, model=policy)
    for step in range(8):
        states.append(policy.weight.detach().double().numpy().copy())
        found.append(reference.weight.detach().double().numpy().copy())
        with torch.no_grad():
            policy.weight.copy_(torch.tensor(rng.integers(-32, 33, (2, 3)) / 16))
        callback.on_step_end(arguments, SimpleNamespace(global_step=step + 1), None, model=policy, ref_model=reference)
    return found, states


@given(seeds, st.sampled_from([0.25, 0.6, 1.0]), counts)
def test_a_synchronized_reference(seed, alpha, every):
    policy, reference = Toy(), Toy()
    torch.nn.init.constant_(reference.weight, 2.0)
    arguments = SimpleNamespace(ref_model_sync_steps=every, ref_model_mixup_alpha=alpha)
    callback = SyncRefModelCallback(reference, None)

    # The callback asks the state that a trainer makes whether there is DeepSpeed.
    Accelerator(cpu=True)
    found, policies = moved(callback, seed, arguments, policy, reference)
    np.testing.assert_allclose(synchronized(policies, found[0], alpha, every), found, rtol=0, atol=ATOL)


@given(
    seeds,
    st.tuples(counts, st.integers(0, 3), counts, st.integers(0, 3)),
    st.sampled_from([(0.5, 0.2), (1.0, 0.0), (0.0, 1.0)]),
    st.sampled_from([(1, 1.0, 0.0), (2, 0.5, 0.25), (10, 2.0, 0.0)]),
)
def test_an_averaged_reference(seed, steps, powers, ages):
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    from trl.experimental.bema_for_ref_model import BEMACallback

    policy, reference = Toy(), Toy()
    torch.nn.init.constant_(reference.weight, 2.0)
    names = ("update_freq", "update_after", "ref_model_update_freq", "ref_model_update_after")
    callback = BEMACallback(
        **dict(zip(names, steps)),
        **dict(zip(("ema_power", "bias_power"), powers)),
        **dict(zip(("lag", "multiplier", "min_ema_multiplier"), ages)),
        update_ref_model=True,
    )

    found, policies = moved(callback, seed, None, policy, reference)
    ours = (
        "every",
        "after",
        "reference_every",
        "reference_after",
        "ema_power",
        "bias_power",
        "lag",
        "multiplier",
        "least",
    )
    expected = bias_corrected(policies, found[0], **dict(zip(ours, (*steps, *powers, *ages))))
    np.testing.assert_allclose(expected, found, rtol=0, atol=ATOL)
