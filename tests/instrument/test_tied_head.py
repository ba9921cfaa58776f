"""A head that shares its matrix with a module that the model does not name."""

import pytest

from instrument import watch
from tests.instrument import models
from tests.instrument.loops import ROWS, sgd, train


@pytest.mark.parametrize("hidden", ["get_input_embeddings", "get_output_embeddings"])
def test_a_head_that_is_tied_by_assignment_is_no_fault(hidden):
    model = models.llama()
    model.lm_head.weight = model.model.embed_tokens.weight
    setattr(model, hidden, lambda: None)
    optimizer = sgd(model, lr=0.1)
    with watch(model, optimizer, read_point="model", head="lm_head") as report:
        train(model, ROWS[:2])
        optimizer.step()
    (verdict,) = report.verdicts

    assert () == verdict.faults
    unseen = any("head: its matrix is also another module's" in remark for remark in verdict.remarks)
    assert unseen == (hidden == "get_input_embeddings")
