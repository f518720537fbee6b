"""Growth order of expressions: `archline.order`, what `archline order` prints."""

from __future__ import annotations

from typing import Any

from archline.certificates.check import Checked, check, check_counterexample
from archline.expr.text import format_expression, format_fact
from archline.growth.is_big_o import Proved, Refuted, Undecided, Verdict, is_O
from archline.growth.log_domain import Domain
from archline.language.parser import parse_expression, parse_facts
from archline.records import record
from archline.report import growth as report
from archline.report.growth import LOWER, UPPER, OrderView
from archline.report.layout import terminal_width

RELATIONS = ("O", "Omega", "Theta", "compare")


@record
class Order:
    """Whether a relation between the orders of f and g holds: True, False, or None where it is not decided.

    `order` is the answer to `compare`: equal, smaller, larger, incomparable or unknown; `holds` is True where one is
    found. `upper` is the verdict on f = O(g), `lower` that on g = O(f), as far as they were asked for.
    """

    f: str
    g: str
    where: tuple[str, ...]
    relation: str
    holds: bool | None
    upper: Verdict | None
    lower: Verdict | None
    order: str | None = None
    checks: dict[str, Checked] | None = None

    @property
    def verified(self) -> bool | None:
        """Whether every verdict has a certificate or counterexample that was checked and accepted; None: not asked."""
        if self.checks is None:
            return None
        given = [each for each in (self.upper, self.lower) if each is not None]
        return len(self.checks) == len(given) and all(each.accepted for each in self.checks.values())

    @property
    def view(self) -> OrderView:
        """What is shown of it."""
        both = {UPPER: self.upper, LOWER: self.lower}
        verdicts = {name: each for name, each in both.items() if each is not None}
        return OrderView(
            self.f, self.g, self.where, self.relation, self.holds, verdicts, self.order, self.checks, self.verified
        )

    @property
    def document(self) -> dict[str, Any]:
        """The answer as JSON has it, with certificate or counterexample."""
        return report.document(self.view)

    def explain(self, width: int | None = None) -> str:
        """The answer as text, with its proof or counterexample."""
        return report.text(self.view, width or terminal_width(), explain=True)

    def __str__(self) -> str:
        return report.text(self.view, terminal_width(), explain=False)


def order(f: str, g: str, where: str = "", relation: str = "O", *, verify: bool = False) -> Order:
    """Compare the growth of two expressions in sizes under facts, all in the language's syntax.

    `relation` is O, Omega, Theta or compare. With `verify`, a second program that shares nothing with the first checks
    the proofs and counterexamples. Raises ArchlineError for text that is no expression in sizes.
    """
    if relation not in RELATIONS:
        raise ValueError(f"relation is one of {', '.join(RELATIONS)}")
    left, right = parse_expression(f, "F"), parse_expression(g, "G")
    domain = Domain(parse_facts(where, "--where") if where.strip() else ())
    upper = is_O(left, right, domain) if relation != "Omega" else None
    lower = is_O(right, left, domain) if relation != "O" else None
    found = _compared(upper, lower) if relation == "compare" else None
    texts = format_expression(left), format_expression(right)
    facts = tuple(format_fact(fact) for fact in domain.facts)
    return Order(
        f=texts[0],
        g=texts[1],
        where=facts,
        relation=relation,
        holds=_holds(found, [each for each in (upper, lower) if each is not None]),
        upper=upper,
        lower=lower,
        order=found,
        checks=_checks(*texts, facts, upper, lower) if verify else None,
    )


def _checks(f: str, g: str, facts: tuple[str, ...], upper: Verdict | None, lower: Verdict | None) -> dict[str, Checked]:
    both = {UPPER: _check(f, g, facts, upper), LOWER: _check(g, f, facts, lower)}
    return {name: each for name, each in both.items() if each is not None}


def _check(f: str, g: str, facts: tuple[str, ...], verdict: Verdict | None) -> Checked | None:
    """The second program's word on a verdict of f = O(g); None where there is nothing to check."""
    match verdict:
        case Proved(certificate=certificate):
            question = {"f": f, "g": g, "facts": list(facts)}
            if any(certificate.get(name) != asked for name, asked in question.items()):
                return Checked(False, "it is an answer to another question")
            return check(certificate)
        case Refuted(counterexample=counterexample):
            return check_counterexample(f, g, facts, counterexample)
        case _:
            return None


def _holds(compared: str | None, verdicts: list[Verdict]) -> bool | None:
    if compared is not None:
        return None if compared == "unknown" else True
    if any(isinstance(each, Refuted) for each in verdicts):
        return False
    return None if any(isinstance(each, Undecided) for each in verdicts) else True


def _compared(upper: Verdict | None, lower: Verdict | None) -> str:
    match upper, lower:
        case Proved(), Proved():
            return "equal"
        case Proved(), Refuted():
            return "smaller"
        case Refuted(), Proved():
            return "larger"
        case Refuted(), Refuted():
            return "incomparable"
        case _:
            return "unknown"
