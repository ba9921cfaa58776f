"""R15: targets that share one input are told apart, whatever each of them weighs."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from instrument import make_batch, xray_rows
from tests.properties.strategies import few

drawn = st.lists(st.sampled_from([0.0, 0.25, 1.0, -0.5]), min_size=2, max_size=6)


@few
@given(weights=drawn.filter(lambda weights: len(set(weights)) > 1), seed=st.integers(0, 2**16))
def test_each_target_of_one_input_weighs_what_its_loss_does(weights, seed):
    rows = [[3, 4 + number] for number in range(len(weights))]

    def step(model, rows):
        batch = make_batch(rows)
        losses = torch.nn.functional.cross_entropy(model(**batch).logits[:, 0], batch["labels"][:, 1], reduction="none")
        (losses * torch.tensor(weights)).sum().backward()

    report = xray_rows(step, rows, seed)

    np.testing.assert_allclose(np.concatenate(report.weights), weights, rtol=1e-4)
