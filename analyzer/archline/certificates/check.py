"""Whether a certificate of f = O(g) proves it, and whether a counterexample stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from archline.certificates.counterexamples import Counterexample
from archline.certificates.differences import Differences
from archline.certificates.facts import Facts
from archline.certificates.forms import Clause
from archline.certificates.places import RejectedError, at, require
from archline.certificates.proofs import Proofs
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression

FORMAT = 1


@dataclass(frozen=True)
class Checked:
    """Accepted, or rejected for a reason at a place, such as `bounds[0].proof.uses[1]`."""

    accepted: bool
    reason: str = ""
    place: str = ""

    def __str__(self) -> str:
        where = f" (at {self.place})" if self.place else ""
        return "accepted" if self.accepted else f"rejected: {self.reason}{where}"


def check(certificate: Mapping[str, Any]) -> Checked:
    """Check a certificate of f = O(g)."""
    return _outcome(lambda: _check(certificate))


def check_counterexample(f: str, g: str, facts: Sequence[str], data: Mapping[str, Any]) -> Checked:
    """Check a counterexample to f = O(g) under facts."""
    return _outcome(lambda: Counterexample(f, g, facts).check(data))


def _outcome(run: Callable[[], None]) -> Checked:
    try:
        run()
    except RejectedError as problem:
        return Checked(False, problem.reason, "".join(problem.place).lstrip("."))
    except ArchlineError as problem:
        return Checked(False, f"an expression cannot be read: {problem.diagnostics[0].message}")
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as problem:
        return Checked(False, f"it is not of the format: {type(problem).__name__}: {problem}")
    return Checked(True)


def _check(data: Mapping[str, Any]) -> None:
    require(data["format"] == FORMAT, "the format is not known")
    f, g = parse_expression(data["f"]), parse_expression(data["g"])
    facts = Facts(data["facts"])
    occurring = {each.id for root in (f, g, *facts.facts) for each in s.nodes(root) if isinstance(each, s.Name)}
    cache = {"L", "Z"} <= occurring
    differences = Differences(data["differences"], facts, cache)
    differences.check_all()
    proofs = Proofs(differences, cache)
    bounds = []
    for index, bound in enumerate(data["bounds"]):
        with at("bounds", index):
            bounds.append(proofs.bound(bound))
    with at("f"):
        differences.bounds.defined(f)
        largest = differences.bounds.upper(f)
    with at("g"):
        differences.bounds.defined(g)
        smallest = differences.bounds.lower(g)
        require(smallest is not None, f"`{data['g']}` is not shown to be positive")
    for one in largest:
        for other in smallest or ():
            require(_bounded(one, other, bounds), f"nothing bounds {_text('min', one)} by {_text('max', other)}")


def _bounded(one: Clause, other: Clause, bounds: Sequence[tuple[Clause, Clause]]) -> bool:
    return any(left <= one and right <= other for left, right in bounds)


def _text(function: str, clause: Clause) -> str:
    texts = sorted(map(str, clause))
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})"
