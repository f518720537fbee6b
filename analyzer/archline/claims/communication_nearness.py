"""Compare the derived words with a lower bound as expressions: the limit of their ratio, or a factor between them."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

from archline.algebra.polynomial import Poly
from archline.algebra.reals import Constant, OutOfReachError
from archline.analysis.cost import Cost, Costs
from archline.claims.communication_bounds import MEMORY_SYMBOL, CommunicationBounds, LowerBound
from archline.cost_growth.growth_of_cost import derive_cost_growth
from archline.expr import build as b
from archline.expr.text import Formula, format_conjunction
from archline.expr.tree import substitute_names
from archline.growth.is_big_o import can_prove_big_o
from archline.growth.leading_terms import find_leading_terms
from archline.growth.log_domain import Domain
from archline.growth.monomials import Term
from archline.growth.normal_form import Sum, expand_with_equal_extrema
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.language.substitution import build_processor_count, express_facts_in_sizes
from archline.numbers import fmpq
from archline.records import record

_PROCESSORS = b.name("P")
CANDIDATE_FACTORS = (
    b.ONE,
    b.call("log2", _PROCESSORS),
    *(b.power(_PROCESSORS, b.number(fmpq(1, each))) for each in (6, 3, 2)),
)
MAX_LENGTH = 400
"""The maximum number of characters of forms whose growth is compared."""


@record
class BoundRatio:
    """A proved relation of words to a lower bound.

    `attained`: words equal the bound, as expressions. `ratio` is the limit of words/bound as all sizes grow, a
    number or a product, or an upper bound on it if `exact` is false. `factor`: words are O of the factor times the
    leading term of the bound, if the condition `where` holds. `vacuous` is a condition under which the bound is not
    positive. Texts are empty if they are not known.
    """

    attained: bool = False
    ratio: str = ""
    exact: bool = True
    factor: str = ""
    where: str = ""
    vacuous: str = ""


def compare_words_to_bound(module: Module, costs: Costs, bounds: CommunicationBounds, bound: LowerBound) -> BoundRatio:
    """Compare the derived words with a lower bound; the fields of the result are empty if nothing is proved."""
    words, memory = costs["words"], costs["memory"]
    if bound.held is None or len(bound.cases) != 1 or (bound.needs_memory and bounds.registers != 0):
        return BoundRatio()
    vacuous = _derive_vacuous_sizes(costs, bounds, bound, memory)
    if words.upper is None or words.lower is None:
        return BoundRatio(vacuous=vacuous)
    if words.exact and _is_equal(costs, bounds, bound, words.upper):
        return BoundRatio(attained=True)
    ratio = _find_limit(costs, bounds, bound, words, memory)
    if ratio is not None:
        return BoundRatio(ratio=ratio, exact=words.exact, vacuous=vacuous)
    factor = _find_factor(costs, bounds, bound, words, memory)
    if factor:
        return BoundRatio(factor=factor, vacuous=vacuous)
    factor, where = _find_factor_by_growth(module, costs, bounds, bound)
    return BoundRatio(factor=factor, where=where, vacuous=vacuous)


def _express_in_sizes(costs: Costs, bounds: CommunicationBounds, expr: s.Expr, memory: Poly | None) -> s.Expr | None:
    """Substitute the grid's extents for P and `memory` for M in an expression; None if M occurs and is unknown."""
    values: dict[str, s.Expr] = {}
    processors = build_processor_count(bounds.algorithm)
    if processors is not None:
        values["P"] = processors
    if MEMORY_SYMBOL in s.find_names(expr):
        if memory is None:
            return None
        values[MEMORY_SYMBOL] = costs.tree(memory)
    return substitute_names(expr, values)


def _is_equal(costs: Costs, bounds: CommunicationBounds, bound: LowerBound, words: Poly) -> bool:
    """Test whether words and bound are one polynomial, not merely of one growth."""
    lead = bound.cases[0].lead
    whole = None if bound.held is None else s.Binary("-", lead, bound.held, span=lead.span)
    in_sizes = None if whole is None else _express_in_sizes(costs, bounds, whole, costs["memory"].upper)
    if in_sizes is None:
        return False
    sum_of_words = _expand_sum(costs.tree(words))
    return sum_of_words is not None and sum_of_words == _expand_sum(in_sizes)


def _expand_sum(expr: s.Expr | None) -> Sum | None:
    """Multiply out an expression; None if that is not possible."""
    try:
        return None if expr is None else expand_with_equal_extrema(expr)
    except OutOfReachError:
        return None


def _find_single_term(expr: s.Expr | None) -> tuple[Term, Constant] | None:
    """Find the only term of an expression, a product of powers of names, and its coefficient; None if it has others."""
    match list((_expand_sum(expr) or {}).items()):
        case [(term, coefficient)] if all(isinstance(factor.expr, s.Name) for factor in term.powers):
            return term, coefficient
        case _:
            return None


def _derive_vacuous_sizes(costs: Costs, bounds: CommunicationBounds, bound: LowerBound, memory: Cost) -> str:
    """Find the values of a size at which the bound is not positive, as `g <= 2`; empty if several sizes decide it."""
    lead = _find_single_term(_express_in_sizes(costs, bounds, bound.cases[0].lead, memory.upper))
    assert bound.held is not None
    held = _find_single_term(_express_in_sizes(costs, bounds, bound.held, memory.upper))
    if lead is None or held is None:
        return ""
    number = _convert_to_float(lead[1] / held[1])
    match list((lead[0] / held[0]).powers.items()):
        case [(name, power)] if power.sign() > 0:
            most = floor(number ** (-1 / _convert_to_float(power)) + 1e-9)
            return Formula(b.binary("<=", name.expr, b.number(most))) if most >= 1 and number < 1 else ""
        case _:
            return ""


def _find_limit(costs: Costs, bounds: CommunicationBounds, bound: LowerBound, words: Cost, memory: Cost) -> str | None:
    """Find the limit of words/bound from their leading terms; None if the bound's subtrahend is not of lower order."""
    assert words.upper is not None
    above = find_leading_terms(words.upper)
    held_memory = None if memory.upper is None else find_leading_terms(memory.upper)
    lead = _find_single_term(_express_in_sizes(costs, bounds, bound.cases[0].lead, held_memory))
    assert bound.held is not None
    held = _expand_sum(_express_in_sizes(costs, bounds, bound.held, held_memory))
    top = None if above is None else _find_single_term(costs.tree(above))
    if lead is None or held is None or top is None:
        return None
    if not all(_is_lower_order(term / lead[0]) for term in held):
        return None
    ratio = top[0] / lead[0]
    if not ratio.never_shrinks:
        # The limit depends on how the sizes grow relative to each other.
        return None
    number = f"{_convert_to_float(top[1] / lead[1]):.3g}"
    return f"{number}*{ratio.text()}" if ratio.powers else number


def _is_lower_order(ratio: Term) -> bool:
    """Test whether the ratio of two terms tends to 0 as all sizes grow."""
    only_sizes = all(isinstance(factor.expr, s.Name) for factor in ratio.powers)
    return bool(ratio.powers) and only_sizes and ratio.never_grows


def _convert_to_float(value: Constant) -> float:
    return float(value.enclosure())


def _find_factor(costs: Costs, bounds: CommunicationBounds, bound: LowerBound, words: Cost, memory: Cost) -> str:
    """Find the smallest candidate factor that is proved from the closed form of words, as text; empty if none is."""
    assert words.upper is not None
    lead = _express_in_sizes(costs, bounds, bound.cases[0].lead, memory.upper)
    text = costs.text(words.upper)
    if lead is None or len(text) > MAX_LENGTH or memory.upper is None or len(costs.text(memory.upper)) > MAX_LENGTH:
        return ""
    return next(_iterate_proved_factors(bounds, costs.tree(words.upper), lead, ()), "")


def _find_factor_by_growth(
    module: Module, costs: Costs, bounds: CommunicationBounds, bound: LowerBound
) -> tuple[str, str]:
    """Find the smallest candidate factor that is proved from the growth of words, with its condition; else empty."""
    words = derive_cost_growth(module, bounds.algorithm, costs, costs["words"])
    upper, where = (words.upper, ()) if words.tight is None else (words.tight.upper, words.tight.where)
    lead = bound.cases[0].lead
    if upper is None:
        return "", ""
    if MEMORY_SYMBOL in s.find_names(lead):
        memory = derive_cost_growth(module, bounds.algorithm, costs, costs["memory"]).upper
        if memory is None:
            return "", ""
        lead = substitute_names(lead, {MEMORY_SYMBOL: memory})
    processors = build_processor_count(bounds.algorithm)
    in_sizes = substitute_names(lead, {} if processors is None else {"P": processors})
    factor = next(_iterate_proved_factors(bounds, upper, in_sizes, where), "")
    return (factor, format_conjunction(where)) if factor else ("", "")


def _iterate_proved_factors(
    bounds: CommunicationBounds, words: s.Expr, lead: s.Expr, more: tuple[s.Fact, ...]
) -> Iterator[str]:
    """Yield the candidate factors, in increasing order, for which words are proved to be O(factor*lead)."""
    processors = build_processor_count(bounds.algorithm)
    values = {} if processors is None else {"P": processors}
    try:
        domain = Domain((*express_facts_in_sizes(bounds.algorithm), *more))
        for factor in CANDIDATE_FACTORS:
            if can_prove_big_o(words, b.binary("*", substitute_names(factor, values), lead), domain):
                yield Formula(factor)
    except ArchlineError:
        return
