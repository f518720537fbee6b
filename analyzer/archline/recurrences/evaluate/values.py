"""The value of a recurrence at given sizes, by following its equations: exact wherever the sizes decide the cost."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from archline.algebra.evaluate.compiled import Number
from archline.algebra.evaluate.exact import EvaluationError
from archline.recurrences.evaluate.decisions import Cases, Frame, Place
from archline.recurrences.evaluate.memoised import Directly, TooManyError
from archline.recurrences.model import Function

MAX_CALLS = 200_000


class Values:
    """Evaluates functions that are exact, each place once, without recursion of its own."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = dict(functions)
        self._cases: dict[str, Cases] = {}
        self._known: dict[Place, Number] = {}
        self._direct: Directly | None = None
        self._nested = False

    def learn(self, functions: Mapping[str, Function]) -> None:
        """Add functions."""
        if not functions.keys() <= self._functions.keys():
            self._functions |= functions
            self._direct = None

    def at(self, name: str, sizes: Mapping[str, int], most: int = MAX_CALLS) -> Fraction:
        """The function at sizes. Raises EvaluationError where it has no value or takes more than `most` steps."""
        arguments = tuple(sizes[each] for each in self._functions[name].parameters)
        found = self._directly(name, arguments, most)
        return Fraction(self._followed((name, arguments), most) if found is None else found)

    def _directly(self, name: str, arguments: tuple[int, ...], most: int) -> Number | None:
        """The value, where the functions can be written and their calls nest little. Raises TooManyError."""
        if self._nested:
            return None
        try:
            if self._direct is None:
                self._direct = Directly(self._functions, self._known)
            return self._direct.at(name, arguments, most)
        except TooManyError:
            raise
        except EvaluationError:
            # A call inside a max may stand under a guard that fails.
            return None
        except RecursionError:
            self._nested = True
            return None

    def _followed(self, wanted: Place, most: int) -> Number:
        before = len(self._known)
        pending: list[tuple[Place, Frame | None]] = [(wanted, None)]
        open_: set[Place] = set()
        while pending:
            place, frame = pending.pop()
            if place in self._known:
                continue
            if frame is not None:
                open_.discard(place)
                self._known[place] = frame.value(self._called)
                continue
            if place in open_:
                raise EvaluationError("the recursion does not end at these sizes")
            if len(self._known) - before + len(pending) > most:
                raise EvaluationError("the recurrence takes too many steps at these sizes")
            open_.add(place)
            frame = self._of(place[0]).frame(place[1], self._valid)
            pending.append((place, frame))
            pending.extend((each, None) for each in frame.needed if each not in self._known)
        return self._known[wanted]

    def _of(self, name: str) -> Cases:
        if name not in self._cases:
            self._cases[name] = Cases(self._functions[name], self._called)
        return self._cases[name]

    def _valid(self, place: Place) -> bool:
        name, arguments = place
        return self._of(name).valid(arguments)

    def _called(self, name: str, arguments: tuple[Number, ...]) -> Number:
        known = self._known.get((name, arguments))
        if known is None:
            raise EvaluationError(f"`{name}` has no value at the sizes of a call")
        return known
