"""Long work says what it does now and how long it will take, and nothing where no one looks."""

import io

from rich.console import Console

from instrument.progress import progress_bar, shown


def drawn(terminal):
    """What stands in the file behind each piece of three."""
    file, seen = io.StringIO(), []
    console = Console(file=file, force_terminal=terminal, width=90, legacy_windows=False)
    for _ in shown(range(3), ["first", "second", "third"], console):
        seen.append(file.getvalue())
    return seen, file.getvalue()


def test_each_piece_comes_in_turn():
    assert [0, 1, 2] == list(shown(range(3), ["a", "b", "c"], Console(file=io.StringIO())))


def test_the_piece_that_is_being_made_is_named():
    before, whole = drawn(True)

    assert "first" in before[0]
    assert "third" not in before[0]
    assert "third" in whole


def test_nothing_is_drawn_where_no_terminal_is():
    _, whole = drawn(False)

    assert "" == whole.strip()


def test_the_time_that_is_left_is_told_once_a_piece_is_done():
    console = Console(file=io.StringIO(), force_terminal=True, width=90)
    now = [0.0]
    bar = progress_bar(console, by_itself=False)
    bar.get_time = lambda: now[0]
    task = bar.add_task("work", total=4)
    for _ in range(2):
        now[0] += 10
        bar.advance(task)

    assert 20 == bar.tasks[0].time_remaining
