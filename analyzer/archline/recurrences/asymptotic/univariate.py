"""Solve a recursive function of one size: derive the Theta growth, by how the sizes shrink, and the closed form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from archline.algebra.reals import ZERO_CONSTANT, Constant, OutOfReachError, determine_sign
from archline.expr import build as b
from archline.expr import tree as s
from archline.expr.text import format_expression
from archline.numbers import arb, fmpq, fmpq_mat, fmpq_poly
from archline.records import record, replace
from archline.recurrences.asymptotic.normal_form import (
    Branches,
    InitialValues,
    WeightedCall,
    build_call_matrix,
    check_nonnegative_terms,
)
from archline.recurrences.asymptotic.terms import (
    GrowthTerm,
    compare_growth,
    compute_rational_power,
    find_leading_terms,
    make_powers,
    split_perfect_power,
)
from archline.recurrences.asymptotic.text import (
    build_growth_tree,
    explain_root_recurrence,
    explain_split_recurrence,
    explain_subtractive_recurrence,
    format_statement,
)
from archline.recurrences.asymptotic.theorems import (
    ZERO_FUNCTION_REASON,
    bracket_nine_digits,
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
    if offset / (1 - ratio) >= threshold:
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
        raise OutOfReachError(ZERO_FUNCTION_REASON)
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
    return term.with_powers((term.power + by, *term.powers[1:]))


SPLITS, ROOTS, STEPS = "splits", "roots", "steps"
SUPERPOLYNOMIAL = "it grows faster than every polynomial"
_CONSTANT_TERM = GrowthTerm(fmpq(1))


@record
class SolvedFunction:
    """The solution of a function: its Theta growth as terms and as an expression (`growth`).

    `beyond` is the reason why the growth is superpolynomial, if it is. `shrinking` is how sizes shrink, `exponent` that
    of the calls alone, `stride` the step between sizes, `start` the largest size of a base value. All shares are powers
    of 1/factor, if there is such a number. `gap` is the smallest difference between the exponent and those of the added
    terms. `between` are bounds of a growth with rounded numbers.
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


def solve_function(name: str, size: str, branches: Branches, bases: InitialValues) -> SolvedFunction:
    """Solve a function that calls only itself, if any. Raises OutOfReachError."""
    stated = format_statement(name, size, branches, bases)
    calls = [call for branch in branches for call in branch.calls]
    if not calls:
        check_nonnegative_terms(branches, bases.threshold)
        terms = find_leading_terms(term for branch in branches for term in branch.terms)
        if not terms:
            raise OutOfReachError(ZERO_FUNCTION_REASON)
        return SolvedFunction("no recursion", stated, terms)
    for call in calls:
        _check_call(name, call)
    beyond = _explain_superpolynomial(branches, bases)
    if beyond is not None:
        shrinking = ROOTS if all(call.argument.is_root for call in calls) else SPLITS
        if any(call.argument.is_step for call in calls):
            shrinking = STEPS
        return SolvedFunction("growth beyond polynomials", (*stated, beyond), beyond=beyond, shrinking=shrinking)
    for call in calls:
        if call.weight.depends_on_size and not call.argument.is_root:
            raise OutOfReachError("a call with a factor that shrinks as the size grows")
    if all(call.argument.is_split for call in calls):
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
        raise OutOfReachError("a number of calls that is not a rational number")
    if call.weight.coefficient < 0:
        raise OutOfReachError("a recursive call is subtracted")


def _explain_superpolynomial(branches: Branches, bases: InitialValues) -> str | None:
    """Return why a function evidently grows faster than every polynomial, else None. Raises OutOfReachError."""
    for branch in branches:
        positive = bases.growing or any(term.coefficient > 0 for term in branch.terms)
        steps = [call for call in branch.calls if call.argument.is_step and call.argument.offset < 0]
        splits = [call for call in branch.calls if call.argument.is_split and call.argument.ratio < 1]
        growing = [call for call in (*steps, *splits) if compare_growth(call.weight, _CONSTANT_TERM) > 0]
        total = sum((call.weight.coefficient for call in steps if not call.weight.depends_on_size), fmpq(0))
        mixed = total >= 1 and any(compare_growth(call.weight, _CONSTANT_TERM) >= 0 for call in splits)
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
    for branch in branches:
        for call in branch.calls:
            _check_split(call, bases.threshold)
    if bases.threshold == 0 and any(term.power.sign() < 0 for branch in branches for term in branch.terms):
        raise OutOfReachError("a term without bound at sizes near 0: give a base value at a larger size")
    check_nonnegative_terms(branches, bases.threshold)
    parts = [merge_shares((call.weight.coefficient, call.argument.ratio) for call in b.calls) for b in branches]
    result = derive_growth_of_maximum([branch.terms for branch in branches], parts, bases.growing)
    lines = (*stated, *explain_split_recurrence(branches, result, size))
    plain = len(branches) == 1 and len(result.parts) == 1
    method = "master theorem" if plain and branches[0].calls[0].argument.offset == 0 else "Akra-Bazzi theorem"
    return SolvedFunction(
        method,
        lines,
        result.terms,
        closed=find_closed_form_by_splits(branches[0], bases, size) if len(branches) == 1 else None,
        exponent=result.exponent,
        factor=find_common_factor(call.argument.ratio for branch in branches for call in branch.calls),
        gap=compute_exponent_gap((term.power for branch in branches for term in branch.terms), result.exponent),
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
    if bases.threshold <= 1:
        raise OutOfReachError("roots of sizes above 1 never reach 1: give a base value at 2")
    check_nonnegative_terms(branches, bases.threshold)
    scale, *rest = {_compute_call_scale(call) for branch in branches for call in branch.calls}
    if rest:
        raise OutOfReachError("calls at roots of the size with factors that do not match")
    parts = [merge_shares((call.weight.coefficient, call.argument.root) for call in b.calls) for b in branches]
    divided = [tuple(_multiply_by_size_power(term, -scale) for term in branch.terms) for branch in branches]
    result = derive_growth_of_maximum(divided, parts, bases.growing, 1)
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
    check_nonnegative_terms(branches, bases.threshold + stride)
    parts = [
        tuple((weight, fmpq(1, 1 << step)) for weight, step in write_calls_in_strides(x.calls, stride))
        for x in branches
    ]
    growing = bases.growing
    if not growing and len(branches) == 1 and bases.values[-1][1]:
        # The stride is the greatest common divisor of the steps, so that one base value other than 0 suffices.
        growing = (_CONSTANT_TERM,)
    inside = [tuple(term.with_powers((ZERO_CONSTANT, *term.powers)) for term in branch.terms) for branch in branches]
    result = derive_growth_of_maximum(inside, parts, growing)
    if result.terms[0].power.sign() < 0:
        raise OutOfReachError("the function tends to 0 as the size grows")
    # The factors of the growth other than a power of 2^(n/g): terms in n, or in symbols alone.
    terms = tuple(term.with_powers(term.powers[1:]) for term in result.terms)
    closed = find_closed_form_by_steps(branches[0], bases, size, stride) if len(branches) == 1 else None
    solved = SolvedFunction("summation", stated, terms, closed=closed, shrinking=STEPS, stride=stride)
    if result.exponent.sign() <= 0:
        return replace(solved, steps=(*stated, *explain_subtractive_recurrence(branches, result, stride, size)))
    base = compute_positive_root(tuple((weight, int(share.q).bit_length() - 1) for weight, share in result.parts))
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


def _build_exponential(terms: tuple[GrowthTerm, ...], size: str, stride: fmpq, base: s.Expr) -> s.Expr:
    """Return base^(size/stride) times the terms."""
    exponential = b.power(base, b.rational_multiple(1 / stride, [b.name(size)], []))
    return (
        exponential
        if all(term.is_constant for term in terms)
        else b.product([build_growth_tree(terms, size), exponential])
    )
