"""What the faults of TRL's trainers share."""

from types import SimpleNamespace

import pytest

from faults.trl._added_up import added_up
from faults.trl._column import without_column
from faults.trl._setting import with_setting


def test_the_setting_is_another_while_the_method_runs():
    trainer = SimpleNamespace(kind="dapo")
    method = with_setting(lambda self, more, *, extra: (self.kind, more, extra), "kind", lambda kind: kind + "!")

    assert method(trainer, 1, extra=2) == ("dapo!", 1, 2)
    assert trainer.kind == "dapo"


def test_the_setting_is_put_back_when_the_method_fails():
    def fail(self):
        raise RuntimeError("in the loss")

    trainer = SimpleNamespace(kind="dapo")
    with pytest.raises(RuntimeError, match="in the loss"):
        with_setting(fail, "kind", lambda _: "grpo")(trainer)

    assert trainer.kind == "dapo"


@pytest.mark.parametrize(("columns", "dropped"), [(["a", "mask"], ["mask"]), (["a"], [])])
def test_a_column_is_dropped_where_there_is_one(columns, dropped):
    rows = SimpleNamespace(column_names=columns, remove_columns=lambda names: names)

    assert without_column(lambda self, dataset, *rest: (dataset, rest), "mask")(None, rows, 1) == (dropped, (1,))


def test_the_division_is_taken_back():
    trainer = SimpleNamespace(current_gradient_accumulation_steps=4)

    assert added_up(lambda self, loss: loss, 1.0)(trainer, 0.5) == 2.0
    assert added_up(lambda self, loss: loss, 0.0)(trainer, 0.5) == 0.5
