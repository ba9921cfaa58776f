"""Two tests that notice one fault, one that notices another, one that notices none, and one that opens a file."""

import os

import toy


def test_adds():
    assert toy.added(1) == 2


def test_adds_more():
    assert toy.added(2) == 3


def test_doubles():
    assert toy.doubled(2) == 4


def test_keeps():
    from helper import expected

    assert toy.kept(3) == expected(3)


def test_reads():
    with open(os.devnull) as file:
        assert file.read() == ""
