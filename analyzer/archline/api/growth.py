"""Compare the growth of expressions, and solve recurrences: `archline.order` and `archline.recurrence`."""

from __future__ import annotations

from archline.certificates.check import Checked, check, check_counterexample
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import Source, rewrite_parts
from archline.growth.is_big_o import Proved, Refuted, Undecided, Verdict, is_O
from archline.growth.log_domain import Domain
from archline.growth.sequences import replace_sequences
from archline.growth.textbook import SPELLINGS, require_certain_arguments, write_brackets
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.parser import parse_expression, parse_facts
from archline.language.syntax_rules import UNEXPECTED
from archline.records import replace
from archline.recurrences.asymptotic.read import parse_recurrence
from archline.recurrences.asymptotic.solve import solve
from archline.report.growth import LOWER, UPPER, Order
from archline.report.recurrences import Solution

RELATIONS = ("O", "Omega", "Theta", "compare")


def order(f: str, g: str, where: str = "", relation: str = "O", *, verify: bool = False) -> Order:
    """Compare the growth of the expressions `f` and `g` in sizes under facts `where`, all in the language's syntax.

    `relation` is O, Omega, Theta or compare. With `verify`, an independent checker, which shares no code with the
    prover, checks the proofs and counterexamples. Raises ArchlineError for texts that are not expressions in sizes, and
    ValueError for another relation.
    """
    if relation not in RELATIONS:
        raise ValueError(f"relation must be one of {', '.join(RELATIONS)}")
    left, right = _read_expression(f, "F"), _read_expression(g, "G")
    premises = parse_facts(where, "--where") if where.strip() else ()
    _require_no_base_of_exponentials((left, right), premises)
    domain = Domain(premises)
    eventually = relation == "compare"
    upper = is_O(left, right, domain, eventually=eventually) if relation != "Omega" else None
    lower = is_O(right, left, domain, eventually=eventually) if relation != "O" else None
    relation_of_orders = _compare_verdicts(upper, lower) if relation == "compare" else None
    texts = format_expression(left), format_expression(right)
    facts = tuple(format_fact(fact) for fact in domain.facts)
    return Order(
        f=texts[0],
        g=texts[1],
        where=facts,
        relation=relation,
        holds=_decide_outcome(relation_of_orders, [verdict for verdict in (upper, lower) if verdict is not None]),
        upper=upper,
        lower=lower,
        order=relation_of_orders,
        checks=_check_verdicts(*texts, facts, upper, lower) if verify else None,
    )


def _read_expression(text: str, place: str) -> s.Expr:
    """Parse an expression of growth; `lg`, `ln`, `lg n`, `lg*(n)` and `n!` are read as textbooks write them.

    Raises ArchlineError for the likes of `lg n!` and `lg n^2`, which are read in two ways.
    """
    require_certain_arguments(Source(place, text))
    return rewrite_parts(parse_expression(write_brackets(text), place), _replace_spelling)


def _require_no_base_of_exponentials(sides: tuple[s.Expr, s.Expr], facts: tuple[s.Fact, ...]) -> None:
    """Raise ArchlineError if all that `e` is used for is the base of powers with sizes in the exponent."""
    nodes = [node for part in (*sides, *facts) for node in s.iterate_nodes(part)]
    bases = [
        node.left
        for node in nodes
        if isinstance(node, s.Binary) and node.op == "^" and _is_e(node.left) and s.find_names(node.right)
    ]
    if bases and len(bases) == sum(map(_is_e, nodes)):
        hint = "write `exp(n)` for the exponential of n, or give the size `e` another name"
        raise error(
            UNEXPECTED, "`e` is a size like others here, not the base of exponentials", span=bases[0].span, hint=hint
        )


def _is_e(node: s.Node) -> bool:
    return isinstance(node, s.Name) and node.id == "e"


def _replace_spelling(expr: s.Expr) -> s.Expr | None:
    match expr:
        case s.Call(function="lg" | "ln" as function, arguments=arguments):
            read = (rewrite_parts(argument, _replace_spelling) for argument in arguments)
            return replace(expr, function=SPELLINGS[function], arguments=tuple(read))
        case _:
            return None


def _check_verdicts(
    f: str, g: str, facts: tuple[str, ...], upper: Verdict | None, lower: Verdict | None
) -> dict[str, Checked]:
    """Check the verdicts on f = O(g) and on g = O(f) by the independent checker; undecided ones are left out."""
    both = {UPPER: _check_verdict(f, g, facts, upper), LOWER: _check_verdict(g, f, facts, lower)}
    return {name: checked for name, checked in both.items() if checked is not None}


def _check_verdict(f: str, g: str, facts: tuple[str, ...], verdict: Verdict | None) -> Checked | None:
    """Check a verdict on f = O(g) by the independent checker; None if it is undecided."""
    # Certificates are about the expressions that stand for factorials and the like.
    f = format_expression(replace_sequences(parse_expression(f), upper=True))
    g = format_expression(replace_sequences(parse_expression(g)))
    match verdict:
        case Proved(certificate=certificate):
            question = {"f": f, "g": g, "facts": list(facts)}
            if any(certificate.get(name) != asked for name, asked in question.items()):
                return Checked(False, "the certificate answers a different question")
            return check(certificate)
        case Refuted(counterexample=counterexample):
            return check_counterexample(f, g, facts, counterexample)
        case _:
            return None


def _decide_outcome(compared: str | None, verdicts: list[Verdict]) -> bool | None:
    """Return whether the relation holds, or the comparison is decided; None if that is unknown."""
    if compared is not None:
        return None if compared == "unknown" else True
    if any(isinstance(verdict, Refuted) for verdict in verdicts):
        return False
    return None if any(isinstance(verdict, Undecided) for verdict in verdicts) else True


def _compare_verdicts(upper: Verdict | None, lower: Verdict | None) -> str:
    """Return how f compares with g in growth, from the verdicts on f = O(g) and g = O(f)."""
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


def recurrence(text: str, where: str | None = None) -> Solution:
    """Solve a recurrence such as `T(n) = 7*T(n/2) + n^2, T(1) = 1`. Raises ArchlineError for an invalid text."""
    problem = parse_recurrence(text, where or "")
    return Solution.of(text.strip(), problem, solve(problem))
