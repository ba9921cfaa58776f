"""One canary is judged and the other is not; a run over the source that sees it otherwise is void."""

from mutation.canary import dies, survives


def test_the_canary_that_dies_is_judged():
    assert 4 == dies(3)


def test_the_canary_that_survives_is_only_called():
    assert isinstance(survives(3), int)
