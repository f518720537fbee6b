"""Records are what the library's frozen dataclasses are: equality, hash, text, matching, copies."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import pytest

from archline.records import field, record, replace


@record
class Point:
    """A value."""

    x: int
    y: tuple[int, ...] = ()
    note: str = field(default="", compare=False, repr=False)


@record(slots=True)
class Named(Point):
    """A value with another base."""

    name: str = "a"


@record(eq=False)
class Node:
    """One that is compared by identity."""

    x: int


@record
class Own:
    """One with its own equality."""

    x: int

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 7


@dataclass(frozen=True)
class Like:
    """What the library makes of the same."""

    x: int
    y: tuple[int, ...] = ()


def test_values_are_compared_by_their_fields() -> None:
    assert Point(1, (2,), "this") == Point(1, (2,), "that") != Point(1, (3,))
    assert hash(Point(1, (2,), "this")) == hash(Point(1, (2,))) == hash(Like(1, (2,)))
    assert Point(1) != Named(1)
    assert Named(1, name="b") != Named(1)
    assert Point(1) != 1
    assert Node(1) != Node(1)
    assert Own(1) == Own(2)
    assert hash(Own(1)) == 7


def test_text_copies_and_patterns() -> None:
    assert repr(Point(1, (2,), "this")) == "Point(x=1, y=(2,))"
    assert repr(Named(1)) == "Named(x=1, y=(), name='a')"
    assert replace(Named(1), x=2) == Named(2)
    for each in (Point(1, (2,)), Named(1, name="b")):
        assert pickle.loads(pickle.dumps(each)) == each == copy.deepcopy(each)
    match Point(1, (2,)):
        case Point(x, (y,)):
            assert (x, y) == (1, 2)
        case _:
            pytest.fail("a record matches by place")
