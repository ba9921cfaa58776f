"""What a loop does between its forwards and backwards is no part of a window."""

import torch

from instrument import watch
from tests.instrument import models
from tests.instrument.loops import batches
from tests.instrument.stepped import sgd


def test_generation_inside_training_is_no_part_of_a_window():
    model = models.llama()
    optimizer = sgd(model)
    with watch(model, optimizer, expect="mean of micro-batch means") as report:
        for _ in range(2):
            for batch in batches():
                (model(**batch).loss / len(batches())).backward()
                model.eval()
                model.generate(torch.tensor([[3, 4]]), max_new_tokens=3, do_sample=False)
                model.train()
            optimizer.step()
            optimizer.zero_grad()

    assert [(), ()] == [verdict.faults for verdict in report.verdicts]
    assert [len(batches())] * 2 == [window.after.reach.arrived.shape[1] for window in report.windows]


def test_evaluation_inside_training_is_no_part_of_a_window():
    model = models.llama()
    optimizer = sgd(model)
    with watch(model, optimizer, expect="mean of micro-batch means") as report:
        for batch in batches():
            (model(**batch).loss / len(batches())).backward()
            model.eval()
            # With gradients on, as where somebody forgot no_grad; no backward follows.
            model(**batches()[0]).loss.item()
            with torch.no_grad():
                model(**batches()[0])
            model.train()
        optimizer.step()

    ((window,), (verdict,)) = report.windows, report.verdicts
    assert () == verdict.faults
    assert sum(len(batch["input_ids"]) for batch in batches()) == len(window.rows)
