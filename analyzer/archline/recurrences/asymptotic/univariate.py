"""Solve a recursive function of one size: derive the Theta growth, by how the sizes shrink, and the closed form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from archline.algebra.reals import ONE_CONSTANT, ZERO_CONSTANT, Constant, OutOfReachError, determine_sign
from archline.expr import build as b
from archline.expr import tree as s
from archline.expr.text import format_expression
from archline.expr.tree import rewrite_parts
from archline.growth.sequences import GOLDEN_RATIO
from archline.numbers import arb, fmpq, fmpq_mat, fmpq_poly
from archline.records import record, replace
from archline.recurrences.asymptotic.normal_form import (
    Branches,
    CallSum,
    InitialValues,
    TermReader,
    WeightedCall,
    build_call_matrix,
    check_nonnegative_terms,
    substitute_argument,
)
from archline.recurrences.asymptotic.terms import (
    GrowthTerm,
    compare_growth,
    compute_rational_power,
    dominates,
    find_leading_terms,
    is_nonnegative_from,
    make_powers,
    split_perfect_power,
    trim_powers,
)
from archline.recurrences.asymptotic.text import (
    build_growth_tree,
    explain_root_recurrence,
    explain_split_recurrence,
    explain_subtractive_recurrence,
    format_argument,
    format_branch,
    format_call,
    format_growth,
    format_statement,
    format_terms,
)
from archline.recurrences.asymptotic.theorems import (
    GrowthResult,
    NoContributionError,
    Parts,
    bracket_nine_digits,
    collect_contributions,
    compare_exponent,
    compute_contribution,
    compute_greatest_root,
    compute_log_of_greatest_root,
    compute_positive_root,
    compute_stride,
    derive_growth_of_maximum,
    merge_shares,
    write_calls_in_strides,
)
from archline.recurrences.closed.geometric import (
    ClosedExpression,
    find_closed_form_by_roots,
    find_closed_form_by_splits,
    find_closed_form_by_steps,
)


class SpectralExponent:
    """The exponent log(R)/log(1/r) of a system x(n) = M*x(r*n) + f(n), R the spectral radius of the matrix M >= 0.

    M is irreducible: each function of the system calls every other one, directly or not.
    """

    def __init__(self, rows: list[list[fmpq]], share: fmpq) -> None:
        self._factor = 1 / share
        self._polynomial: fmpq_poly = fmpq_mat(rows).charpoly()
        self.exponent = compute_log_of_greatest_root(self._polynomial, self._factor)

    def compare(self, at: Constant) -> int:
        """Return the sign of the exponent minus `at`. Raises OutOfReachError if it is undecided."""
        value = compute_rational_power(self._factor, at)
        if value is None:
            sign = determine_sign((self.exponent - at).enclosure)
        elif not self._polynomial(value) and compute_greatest_root(self._polynomial).contains(arb(value)):
            sign = 0
        else:
            sign = determine_sign(lambda: compute_greatest_root(self._polynomial) - value)
        if sign is None:
            raise OutOfReachError(f"it is not decided whether the exponent of the recurrence is {at}")
        return sign


def _check_split(call: WeightedCall, threshold: fmpq) -> None:
    ratio, offset = call.argument.ratio, call.argument.offset
    if ratio >= 1:
        raise OutOfReachError("a call whose size does not shrink")
    exactly = not (call.argument.rough or call.argument.rounded)
    if exactly and offset / (1 - ratio) >= threshold:
        raise OutOfReachError("the sizes never reach a base case: give a base value at a larger size")
    if threshold < 0:
        raise OutOfReachError("a base value at a negative size")


def solve_recurrences_by_matrix(
    system: Mapping[str, Branches], bases: InitialValues, stated: Sequence[str]
) -> SolvedFunction:
    """Solve functions that call each other at one share of the size, by the spectral radius of their numbers of calls.

    Each calls all others, directly or not, so that all have the same growth, and the costs of each contribute to it.
    Raises OutOfReachError.
    """
    rows, share = build_call_matrix(system)
    if bases.threshold <= 0:
        raise OutOfReachError("the sizes never reach a base case: give a base value at a larger size")
    spectrum = SpectralExponent(rows, share)
    p = spectrum.exponent
    branches = [branch for alternatives in system.values() for branch in alternatives]
    terms = [term for branch in branches for term in branch.terms]
    contributions = [term.with_powers(make_powers(0, p)) for term in bases.growing]
    contributions += [compute_contribution(term, p, spectrum.compare) for term in terms]
    if not contributions:
        raise OutOfReachError(_explain_no_contribution(branches, bases))
    return SolvedFunction(
        "spectral radius",
        (*stated, f"the spectral radius of the numbers of calls gives p = {p}"),
        find_leading_terms(contributions),
        exponent=p,
        factor=find_common_factor(call.argument.ratio for branch in branches for call in branch.calls),
        gap=compute_exponent_gap((term.power for term in terms), p),
    )


def _compute_call_scale(call: WeightedCall) -> Constant:
    """Return the s with n^w*(n^c)^s = n^s for a call n^w*T(n^c). Raises OutOfReachError."""
    root = call.argument.root
    if root >= 1:
        raise OutOfReachError("a call whose size does not shrink")
    if len(call.weight.powers) > 1:
        raise OutOfReachError("a call at a root of the size with a logarithm as a factor")
    return call.weight.power.scaled(1 / (1 - root))


def _multiply_by_size_power(term: GrowthTerm, by: Constant) -> GrowthTerm:
    return term.with_powers((term.power + by, *term.powers[1:]), term.steep)


SPLITS, ROOTS, STEPS, SLOW = "splits", "roots", "steps", "slow"
SUPERPOLYNOMIAL = "it grows faster than every polynomial"
ZERO_FUNCTION = "the function is 0 at all sizes above its base"
NEGATIVE_TERMS = "the terms without calls may be negative"
_CONSTANT_TERM = GrowthTerm(fmpq(1))


@record
class SolvedFunction:
    """The solution of a function: its Theta growth as terms and as an expression (`growth`).

    `beyond` is the reason why the growth is superpolynomial, if it is. `shrinking` is how sizes shrink, `exponent` that
    of the calls alone, `stride` the step between sizes, `start` the largest size of a base value. All shares are powers
    of 1/factor, if there is such a number. `gap` is the smallest difference between the exponent and those of the added
    terms. `between` are bounds of a growth with rounded numbers. `rough` says that the sizes of calls are known to
    leading order only.
    """

    method: str
    steps: tuple[str, ...]
    terms: tuple[GrowthTerm, ...] = ()
    beyond: str | None = None
    growth: s.Expr | None = None
    closed: ClosedExpression | None = None
    shrinking: str = SPLITS
    exponent: Constant = ZERO_CONSTANT
    stride: fmpq = _CONSTANT_TERM.coefficient
    start: fmpq = _CONSTANT_TERM.coefficient
    factor: fmpq | None = None
    gap: float = math.inf
    between: tuple[s.Expr, s.Expr] | None = None
    rough: bool = False


def solve_function(
    name: str, size: str, branches: Branches, bases: InitialValues, method: str = "no recursion"
) -> SolvedFunction:
    """Solve a function that calls only itself; `method` is that of one without calls. Raises OutOfReachError."""
    stated = format_statement(name, size, branches, bases)
    try:
        solved = _solve_branches(name, size, branches, bases, stated, method)
    except NoContributionError:
        raise OutOfReachError(_explain_no_contribution(branches, bases)) from None
    if any(call.argument.rough or call.argument.rounded for branch in branches for call in branch.calls):
        line = "terms of smaller order and rounding in the sizes of calls do not change the growth"
        rough = any(call.argument.rough for branch in branches for call in branch.calls)
        solved = replace(solved, steps=(*solved.steps, line), rough=rough)
    if solved.terms and solved.beyond is None and any(term.side > 0 for term in solved.terms):
        solved = replace(solved, beyond=f"it grows as {format_growth(solved.terms, size)}")
    return solved


def _explain_no_contribution(branches: Iterable[CallSum], bases: InitialValues) -> str:
    """Return why no growth is found for a function without positive terms whose base values may all be 0."""
    if any(branch.terms for branch in branches):
        return NEGATIVE_TERMS
    return (
        "some base values are 0, and it is not known on which the function depends" if bases.positive else ZERO_FUNCTION
    )


def _solve_mixed_maximum(
    name: str, size: str, branches: Branches, bases: InitialValues, stated: tuple[str, ...]
) -> SolvedFunction:
    """Solve a maximum of branches whose sizes shrink in different ways, if one by steps stays above the rest.

    Each branch alone is a lower bound. A multiple of the solution of one is an upper bound if every other branch,
    evaluated for it, is at most a fixed share below 1 of it, besides terms that do not grow faster. Raises
    OutOfReachError.
    """
    for branch in branches:
        steps = all(call.argument.is_step or call.argument.less for call in branch.calls)
        if not branch.calls or not steps or any(term.coefficient < 0 for term in branch.terms):
            continue
        solved = _solve_branches(name, size, (branch,), bases, stated, "")
        rivals = [rival for rival in branches if rival is not branch]
        if len(solved.terms) == 1 and all(_is_branch_below(rival, solved.terms[0]) for rival in rivals):
            line = f"{format_branch(branch, size)} alone grows as {format_growth(solved.terms, size)}, above the rest"
            return replace(solved, steps=(*solved.steps, line), closed=None)
    raise OutOfReachError("sizes that shrink in different ways in a maximum")


def _is_branch_below(branch: CallSum, growth: GrowthTerm) -> bool:
    """Test whether a branch is below its growth, if all its calls grow so: their shares of it add up to less than 1."""
    if any(call.weight.kind != _CONSTANT_TERM.kind or call.tail for call in branch.calls):
        return False
    if not all(term.coefficient > 0 and dominates(growth, term) for term in branch.terms):
        return False
    splits = merge_shares((call.number, call.argument.ratio) for call in branch.calls if call.argument.is_split)
    if any(not (call.argument.is_split or call.argument.is_root) for call in branch.calls):
        return False
    return growth.side > 0 or (growth.power.sign() > 0 and (not splits or compare_exponent(splits, growth.power) < 0))


def _solve_branches(
    name: str, size: str, branches: Branches, bases: InitialValues, stated: tuple[str, ...], method: str
) -> SolvedFunction:
    calls = [call for branch in branches for call in branch.calls]
    if not calls:
        terms = find_leading_terms(term for branch in branches for term in branch.terms)
        if not terms:
            raise OutOfReachError(ZERO_FUNCTION)
        kind = terms[0].kind
        if len(branches) > 1 or not any(term.kind == kind and term.coefficient > 0 for term in branches[0].terms):
            check_nonnegative_terms(branches, bases.threshold)
        return SolvedFunction(method, stated, terms)
    for call in calls:
        _check_call(name, call)
    kinds = {(x.is_step or x.less is not None, x.is_split) for x in (call.argument for call in calls)}
    if len(branches) > 1 and len(kinds) > 1 and all(branch.calls for branch in branches):
        return _solve_mixed_maximum(name, size, branches, bases, stated)
    if len(branches) == 1 and _find_product_of_weights(branches[0].calls) is not None:
        return _solve_subtractive_recurrence(size, branches, bases, stated)
    roots = any(call.argument.is_root for call in calls)
    if any(call.argument.less is not None or (roots and call.argument.is_step) for call in calls):
        return _solve_slow_recurrence(size, branches, bases, stated)
    beyond = _explain_superpolynomial(branches, bases)
    if beyond is not None:
        shrinking = ROOTS if all(call.argument.is_root for call in calls) else SPLITS
        if any(call.argument.is_step for call in calls):
            shrinking = STEPS
        return SolvedFunction("growth beyond polynomials", (*stated, beyond), beyond=beyond, shrinking=shrinking)
    for call in calls:
        if call.weight.depends_on_size and not call.argument.is_root:
            raise OutOfReachError("a call with a factor that shrinks as the size grows")
        if call.tail and not (not call.argument.is_step and (call.tail[0].power - call.weight.power).sign() < 0):
            raise OutOfReachError("a number of calls that is neither constant nor close enough to it")
    if any(call.argument.is_split for call in calls) and all(
        call.argument.is_split or (call.argument.is_root and call.argument.root < 1) for call in calls
    ):
        return _solve_split_recurrence(size, branches, bases, stated)
    if all(call.argument.is_root for call in calls):
        return _solve_root_recurrence(name, size, branches, bases, stated)
    if all(call.argument.is_step for call in calls):
        return _solve_subtractive_recurrence(size, branches, bases, stated)
    raise OutOfReachError("sizes that shrink in different ways in one recurrence")


def _check_call(name: str, call: WeightedCall) -> None:
    if call.argument.is_same:
        raise OutOfReachError(f"{name} calls itself at the same size")
    if call.weight.symbols:
        raise OutOfReachError("a symbol in the number of calls")
    if not call.weight.exact:
        raise OutOfReachError("a number of calls that is known in growth only")
    if call.weight.coefficient < 0:
        raise OutOfReachError("a recursive call is subtracted")


def _explain_superpolynomial(branches: Branches, bases: InitialValues) -> str | None:
    """Return why a function evidently grows faster than every polynomial, else None. Raises OutOfReachError."""
    for branch in branches:
        positive = bases.growing or any(term.coefficient > 0 for term in branch.terms)
        steps = [call for call in branch.calls if call.argument.is_step and call.argument.offset < 0]
        splits = [call for call in branch.calls if call.argument.is_split and call.argument.ratio < 1]
        growing = [call for call in (*steps, *splits) if compare_growth(call.weight, _CONSTANT_TERM) > 0]
        total = sum((call.number for call in steps if not call.weight.depends_on_size), ZERO_CONSTANT)
        many = (total - ONE_CONSTANT).sign() >= 0
        mixed = many and any(compare_growth(call.weight, _CONSTANT_TERM) >= 0 for call in splits)
        if not positive or not (growing or mixed):
            continue
        check_nonnegative_terms(branches, bases.threshold if bases.threshold > 0 else fmpq(1))
        if growing:
            return f"the number of calls grows with the size: {SUPERPOLYNOMIAL}"
        return f"besides calls at the size less a constant there are calls at a part of it: {SUPERPOLYNOMIAL}"
    return None


def _solve_split_recurrence(
    size: str, branches: Branches, bases: InitialValues, stated: tuple[str, ...]
) -> SolvedFunction:
    """Solve T(n) = max over branches of sum a*T(r*n + d) + f(n) by the theorem of Akra and Bazzi."""
    smaller = tuple(call for branch in branches for call in branch.calls if call.argument.is_root)
    if smaller and len(branches) > 1:
        raise OutOfReachError("sizes that shrink in different ways in a maximum")
    if smaller:
        splits = tuple(call for call in branches[0].calls if call.argument.is_split)
        branches = (CallSum(splits, branches[0].terms),)
    for branch in branches:
        for call in branch.calls:
            _check_split(call, bases.threshold)
    if bases.threshold == 0 and any(term.power.sign() < 0 for branch in branches for term in branch.terms):
        raise OutOfReachError("a term without bound at sizes near 0: give a base value at a larger size")
    parts = [merge_shares((call.number, call.argument.ratio) for call in b.calls) for b in branches]
    result = _derive_growth([branch.terms for branch in branches], parts, bases.growing, branches, bases.threshold)
    lines = (*stated, *explain_split_recurrence(branches, result, size))
    lines += tuple(_explain_smaller_call(call, result, size) for call in smaller)
    plain = len(branches) == 1 and len(result.parts) == 1 and not smaller
    method = "master theorem" if plain and branches[0].calls[0].argument.offset == 0 else "Akra-Bazzi theorem"
    return SolvedFunction(
        method,
        lines,
        result.terms,
        closed=find_closed_form_by_splits(branches[0], bases, size) if len(branches) == 1 and not smaller else None,
        exponent=result.exponent,
        factor=find_common_factor(call.argument.ratio for branch in branches for call in branch.calls),
        gap=compute_exponent_gap((term.power for branch in branches for term in branch.terms), result.exponent),
    )


def _derive_growth(
    terms: Sequence[tuple[GrowthTerm, ...]],
    parts: Sequence[Parts],
    growing: tuple[GrowthTerm, ...],
    branches: Branches,
    least: fmpq,
    log_depth: int = 0,
) -> GrowthResult:
    """Return the growth of a maximum of branches, whose `terms` may be written for another variable.

    By linearity a single branch is the solution for its positive terms less that for its negative ones, which may be
    negative if they contribute less to growth. Raises OutOfReachError.
    """
    result = derive_growth_of_maximum(terms, parts, growing, log_depth)
    if all(is_nonnegative_from(branch.terms, least) for branch in branches):
        return result
    if len(branches) == 1 and all(not term.symbols for term in (*result.terms, *terms[0])):
        negative = tuple(replace(term, coefficient=-term.coefficient) for term in terms[0] if term.coefficient < 0)
        less = collect_contributions(negative, (), parts[0], result.exponent, log_depth)
        if all(compare_growth(result.terms[0], term) > 0 for term in less):
            return result
    raise OutOfReachError(NEGATIVE_TERMS)


def _explain_smaller_call(call: WeightedCall, result: GrowthResult, size: str) -> str:
    """Return why a call at a root of the size does not change the growth found without it. Raises OutOfReachError.

    It adds a term of the growth found; if that term contributes less to the growth than all others together, then from
    some size on at most half of the function.
    """
    added = _grow_call(call, result.terms)
    contribution = compute_contribution(added, result.exponent, lambda at: compare_exponent(result.parts, at))
    below = compare_exponent(result.parts, added.power) > 0
    if not below and compare_growth(contribution, result.terms[0]) >= 0:
        raise OutOfReachError("sizes that shrink in different ways in one recurrence")
    return f"{format_call(call, size)} adds {format_growth([added], size)}, which contributes less"


def _grow_call(call: WeightedCall, terms: tuple[GrowthTerm, ...]) -> GrowthTerm:
    """Return the growth of a call, if that of the function is a single term without symbols."""
    if len(terms) > 1 or terms[0].symbols or terms[0].steep:
        raise OutOfReachError("sizes that shrink in different ways in one recurrence")
    (term,) = substitute_argument([replace(terms[0], exact=False)], call.argument)
    return replace(call.weight, coefficient=fmpq(1)).multiply(term)


def _solve_slow_recurrence(
    size: str, branches: Branches, bases: InitialValues, stated: tuple[str, ...]
) -> SolvedFunction:
    """Solve T(n) = T(n - g(n)) + sum a*n^w*T(n^c) + f(n), where g is of smaller order than n.

    T(n) - T(n - g(n)) is close to g(n)*T'(n), so that T is the integral of f/g without the other calls. With them, as
    (n^s)' = s*n^s/n, T(n) grows as n/(s*g(n))*(sum a*n^w*T(n^c) + f(n)), where s is the power of n in T.
    """
    if len(branches) > 1:
        raise OutOfReachError("sizes that shrink in different ways in a maximum")
    (branch,) = branches
    principal = next((call for call in branch.calls if call.argument.less is not None), None) or next(
        call for call in branch.calls if call.argument.is_step
    )
    smaller = tuple(call for call in branch.calls if call is not principal)
    shrinking = STEPS if principal.argument.is_step else SLOW
    less = principal.argument.less or GrowthTerm(-principal.argument.offset)
    if less.coefficient < 0 or principal.weight.depends_on_size or principal.tail:
        raise OutOfReachError("sizes that shrink in different ways in one recurrence")
    excess = (principal.number - ONE_CONSTANT).sign()
    split = any(x.argument.is_split and compare_growth(x.weight, _CONSTANT_TERM) >= 0 for x in smaller)
    if excess > 0 or (excess == 0 and split):
        check_nonnegative_terms(branches, bases.threshold)
        if not bases.growing and not any(term.coefficient > 0 for term in branch.terms):
            raise NoContributionError
        called = format_argument(principal.argument, size)
        others = "made more than once" if excess > 0 else "not the only one"
        because = f"the call at {called} is {others}: {SUPERPOLYNOMIAL}"
        return SolvedFunction("growth beyond polynomials", (*stated, because), beyond=because, shrinking=shrinking)
    if excess < 0 or not all(call.argument.is_root and call.argument.root < 1 for call in smaller):
        raise OutOfReachError("sizes that shrink in different ways in one recurrence")
    rate = GrowthTerm(fmpq(1), make_powers(0, ONE_CONSTANT)).multiply(less.raise_to(fmpq(-1)))
    # Of a term such as 2^n the last size dominates the sum.
    terms = tuple(term if term.steep else term.multiply(rate) for term in branch.terms)
    halves = ((ONE_CONSTANT, fmpq(1, 2)),)
    result = _derive_growth([terms], [halves], bases.growing, branches, bases.threshold)
    decrease, amounts = format_terms([less], size), format_terms(branch.terms, size)
    line = f"sizes decrease by {decrease}: the sum of {amounts} over them grows as an integral"
    solved = SolvedFunction("integral", (*stated, line), result.terms, shrinking=shrinking)
    lead = find_leading_terms(term for term in branch.terms if term.coefficient > 0)
    if result.terms[0].side > 0:
        return solved
    if all(lead and compare_growth(_grow_call(call, result.terms), lead[0]) < 0 for call in smaller):
        more = (f"{format_call(call, size)} is of smaller order than {format_growth(lead, size)}" for call in smaller)
        return replace(solved, steps=(*solved.steps, *more))
    weighted = [replace(call, weight=call.weight.multiply(rate)) for call in smaller]
    scale, *rest = {_compute_call_scale(call) for call in weighted}
    if rest or scale.sign() <= 0:
        raise OutOfReachError("calls at roots of the size with factors that do not match")
    reduced = merge_shares((call.number / scale, call.argument.root) for call in weighted)
    divided = tuple(_multiply_by_size_power(term, -scale) for term in terms)
    result = _derive_growth([divided], [reduced], bases.growing, branches, bases.threshold, 1)
    growth = find_leading_terms(_multiply_by_size_power(term, scale) for term in result.terms)
    line = f"with the calls at roots it is {format_growth(growth, size)}"
    return replace(solved, steps=(*solved.steps, line), terms=growth)


def _find_product_of_weights(calls: Sequence[WeightedCall]) -> GrowthTerm | None:
    """Return the growth of w(n)*w(n - g)*w(n - 2*g)*..., for a call w(n)*T(n - g), w(n) = c*n^a*(1 + b/n + ...).

    A further call d*n^e*T(n - j*g) adds d/c^j*n^(e - j*a + a) to the quotient of T(n) by T(n - g).
    None if the weights are rational constants, or of another form.
    """
    if not all(call.argument.is_step and call.argument.offset < 0 for call in calls):
        return None
    call, *further = sorted(calls, key=lambda call: call.argument.offset, reverse=True)
    lead, step = call.weight, -call.argument.offset
    if lead.steep or len(lead.powers) > 1 or lead.coefficient <= 0 or lead.symbols or not lead.exact:
        return None
    if not call.tail and call.number.is_rational and not lead.powers:
        return None
    corrections = [(call.tail[0].multiply(lead.raise_to(fmpq(-1))), ONE_CONSTANT)] if call.tail else []
    for more in further:
        times = -more.argument.offset / step
        if times.q != 1 or call.factor != ONE_CONSTANT:
            return None
        corrections.append((more.weight.multiply(lead.raise_to(-times)), more.factor))
    shift = ZERO_CONSTANT
    for term, factor in corrections:
        excess = (term.power + ONE_CONSTANT).sign()
        if excess > 0 or term.steep or (not excess and len(term.powers) > 1):
            return None
        if not excess:
            shift += factor.scaled(term.coefficient)
    # The product of g*j for j up to n/g is Theta(n!^(1/g)*n^(1/2 - 1/(2*g))), by Stirling's formula.
    power = (lead.power.scaled((step - 1) / 2) + shift).scaled(1 / step)
    return GrowthTerm(
        fmpq(1),
        trim_powers((power,)),
        steep=trim_powers((lead.power.scaled(1 / step), call.number.log2().scaled(1 / step))),
    )


def find_common_factor(shares: Iterable[fmpq]) -> fmpq | None:
    """Return the number c such that all 1/share are powers of c; None if there is none."""
    roots = {split_perfect_power(1 / share)[0] for share in shares}
    return roots.pop() if len(roots) == 1 else None


def compute_exponent_gap(powers: Iterable[Constant], p: Constant) -> float:
    """Return the smallest nonzero distance of `powers` from the exponent p."""
    gaps = [abs(float((exponent - p).enclosure().mid())) for exponent in powers]
    return min((gap for gap in gaps if gap > 1e-12), default=math.inf)


def _solve_root_recurrence(
    name: str, size: str, branches: Branches, bases: InitialValues, stated: tuple[str, ...]
) -> SolvedFunction:
    """Solve T(n) = sum a*n^w*T(n^c) + f(n): T(n)/n^s satisfies a recurrence by splits in mu = log2(n)."""
    if bases.threshold <= 1 and not all(call.argument.rough for branch in branches for call in branch.calls):
        raise OutOfReachError("roots of sizes above 1 never reach 1: give a base value at 2")
    scale, *rest = {_compute_call_scale(call) for branch in branches for call in branch.calls}
    if rest:
        raise OutOfReachError("calls at roots of the size with factors that do not match")
    parts = [merge_shares((call.number, call.argument.root) for call in b.calls) for b in branches]
    divided = [tuple(_multiply_by_size_power(term, -scale) for term in branch.terms) for branch in branches]
    result = _derive_growth(divided, parts, bases.growing, branches, bases.threshold, 1)
    return SolvedFunction(
        "change of variable to log2(n)".replace("(n)", f"({size})"),
        (*stated, *explain_root_recurrence(name, branches, result, scale, size)),
        find_leading_terms(_multiply_by_size_power(term, scale) for term in result.terms),
        closed=find_closed_form_by_roots(branches[0], bases, size, scale) if len(branches) == 1 else None,
        shrinking=ROOTS,
        exponent=result.exponent,
        factor=find_common_factor(call.argument.root for branch in branches for call in branch.calls),
        gap=compute_exponent_gap(
            (term.get_power(1) for x in branches for term in x.terms if term.power == scale), result.exponent
        ),
    )


def _solve_subtractive_recurrence(
    size: str, branches: Branches, bases: InitialValues, stated: tuple[str, ...]
) -> SolvedFunction:
    """Solve T(n) = sum a*T(n - c) + f(n), which is a recurrence by splits in m = 2^(n/g), g the stride.

    If the weights add up to 1, p is 0 and the growth a sum over sizes; if to less, it is f; if to more, exponential.
    """
    stride = compute_stride(call for branch in branches for call in branch.calls)
    if bases.threshold < 0 and any(term.depends_on_size for branch in branches for term in branch.terms):
        raise OutOfReachError("terms at sizes that are not positive: give a base value at a size of at least 0")
    product = _find_product_of_weights(branches[0].calls) if len(branches) == 1 else None
    stride = stride if product is None else min(-call.argument.offset for call in branches[0].calls)
    parts = [
        tuple(
            (Constant(weight), fmpq(1, 1 << step))
            for weight, step in (((fmpq(1), 1),) if product is not None else write_calls_in_strides(x.calls, stride))
        )
        for x in branches
    ]
    growing = bases.growing
    if not growing and len(branches) == 1:
        # The stride is the greatest common divisor of the steps, so that one base value other than 0 suffices.
        longest = max(-call.argument.offset for call in branches[0].calls) / stride
        called = (bases.threshold - stride * step for step in range(math.ceil(longest)))
        if any(bases.find_value("", size_) for size_ in called):
            growing = (_CONSTANT_TERM,)
    over = _CONSTANT_TERM if product is None else product

    def convert_term(term: GrowthTerm) -> GrowthTerm:
        """Divide by the product of the weights, and make the powers of n! and 2^(n/g) the first ones."""
        term = term.multiply(over.raise_to(fmpq(-1)))
        factorial, exponential = (*term.steep, ZERO_CONSTANT, ZERO_CONSTANT)[:2]
        return term.with_powers((factorial, exponential.scaled(stride), *term.powers))

    def restore_term(term: GrowthTerm) -> GrowthTerm:
        steep = (term.get_power(0), term.get_power(1).scaled(1 / stride))
        return term.with_powers(term.powers[2:], steep).multiply(over)

    inside = [tuple(map(convert_term, branch.terms)) for branch in branches]
    closed = None
    if len(branches) == 1 and product is None:
        closed = find_closed_form_by_steps(branches[0], bases, size, stride)
    try:
        result = _derive_growth(inside, parts, growing, branches, bases.threshold + stride, 1)
    except OutOfReachError:
        if closed is None:
            raise
        return _read_growth_from_closed_form(closed, size, stated, stride)
    leading = tuple(map(restore_term, result.terms))
    if leading[0].side < 0 or (not leading[0].side and leading[0].power.sign() < 0):
        raise OutOfReachError("the function tends to 0 as the size grows")
    solved = SolvedFunction("summation", stated, leading, closed=closed, shrinking=STEPS, stride=stride)
    if product is not None:
        times = format_growth([product], size)
        line = f"the numbers of calls multiply to Theta({times}): divided by it, the function is a sum over sizes"
        return replace(solved, method="product of the numbers of calls", steps=(*stated, line))
    if result.terms[0].power or (result.terms[0].get_power(1) - result.exponent).sign() > 0:
        line = f"{format_growth(leading, size)} grows faster than the calls alone: the last size dominates"
        return replace(solved, steps=(*stated, line))
    # The factors of the growth other than a power of 2^(n/g): terms in n, or in symbols alone.
    terms = tuple(term.with_powers(term.powers[2:]) for term in result.terms)
    if result.exponent.sign() <= 0:
        return replace(solved, steps=(*stated, *explain_subtractive_recurrence(branches, result, stride, size)))
    base = compute_positive_root(
        tuple((weight.rational, int(share.q).bit_length() - 1) for weight, share in result.parts)
    )
    growth = _build_exponential(terms, size, stride, base)
    between = None
    if isinstance(base, s.Real):
        lower, upper = (
            _build_exponential(terms, size, stride, replace(base, text=text)) for text in bracket_nine_digits(base.text)
        )
        between = lower, upper
    lines = (*stated, *explain_subtractive_recurrence(branches, result, stride, size, base))
    reason = f"it grows exponentially, as {format_expression(growth)}"
    return replace(solved, method="characteristic equation", steps=lines, beyond=reason, growth=growth, between=between)


def _read_growth_from_closed_form(
    closed: ClosedExpression, size: str, stated: tuple[str, ...], stride: fmpq
) -> SolvedFunction:
    """Return the growth of a closed form with a positive leading term. Raises OutOfReachError."""
    try:
        terms = TermReader(size).read(rewrite_parts(closed.expr, _replace_named_number))
        lead = find_leading_terms(terms)
    except OutOfReachError:
        raise OutOfReachError(NEGATIVE_TERMS) from None
    if not terms:
        raise NoContributionError
    if len(lead) != 1 or any(term.coefficient < 0 for term in terms if term.kind == lead[0].kind):
        raise OutOfReachError(NEGATIVE_TERMS)
    line = "some terms without calls are negative: the growth is that of the exact solution"
    solved = SolvedFunction(
        "characteristic equation", (*stated, line), lead, closed=closed, shrinking=STEPS, stride=stride
    )
    (golden,) = TermReader(size).read(b.power(GOLDEN_RATIO, b.name(size)))
    if lead[0].steep != golden.steep:
        return solved
    growth = _build_exponential((lead[0].with_powers(lead[0].powers),), size, fmpq(1), GOLDEN_RATIO)
    return replace(solved, growth=growth, beyond=f"it grows exponentially, as {format_expression(growth)}")


def _replace_named_number(part: s.Expr) -> s.Expr | None:
    """Replace a Fibonacci number by the growing part of Binet's formula, a harmonic number by the logarithm."""
    match part:
        case s.Call(function="fibonacci", arguments=(argument,)):
            return b.binary("/", b.power(GOLDEN_RATIO, argument), b.call("sqrt", b.number(5)))
        case s.Call(function="harmonic", arguments=(argument,)):
            return b.call("log", argument)
        case _:
            return None


def _build_exponential(terms: tuple[GrowthTerm, ...], size: str, stride: fmpq, base: s.Expr) -> s.Expr:
    """Return base^(size/stride) times the terms."""
    exponential = b.power(base, b.rational_multiple(1 / stride, [b.name(size)], []))
    return (
        exponential
        if all(term.is_constant for term in terms)
        else b.product([build_growth_tree(terms, size), exponential])
    )
