"""Derive how a quantity grows: expressions that bound it up to constant factors, found among candidates and compared.

A quantity is known by one expression that it is O of and one that it is Omega of. All verdicts on growth are made
here from these two bounds: a proof from the bounds that face each other, a refutation from the opposite pair.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from math import prod
from typing import Literal

from archline.algebra.reals import OutOfReachError
from archline.expr import build as b
from archline.expr.build import ZERO, call, sum_terms
from archline.expr.text import Formula, format_conjunction, format_expression, join_phrases, join_with_mark
from archline.expr.tree import has_same_structure, rewrite_parts
from archline.growth import balls, rules
from archline.growth import normal_form as e
from archline.growth.candidates import Shape, is_call
from archline.growth.is_big_o import DEFAULT_TRIALS, Proved, Refuted, Undecided, Verdict, can_prove_big_o, is_O
from archline.growth.log_domain import Domain, find_sizes
from archline.growth.monomials import Term
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.records import record, replace

MAX_TERMS = 12
MAX_NODES, MAX_NESTING = 8_000, 200
"""Longer bounds take minutes to compare, most of them in vain."""
MAX_RATIOS = 3
"""The maximal number of points of a counterexample that are shown with the ratio there."""
TOO_LONG = "the derived bounds have too many terms, or are nested too deeply, to compare"
UNDECIDED = "the derived bounds do not decide it"


def reduce_sum_by_order(expr: s.Expr, domain: Domain, share: s.Expr | None = None) -> s.Expr | None:
    """Multiply out a sum of monomials and drop terms of no higher order than another; None for other expressions.

    `share` replaces min(1, e): 1 for an upper bound, 0 for a lower one.
    """
    terms = _expand_terms(
        simplify_with_unit_constants(
            expr if share is None else rewrite_parts(expr, lambda part: share if _is_minimum_with_one(part) else None)
        )
    )
    exprs = [term.tree() for term in dict.fromkeys(terms) if term is not None]
    if None in terms or not 0 < len(exprs) <= MAX_TERMS:
        return None
    remaining = list(range(len(exprs)))
    for index in range(len(exprs)):
        rest = [position for position in remaining if position != index]
        if any(is_proved_big_o(exprs[index], exprs[position], domain) for position in rest):
            remaining = rest
    return sum_terms((False, exprs[position]) for position in remaining)


def _is_minimum_with_one(expr: s.Expr) -> bool:
    """Whether an expression is min(1, e)."""
    return (
        isinstance(expr, s.Call)
        and expr.function == "min"
        and len(expr.arguments) == 2
        and is_integer_literal(expr.arguments[0], 1)
    )


def _expand_terms(expr: s.Expr) -> list[Shape | None]:
    """Expand a sum into monomials, a max counting as a sum; None for each term that is not a positive monomial."""
    try:
        terms = e.expand(rewrite_parts(expr, _replace_max_by_sum))
    except OutOfReachError:
        return [None]
    return [_read_shape(term) if coefficient.sign() > 0 else None for term, coefficient in terms.items()]


def _replace_max_by_sum(expr: s.Expr) -> s.Expr | None:
    """Replace a max by a sum, and a logarithm that is rounded up by the logarithm, which has the same growth.

    None for all other expressions, whose parts are then rewritten.
    """
    match expr:
        case s.Call(function="max", arguments=arguments):
            return reduce(make_sum, [rewrite_parts(argument, _replace_max_by_sum) for argument in arguments])
        case s.Call(function="ceil", arguments=(s.Call(function="log2") as level,)):
            return level
        case s.Call(function="log2"):
            return expr
        case _:
            return None


def _read_shape(term: Term) -> Shape | None:
    """Return a term of names and logarithms as a shape; None for a term with other factors."""
    return term if all(isinstance(base.expr, s.Name) or is_call(base.expr, "log2") for base in term.powers) else None


def make_sum(left: s.Expr, right: s.Expr) -> s.Expr:
    """Return left + right."""
    return s.Binary("+", left, right, span=left.span)


def find_added_terms(expr: s.Expr) -> list[Shape]:
    """Return the monomials of a sum that are added, multiplied out; other terms are omitted."""
    return [term for term in _expand_terms(expr) if term is not None]


def read_monomial(expr: s.Expr) -> Shape | None:
    """Read a product of powers of names and logarithms, without its coefficient; None for other expressions."""
    terms = _expand_terms(expr)
    return terms[0] if len(terms) == 1 else None


def divide_expressions(f: s.Expr, g: s.Expr) -> s.Expr:
    """Divide f by g: common factors cancel, and powers are written as one product unless that is longer."""
    above, below = split_product(f), split_product(g)
    try:
        terms = {factor: e.expand(factor) for factor in (*above, *below)}
    except OutOfReachError:
        return b.divide_products(above, below)
    for factor in tuple(above):
        if (shared := next((base for base in below if terms[base] == terms[factor]), None)) is not None:
            above.remove(factor)
            below.remove(shared)
    plain = b.divide_products(above, below)
    if any(len(terms[factor]) != 1 for factor in (*above, *below)):
        return plain
    top, bottom = (prod((next(iter(terms[x])) for x in side), start=e.UNIT_TERM) for side in (above, below))
    ratio = (top / bottom).tree()
    return (
        ratio if _read_shape(top / bottom) or len(format_expression(ratio)) < len(format_expression(plain)) else plain
    )


def split_product(expr: s.Expr) -> list[s.Expr]:
    """Split a product into its factors; 1 has none."""
    if isinstance(expr, s.Binary) and expr.op == "*":
        return [*split_product(expr.left), *split_product(expr.right)]
    return [] if is_integer_literal(expr, 1) else [expr]


def make_order_formula(relation: str, bound: s.Expr) -> Formula:
    """Return `Theta(...)`, `O(...)` or `Omega(...)`."""
    return Formula(call(relation, bound))


def is_proved_big_o(f: s.Expr, g: s.Expr, domain: Domain) -> bool:
    """Whether f = O(g) is proved; False too where the expressions have no growth."""
    try:
        return has_same_structure(f, g) or can_prove_big_o(f, g, domain)
    except ArchlineError:
        return False


def simplify_with_unit_constants(expr: s.Expr) -> s.Expr:
    """Drop factors of 1 and terms of 0 from an expression, and write a*(x/a) as x; 1 stands for any constant."""
    match expr:
        case s.Binary(op=op, left=left, right=right):
            a, b = simplify_with_unit_constants(left), simplify_with_unit_constants(right)
            match op:
                case "*" if is_integer_literal(a, 0) or is_integer_literal(b, 0):
                    return ZERO
                case "*" | "+" if is_integer_literal(a, 1 if op == "*" else 0):
                    return b
                case "*" | "/" if is_integer_literal(b, 1):
                    return a
                case "*" if isinstance(b, s.Binary) and b.op == "/" and has_same_structure(a, b.right):
                    return b.left
                case "+" | "-" if is_integer_literal(b, 0):
                    return a
                case "-" if is_integer_literal(a, 1) and is_integer_literal(b, 1):
                    # 1 - 1 -> 1: a difference of quantities is positive, as a model divides by it.
                    return a
                case "/" if is_integer_literal(a, 0):
                    return a
                case _:
                    return s.Binary(op, a, b, span=expr.span)
        case s.Call(function="max", arguments=arguments):
            terms = tuple(
                argument
                for argument in map(simplify_with_unit_constants, arguments)
                if not is_integer_literal(argument, 0)
            )
            return terms[0] if len(terms) == 1 else s.Call("max", terms, span=expr.span) if terms else ZERO
        case s.Call(function=function, arguments=arguments):
            return s.Call(function, tuple(map(simplify_with_unit_constants, arguments)), span=expr.span)
        case _:
            return expr


def is_integer_literal(expr: s.Expr, value: int) -> bool:
    """Whether an expression is the given integer."""
    return isinstance(expr, s.Integer) and expr.value == value


@record
class Growth:
    """A quantity is O(`upper`) and Omega(`lower`) under `facts`; a bound that is not known is None.

    `where` holds those facts that are shown.
    """

    lower: s.Expr | None
    upper: s.Expr | None
    facts: tuple[s.Fact, ...] = ()
    where: tuple[s.Fact, ...] = ()

    @property
    def when(self) -> str:
        """The shown facts as text."""
        return format_conjunction(self.where)

    @property
    def tight(self) -> bool:
        """Whether both bounds are known and the same expression."""
        return self.lower is not None and has_same_structure(self.lower, self.upper)

    @property
    def is_zero(self) -> bool:
        return self.upper is not None and is_integer_literal(self.upper, 0)

    @property
    def text(self) -> str | None:
        """`Theta(n*m)`, or `O(...), Omega(...)` with the bounds that are known, and ` where ...`.

        None if no bound is known.
        """
        where = (" where ", self.when) if self.where else ()
        if self.tight and self.is_zero:
            return "0"
        ends = (("Theta", self.upper),) if self.tight else (("O", self.upper), ("Omega", self.lower))
        return (
            join_with_mark(
                (join_phrases(make_order_formula(name, end), *where) for name, end in ends if end is not None), ", "
            )
            or None
        )


def decide_dominance(less: Growth, more: Growth, domain: Domain) -> Verdict:
    """Decide whether the quantity `less` is O of the quantity `more` in a domain, whose facts replace those of both."""
    exact = less.tight and more.tight
    proof = _decide_big_o(less.upper, more.lower, domain, refutes=exact)
    if exact or isinstance(proof, Proved):
        return proof
    # No proof from the bounds that face each other is no refutation; one comes from the opposite pair.
    refuted = _decide_big_o(less.lower, more.upper, domain, refutes=True)
    if isinstance(refuted, Refuted):
        return refuted
    return proof if isinstance(proof, Undecided) else Undecided(UNDECIDED)


def _decide_big_o(f: s.Expr | None, g: s.Expr | None, domain: Domain, *, refutes: bool) -> Verdict:
    if f is None or g is None:
        return Undecided("the growth is unknown")
    try:
        return is_O(f, g, domain, DEFAULT_TRIALS if refutes else 0)
    except ArchlineError as problem:
        return Undecided(problem.diagnostics[0].message)


def simplify_growth(bounds: Growth, candidates: Iterable[s.Expr], domain: Domain) -> Growth:
    """Replace both bounds by the first candidates that are proved to bound them, where there are any."""
    assert bounds.lower is not None
    assert bounds.upper is not None
    orders = list(candidates)
    above = [form for form in orders if is_proved_big_o(bounds.upper, form, domain)]
    for form in above:
        if is_proved_big_o(form, bounds.lower, domain):
            return replace(bounds, lower=form, upper=form)
    # The lowest of several upper bounds.
    upper = next(
        (form for form in above if all(is_proved_big_o(form, another, domain) for another in above)), bounds.upper
    )
    below = [form for form in orders if is_proved_big_o(form, bounds.lower, domain)]
    lower = next(
        (form for form in below if all(is_proved_big_o(another, form, domain) for another in below)), bounds.lower
    )
    return replace(bounds, lower=lower, upper=upper)


Outcome = Literal["holds", "fails", "unknown"]


@record
class Witness:
    """Evidence that a quantity outgrows a claim: true ratios at sizes, as text, and the symbols it depends on."""

    ratios: tuple[tuple[Mapping[str, int], str], ...] = ()
    names: frozenset[str] = frozenset()


Confirm = Callable[[str, Refuted], Witness | None]
"""A function that returns a witness that a counterexample applies to the quantity itself, or None."""


def accept_counterexample(*_: object) -> Witness:
    """Accept a counterexample without ratios, for a quantity that has no values."""
    return Witness()


@record
class GrowthVerdict:
    """Whether a quantity grows as claimed, the reason, and the proofs or the refutation."""

    outcome: Outcome
    reason: str
    proofs: tuple[Proved, ...] = ()
    refuted: Refuted | None = None


@lru_cache(maxsize=64)
def make_domain(facts: tuple[s.Fact, ...]) -> Domain | None:
    """Return the domain of the sizes that satisfy the facts; None if no sizes from 1 on do."""
    try:
        return Domain(facts)
    except ArchlineError as problem:
        if problem.diagnostics[0].rule is rules.NO_SIZES:
            return None
        raise


def list_sides(relation: str) -> tuple[str, ...]:
    """Return the relations, O and Omega, that a claim of Theta, O or Omega consists of."""
    return ("O", "Omega") if relation == "Theta" else (relation,)


def decide_growth(relation: str, pieces: Sequence[Growth], bound: s.Expr, confirm: Confirm) -> GrowthVerdict:
    """Decide whether a quantity is O, Omega or Theta of an expression; its pieces cover all sizes."""
    unknown, proofs = "" if pieces else "its growth is not known", tuple[Proved, ...]()
    for piece in pieces:
        for side in list_sides(relation):
            verdict = decide_side(side, piece, Growth(bound, bound), piece.facts, confirm)
            proofs += verdict.proofs
            place = f"where {piece.when}: " if piece.where else ""
            if verdict.outcome == "fails":
                return replace(verdict, reason=place + verdict.reason)
            if verdict.outcome == "unknown":
                unknown = unknown or place + verdict.reason
    return GrowthVerdict("unknown", unknown) if unknown else GrowthVerdict("holds", "proved for all sizes", proofs)


def decide_side(
    side: str, first: Growth, second: Growth, facts: tuple[s.Fact, ...], confirm: Confirm = accept_counterexample
) -> GrowthVerdict:
    """Decide whether one quantity is O (or Omega) of another, from proofs and refutations of their bounds."""
    if any(bound is not None and _is_too_long(bound) for bound in (first.lower, first.upper)):
        return GrowthVerdict("unknown", TOO_LONG)
    if side == "O" and first.is_zero:
        return GrowthVerdict("holds", "")
    try:
        domain = make_domain(facts)
    except ArchlineError as problem:
        return GrowthVerdict("unknown", problem.diagnostics[0].message)
    if domain is None:
        # Only sizes of 0 satisfy the facts: growth is about sizes from 1 on.
        return GrowthVerdict("holds", "")
    match decide_dominance(first, second, domain) if side == "O" else decide_dominance(second, first, domain):
        case Proved() as proof:
            return GrowthVerdict("holds", "", (proof,))
        case Refuted() as refuted if (witness := confirm(side, refuted)) is not None:
            return GrowthVerdict("fails", _describe_counterexample(refuted, side, witness), refuted=refuted)
        case _ if side == "Omega" and first.lower is not None and is_integer_literal(first.lower, 0):
            return GrowthVerdict("unknown", "no lower bound above 0 is known")
        case answer:
            return GrowthVerdict("unknown", answer.reason if isinstance(answer, Undecided) else UNDECIDED)


def combine_verdicts(halves: Mapping[str, GrowthVerdict]) -> GrowthVerdict:
    """Combine the verdicts on the directions of a claim; the reason names the direction that is open."""
    for side, half in halves.items():
        if half.outcome == "fails":
            return replace(half, reason=f"{side} is refuted: {half.reason}" if len(halves) > 1 else half.reason)
    undecided = {side: half for side, half in halves.items() if half.outcome != "holds"}
    if not undecided:
        proofs = tuple(proof for half in halves.values() for proof in half.proofs)
        return GrowthVerdict("holds", "proved for all sizes", proofs)
    proved = [f"{name} is proved, " for name in halves if name not in undecided]
    reason = next(iter(undecided.values())).reason
    both = f"{''.join(proved)}{' and '.join(undecided)} is open: {reason}"
    return GrowthVerdict("unknown", both if len(halves) > 1 else reason)


def _is_too_long(expr: s.Expr) -> bool:
    """Whether an expression has too many nodes, or calls nested too deeply, to be compared."""
    pending, count = [(expr, 0)], 0
    while pending:
        part, depth = pending.pop()
        count += 1
        if count > MAX_NODES or depth > MAX_NESTING:
            return True
        match part:
            case s.Unary(operand=operand):
                pending.append((operand, depth))
            case s.Binary(left=left, right=right):
                pending += ((left, depth), (right, depth + 1))
            case s.Call(arguments=arguments):
                pending += ((argument, depth + 1) for argument in arguments)
            case _:
                pass
    return False


def _describe_counterexample(refuted: Refuted, side: str, witness: Witness) -> str:
    """Describe sizes along which the ratio is unbounded, with the true value at some sizes."""
    data = refuted.counterexample
    above, below = ("cost", "claim") if side == "O" else ("claim", "cost")
    names = {*find_sizes(refuted.question.f), *find_sizes(refuted.question.g), *witness.names}
    if data["kind"] == "point":
        at: Mapping[str, object] = data["at"]  # type: ignore[assignment]
        return f"at {_format_sizes(at, names)} the {above} is {data['f']} and the {below} {data['g']}"
    ratios = [f"{text} at {_format_sizes(point, names)}" for point, text in witness.ratios[:MAX_RATIOS]]
    return f"{above}/{below} is unbounded along {_format_sizes(refuted.curve, names)}" + (
        f": {', '.join(ratios)}" if ratios else ""
    )


def _format_sizes(sizes: Mapping[str, object], names: Container[str]) -> str:
    """Format the sizes of the given names as `m = 2^T, n = T`."""
    chosen = {name: value for name, value in sizes.items() if name in names}
    return ", ".join(
        f"{name} = {balls.format_integer(value) if isinstance(value, int) else value}" for name, value in chosen.items()
    )
