"""What a person reads: guilty pairs, broken boundaries, places."""

from instrument.leak_record import Ahead, Leaks, Pair
from instrument.leak_sequences import Span

SPANS = (Span(0, 0, 3), Span(0, 3, 5), Span(1, 0, 4))


def leaks(pairs=(), ahead=(), spans=SPANS, balance=False):
    return Leaks(tuple(spans), tuple(pairs), tuple(ahead), 0.5, 3, 1, balance)


def text(found):
    return str(found).splitlines()


def test_a_clean_batch_takes_one_line():
    assert text(leaks()) == ["no leak: 3 sequences, 3 backward passes, every foreign gradient exactly 0.0"]


def test_a_pair_is_named_with_its_places_and_its_boundary():
    assert text(leaks([Pair(1, 0, 2, 0.25)])) == [
        "LEAK: 1 of 6 ordered pairs of 3 sequences",
        "  the loss of sequence 1 (row 0, tokens 3-4) depends on sequence 0 (row 0, tokens 0-2): "
        "gradient 2.50e-01 at token 2, 5.0e-01 of its own",
        "  broken boundaries: row 0, before token 3",
    ]


def test_a_pair_of_two_rows_breaks_no_boundary():
    found = leaks([Pair(2, 1, 3, 0.25)])

    assert found.boundaries() == []
    assert len(text(found)) == 2


def test_a_pair_over_a_sequence_between_breaks_no_boundary():
    spans = [Span(0, 0, 3), Span(0, 3, 5), Span(0, 5, 9)]

    assert leaks([Pair(2, 0, 1, 0.25)], spans=spans).boundaries() == []


def test_a_pair_from_behind_breaks_no_boundary():
    assert leaks([Pair(0, 1, 3, 0.25)]).boundaries() == []


def test_broken_causality_is_named_with_its_places():
    assert text(leaks(ahead=[Ahead(1, 4, 4, 0.125)])) == [
        "NOT CAUSAL: sequence 1 (row 0, tokens 3-4): the loss of its targets up to token 4 depends on token 4 "
        "(gradient 1.25e-01)"
    ]


def test_either_kind_makes_it_true():
    assert not leaks()
    assert leaks([Pair(1, 0, 2, 0.25)])
    assert leaks(ahead=[Ahead(1, 4, 4, 0.125)])


def test_long_lists_are_cut():
    spans = [Span(0, 2 * i, 2 * i + 2) for i in range(12)]
    pairs = [Pair(i, i - 1, 2 * i - 1, 0.1) for i in range(1, 12)]
    ahead = [Ahead(i, 2 * i + 1, 2 * i + 1, 0.1) for i in range(12)]
    lines = text(leaks(pairs, ahead, spans))

    assert lines[9] == "  ... and 3 more pairs"
    assert lines[10].endswith("before token 16 ... and 3 more")
    assert lines[19] == "  ... and 4 more sequences that are not causal"
    assert len(lines) == 20


def test_lists_of_eight_are_whole():
    spans = [Span(0, 2 * i, 2 * i + 2) for i in range(9)]
    found = leaks([Pair(i, i - 1, 2 * i - 1, 0.1) for i in range(1, 9)], [Ahead(i, 1, 1, 0.1) for i in range(8)], spans)

    assert "more" not in str(found)


def test_a_balance_term_is_mentioned_only_with_a_leak():
    assert "aux_loss" not in str(leaks(balance=True))
    assert "output_router_logits=False" in str(leaks([Pair(1, 0, 2, 0.25)], balance=True))


def test_pattern_is_target_by_source():
    pattern = leaks([Pair(2, 0, 1, 0.1)]).pattern()

    assert pattern.tolist() == [[True, False, False], [False, True, False], [True, False, True]]
