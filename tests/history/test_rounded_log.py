"""A loss logged with four decimals is compared to four decimals, any other to the rounding of float32."""

from types import SimpleNamespace

import pytest

from instrument.checks import logged_loss


@pytest.mark.parametrize(("logged", "status"), [(3.4849, "ok"), (3.484900001, "FAULT"), (3.4850, "FAULT")])
def test_only_a_log_of_four_decimals_may_be_half_of_the_last_one_off(logged, status):
    report = SimpleNamespace(windows=[SimpleNamespace(objective=lambda: 3.484853)], rounding=lambda: 2e-6)

    assert logged_loss(report, [logged])[1] == status
