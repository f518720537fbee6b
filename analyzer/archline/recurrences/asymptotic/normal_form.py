"""Convert expressions to sums of terms in one size, definitions to maxima of weighted calls; inline functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from archline.algebra.reals import HALF, LOG_2, ONE_CONSTANT, ZERO_CONSTANT, Constant, OutOfReachError
from archline.expr import build
from archline.expr.text import format_expression
from archline.expr.tree import has_same_structure, rewrite_parts
from archline.growth.normal_form import evaluate_constant, expand
from archline.language import call_graph
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import record, replace
from archline.recurrences.asymptotic.evaluate import choose_default_base
from archline.recurrences.asymptotic.problem import RealDefinition
from archline.recurrences.asymptotic.terms import (
    GrowthTerm,
    add_powers,
    collect_terms,
    compare_growth,
    find_leading_terms,
    is_nonnegative_from,
    make_powers,
    multiply_terms,
    sort_by_growth,
    trim_powers,
)

Terms = tuple[GrowthTerm, ...]
MAX_EXPANDED_POWER = 8


class TermReader:
    """Converts expressions to terms in the size `size`; other names are symbols, whose values are at least 1.

    With `at_infinity` negative powers of sums are expanded to their first terms: 1/(n - 1) is 1/n + 1/n^2 + 1/n^3.
    """

    def __init__(self, size: str, *, at_infinity: bool = False) -> None:
        self._size, self._at_infinity = size, at_infinity

    def read(self, expr: s.Expr) -> Terms:
        """Convert an expression to a sum of terms. Raises OutOfReachError."""
        read_terms: list[GrowthTerm] = []
        for product, coefficient in expand(expr).items():
            rational = coefficient.is_rational
            terms: Terms = (GrowthTerm(coefficient.rational if rational else fmpq(coefficient.sign()), exact=rational),)
            for factor, exponent in product.powers.items():
                terms = multiply_terms(terms, self._read_power(factor.expr, exponent))
            read_terms += terms
        return collect_terms(read_terms)

    def _read_power(self, base: s.Expr, exponent: Constant) -> Terms:
        """Convert base^exponent to a sum of terms; the base is not a product of powers."""
        match base:
            case s.Name(id=name) if name == self._size:
                return (GrowthTerm(fmpq(1), make_powers(0, exponent)),)
            case s.Name(id=name):
                terms: Terms = (GrowthTerm(fmpq(1), symbols=((name, fmpq(1)),)),)
            case s.Call(function=function, arguments=arguments):
                terms = self._read_call(base, function, arguments)
            case s.Binary(op="+" | "-" | "*" | "/") | s.Unary():
                terms = self.read(base)
            case s.Binary(op="^", left=s.Integer(value=2), right=s.Name(id=name)) if name == self._size:
                # Every b^n is a power of 2^n.
                return (_make_steep(ZERO_CONSTANT, exponent),)
            case s.Binary(op="^", left=s.Name(id=left), right=s.Name(id=right)) if left == right == self._size:
                # n^n is Theta(n!*exp(n)/sqrt(n)).
                halved = trim_powers([-HALF * exponent])
                return (replace(_make_steep(exponent, exponent * LOG2_OF_E), powers=halved, exact=False),)
            case s.Binary(op="^", right=varying):
                raise OutOfReachError(f"the exponent {format_expression(varying)} is not a constant")
            case _:
                raise OutOfReachError(f"`{format_expression(base)}` is not a term of logarithms and powers")
        if not exponent.is_rational:
            raise OutOfReachError(f"an irrational power of an expression other than {self._size}")
        return self.raise_to_power(terms, exponent.rational)

    def raise_to_power(self, terms: Terms, exponent: fmpq) -> Terms:
        """Return a power of a sum, expanded for small natural exponents, else terms of the same growth."""
        if len(terms) == 1:
            return (terms[0].raise_to(exponent),)
        if not terms:
            if exponent > 0:
                return ()
            raise OutOfReachError("division by zero")
        if exponent.q == 1 and 0 <= exponent.p <= MAX_EXPANDED_POWER:
            expanded: Terms = (GrowthTerm(fmpq(1)),)
            for _ in range(int(exponent.p)):
                expanded = multiply_terms(expanded, terms)
            return expanded
        lead, *rest = sort_by_growth(terms)
        if self._at_infinity and all(compare_growth(lead, term) > 0 for term in rest):
            # lead^e*(1 + x)^e by the binomial series.
            small = multiply_terms(tuple(rest), (lead.raise_to(fmpq(-1)),))
            series = ((_UNIT,), small, multiply_terms(small, small))
            factors = (fmpq(1), exponent, exponent * (exponent - 1) / 2)
            total = collect_terms(
                replace(term, coefficient=term.coefficient * factor)
                for terms_, factor in zip(series, factors, strict=True)
                for term in terms_
            )
            return multiply_terms(total, (lead.raise_to(exponent),))
        if exponent < 0:
            _reject_difference(terms)
        return _make_representative_terms(
            tuple(term.raise_to(exponent) for term in _find_positive_leading_terms(terms))
        )

    def _read_call(self, expr: s.Expr, function: str, arguments: tuple[s.Expr, ...]) -> Terms:
        read_arguments = [self.read(argument) for argument in arguments]
        match function, read_arguments:
            case "log2", [terms]:
                return self._read_logarithm(terms)
            case "log", [terms]:
                return _make_representative_terms(self._read_logarithm(terms))
            case "min", _:
                return self._read_minimum(read_arguments)
            case "max", _:
                return _make_representative_terms(
                    tuple(term for terms in read_arguments for term in _find_positive_leading_terms(terms))
                )
            case "ceil", [terms]:
                # The value is at least 1 if its argument is positive.
                return _make_representative_terms(
                    find_leading_terms((*_find_positive_leading_terms(terms), GrowthTerm(fmpq(1))))
                )
            case (("exp" | "factorial"), [[GrowthTerm(powers=powers, exact=True) as term, *rest]]) if (
                powers == make_powers(0) and all(x.kind == _UNIT.kind and x.exact for x in rest)
            ):
                return self._read_steep_call(function, term.coefficient, rest)
            case _:
                raise OutOfReachError(f"`{format_expression(expr)}`: the function {function} is not supported")

    def _read_steep_call(self, function: str, multiple: fmpq, rest: list[GrowthTerm]) -> Terms:
        """Return exp(c*n + d), or (n + d)!, which is Theta(n!*n^d), where c is `multiple` and d the number `rest`."""
        shift = rest[0].coefficient if rest else fmpq(0)
        if function == "exp":
            return (replace(_make_steep(ZERO_CONSTANT, LOG2_OF_E.scaled(multiple)), exact=not shift),)
        if multiple != 1:
            raise OutOfReachError("the factorial of a multiple of the size")
        return (
            replace(_make_steep(ONE_CONSTANT, ZERO_CONSTANT), powers=make_powers(0, Constant(shift)), exact=not shift),
        )

    def _read_logarithm(self, terms: Terms) -> Terms:
        """Return the logarithm of a sum, which grows as the logarithm of the leading term.

        It is exact only for the size and its repeated logarithms, as log2(2 + n^2) is not 2*log2(2 + n).
        """
        _reject_difference(terms)
        term, *rest = _find_positive_leading_terms(terms)
        if term.steep and not term.symbols and term.side > 0:
            # log2(n!) is Theta(n*log2(n)), log2(b^n) is n*log2(b).
            return (GrowthTerm(fmpq(1), (ONE_CONSTANT, ONE_CONSTANT)[: 1 + bool(term.steep[0])], exact=False),)
        if rest or (term.symbols and term.depends_on_size):
            raise OutOfReachError("a logarithm of sizes and symbols together")
        if term.symbols:
            return self._read_symbol_logarithm(term)
        if not term.depends_on_size:
            return (GrowthTerm(fmpq(1), exact=False),)
        place, first = next((place, exponent) for place, exponent in enumerate(term.powers) if exponent)
        if first.sign() < 0:
            # This is the logarithm of 2 plus a term that tends to 0.
            return (GrowthTerm(fmpq(1), exact=False),)
        alone = terms == (GrowthTerm(fmpq(1), make_powers(place)),)
        return (GrowthTerm(first.rational if first.is_rational else fmpq(1), make_powers(place + 1), exact=alone),)

    def _read_symbol_logarithm(self, term: GrowthTerm) -> Terms:
        if len(term.symbols) > 1 or term.symbols[0][1] <= 0:
            raise OutOfReachError("a logarithm of several symbols")
        ((name, power),) = term.symbols
        return (GrowthTerm(power, symbols=((f"log2({name})", fmpq(1)),), exact=term.coefficient == power == 1),)

    def _read_minimum(self, alternatives: list[Terms]) -> Terms:
        minimal: GrowthTerm | None = None
        for terms in alternatives:
            term, *rest = _find_positive_leading_terms(terms)
            if rest or term.symbols:
                raise OutOfReachError("a minimum with symbols")
            if minimal is None or compare_growth(term, minimal) < 0:
                minimal = term
        assert minimal is not None
        return _make_representative_terms((minimal,))


LOG2_OF_E = LOG_2.inverse()
"""log2(exp(1))."""


def _make_steep(factorial: Constant, exponential: Constant) -> GrowthTerm:
    """Return n!^f*2^(n*e), where f is `factorial` and e is `exponential`."""
    return GrowthTerm(fmpq(1), steep=trim_powers((factorial, exponential)))


def _reject_difference(terms: Terms) -> None:
    """Raise OutOfReachError if a sum has a negative term, so that it may be 0."""
    if any(term.coefficient < 0 for term in terms):
        raise OutOfReachError("a function of a difference")


def _find_positive_leading_terms(terms: Terms) -> Terms:
    """Return the leading terms of a sum with their coefficients. Raises OutOfReachError unless they are positive."""
    lead = find_leading_terms(terms)
    if any(term.coefficient < 0 for term in terms):
        kinds = {term.kind for term in lead}
        if len(lead) != 1 or any(term.coefficient < 0 for term in terms if term.kind in kinds) or lead[0].symbols:
            raise OutOfReachError("a function of a difference")
    if not lead:
        raise OutOfReachError("a function of 0")
    by_kind = {term.kind: term for term in terms}
    return tuple(by_kind[term.kind] for term in lead)


def _make_representative_terms(terms: Terms) -> Terms:
    """Return the leading terms, which stand for a function of the same growth, and so are not exact."""
    return tuple(replace(term, exact=False) for term in find_leading_terms(terms))


_UNIT = GrowthTerm(fmpq(1))
MAX_BRANCHES = 32
MAX_WEIGHTED_CALLS = 64


@record
class CallArgument:
    """The size of a call: n^root if root is not 1, else ratio*n + offset.

    If it is n less a term of smaller order than n that is not a constant, as n - sqrt(n), `less` is that term. Next to
    a part of n or a root, terms of smaller order and roundings do not change the growth: `rough` says that there are,
    and `rounded` that the size is rounded but exact where it is a whole number.
    """

    ratio: fmpq
    offset: fmpq = fmpq(0)
    root: fmpq = fmpq(1)
    less: GrowthTerm | None = None
    rough: bool = False
    rounded: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the size is a multiple of n."""
        return not (self.is_root or self.is_constant or self.offset or self.rough or self.rounded or self.less)

    @property
    def is_constant(self) -> bool:
        """Whether the size is a number."""
        return self.ratio == 0

    @property
    def is_step(self) -> bool:
        """Whether the size is n + c for a constant c other than 0."""
        return self.root == 1 and self.ratio == 1 and self.offset != 0 and self.less is None

    @property
    def is_same(self) -> bool:
        """Whether the size is n itself."""
        return self.root == 1 and self.ratio == 1 and self.offset == 0 and self.less is None

    @property
    def is_root(self) -> bool:
        """Whether the size is a power of n other than n itself, such as a root."""
        return self.root != 1

    @property
    def is_split(self) -> bool:
        """Whether the size is a multiple of n, perhaps with an added constant."""
        return self.root == 1 and self.ratio not in (0, 1)


@record
class WeightedCall:
    """A call of a function, multiplied by a weight (the number of such calls).

    `factor` is an irrational factor of the weight, and `tail` are its terms of smaller order.
    """

    function: str
    weight: GrowthTerm
    argument: CallArgument
    factor: Constant = ONE_CONSTANT
    tail: tuple[GrowthTerm, ...] = ()

    @property
    def number(self) -> Constant:
        """The coefficient of the weight."""
        return self.factor.scaled(self.weight.coefficient)


@record
class CallSum:
    """A sum of weighted calls and of terms: one branch of a definition."""

    calls: tuple[WeightedCall, ...]
    terms: tuple[GrowthTerm, ...]


Branches = tuple[CallSum, ...]


@record
class Alternative:
    """A sum in a maximum: calls, each with its factor (None for 1), and summands without calls."""

    calls: tuple[tuple[s.Expr | None, s.Call], ...]
    amounts: tuple[s.Expr, ...]

    def add(self, other: Alternative) -> Alternative:
        """Return the sum of two alternatives."""
        return Alternative(self.calls + other.calls, self.amounts + other.amounts)

    def scale(self, op: str, factor: s.Expr) -> Alternative:
        """Return the alternative multiplied (`op` is `*`) or divided (`/`) by a factor."""

        def scale(part: s.Expr | None) -> s.Expr:
            if part is None:
                return factor if op == "*" else build.binary(op, build.ONE, factor)
            return build.binary(op, *((factor, part) if op == "*" else (part, factor)))

        return Alternative(tuple((scale(weight), call) for weight, call in self.calls), tuple(map(scale, self.amounts)))


def read_alternatives(expr: s.Expr, functions: frozenset[str], *, amounts: bool = False) -> tuple[Alternative, ...]:
    """Return the alternatives whose maximum an expression is: maxima that contain calls are split.

    With `amounts` maxima without calls are split too. Raises OutOfReachError if the recurrence is not linear.
    """

    def is_recursive(part: s.Expr) -> bool:
        return any(isinstance(node, s.Call) and node.function in functions for node in s.iterate_nodes(part))

    def read(part: s.Expr) -> tuple[Alternative, ...]:
        match part:
            case s.Call(function="max", arguments=arguments) if amounts or is_recursive(part):
                return _check_branch_count(
                    tuple(alternative for argument in arguments for alternative in read(argument))
                )
            case _ if not is_recursive(part):
                return (Alternative((), (part,)),)
            case s.Binary(op="+", left=left, right=right):
                return _check_branch_count(tuple(a.add(b) for a in read(left) for b in read(right)))
            case s.Binary(op="-", left=left, right=right) if not is_recursive(right):
                negated = Alternative((), (s.Unary("-", right, span=right.span),))
                return tuple(alternative.add(negated) for alternative in read(left))
            case s.Binary(op="-") | s.Unary(op="-"):
                raise OutOfReachError("a recursive call is subtracted")
            case s.Binary(op="*", left=left, right=right):
                if is_recursive(left) and is_recursive(right):
                    raise OutOfReachError("a product of recursive calls: the recurrence is not linear")
                weight, calls = (right, left) if is_recursive(left) else (left, right)
                return tuple(alternative.scale("*", weight) for alternative in read(calls))
            case s.Binary(op="/", left=left, right=right) if not is_recursive(right):
                return tuple(alternative.scale("/", right) for alternative in read(left))
            case s.Call(function=function) if function in functions:
                return (Alternative(((None, part),), ()),)
            case _:
                raise OutOfReachError(f"`{format_expression(part)}`: the recurrence is not linear")

    return read(expr)


def read_branches(definition: RealDefinition, bases: Mapping[str, InitialValues]) -> Branches:
    """Return the sums whose maximum a definition is; `bases` are those of all functions. Raises OutOfReachError.

    A call at a number is the base value there.
    """
    ((case,), (size,)) = (definition.cases, definition.parameters)
    read = TermReader(size).read

    def build_sum(alternative: Alternative) -> CallSum:
        calls: list[WeightedCall] = []
        terms = [term for x in alternative.amounts for term in read(x)]
        for weight, call in alternative.calls:
            argument = read_argument(call.arguments[0], size)
            factor, weights = (ONE_CONSTANT, (GrowthTerm(fmpq(1)),)) if weight is None else _read_weight(weight, size)
            if argument.is_constant:
                terms += multiply_terms(weights, bases[call.function].find_value(call.function, argument.offset))
            else:
                calls += [WeightedCall(call.function, term, argument, factor) for term in weights]
        return CallSum(merge_calls(tuple(calls)), collect_terms(terms))

    return tuple(map(build_sum, read_alternatives(case.value, frozenset(bases), amounts=True)))


def _read_weight(expr: s.Expr, size: str) -> tuple[Constant, Terms]:
    """Convert a number of calls to an irrational factor and terms, of an infinite sum the first ones."""
    products = expand(expr)
    if len(products) == 1:
        ((product, coefficient),) = products.items()
        if not coefficient.is_rational:
            rest = build.divide_products([build.power(x.expr, power.tree) for x, power in product.powers.items()], [])
            return coefficient, TermReader(size).read(rest)
    return ONE_CONSTANT, TermReader(size, at_infinity=True).read(expr)


def read_argument(expr: s.Expr, size: str) -> CallArgument:
    """Convert the size of a call to an argument, where `size` is n. Raises OutOfReachError."""
    smooth = rewrite_parts(expr, _remove_rounding)
    rounded = not has_same_structure(smooth, expr)
    terms = sort_by_growth(TermReader(size).read(smooth))
    if not terms:
        return CallArgument(fmpq(0))
    lead, *rest = terms
    if all(term.exact and not term.symbols and not term.steep for term in terms) and lead.coefficient > 0:
        offset = sum((term.coefficient for term in terms if not term.depends_on_size), fmpq(0))
        varying = [term for term in rest if term.depends_on_size]
        if not lead.depends_on_size:
            return CallArgument(fmpq(0), lead.coefficient)
        if lead.powers == make_powers(0) and lead.coefficient != 1 and all(map(_is_small_change, varying)):
            exactly = not varying and (not rounded or ((1 / lead.coefficient).q == 1 and offset == 0))
            return CallArgument(lead.coefficient, offset, rough=not exactly, rounded=rounded)
        if lead.powers == make_powers(0) and lead.coefficient == 1:
            if not varying and (not rounded or offset.q == 1):
                return CallArgument(fmpq(1), offset)
            if varying and varying[0].coefficient < 0 and compare_growth(varying[0], _UNIT) > 0:
                return CallArgument(fmpq(1), less=replace(varying[0], coefficient=-varying[0].coefficient))
        power = lead.power.rational if len(lead.powers) == 1 and lead.power.is_rational else fmpq(0)
        if lead.coefficient == 1 and (0 < power < 1 or (power > 1 and not rest)):
            return CallArgument(fmpq(1), root=lead.power.rational, rough=bool(rest) or rounded)
    kinds = f"neither a part of {size}, a root, nor {size} less a term of smaller order"
    raise OutOfReachError(f"the size {format_expression(expr)} has an unsupported form: {kinds}")


def _remove_rounding(expr: s.Expr) -> s.Expr | None:
    match expr:
        case s.Call(function="floor" | "ceil", arguments=(inner,)):
            return rewrite_parts(inner, _remove_rounding)
        case s.Binary(op="//", left=left, right=right):
            return build.binary("/", rewrite_parts(left, _remove_rounding), rewrite_parts(right, _remove_rounding))
        case _:
            return None


def _is_small_change(term: GrowthTerm) -> bool:
    """Test whether the term is O(n/log2(n)^c) for some c > 1, as Leighton's form of Akra and Bazzi's theorem needs."""
    excess = (term.power - ONE_CONSTANT).sign()
    return excess < 0 or (not excess and (term.get_power(1) + ONE_CONSTANT).sign() < 0)


T = TypeVar("T")


def _check_branch_count(branches: tuple[T, ...]) -> tuple[T, ...]:
    if len(branches) > MAX_BRANCHES:
        raise OutOfReachError("its maxima have too many alternatives")
    return branches


def merge_calls(calls: tuple[WeightedCall, ...]) -> tuple[WeightedCall, ...]:
    """Add up the weights of calls of the same function at the same size. Raises OutOfReachError."""
    if len(calls) > MAX_WEIGHTED_CALLS:
        raise OutOfReachError("it has too many recursive calls")
    groups: dict[tuple[str, CallArgument, Constant], list[GrowthTerm]] = {}
    for call in calls:
        groups.setdefault((call.function, call.argument, call.factor), []).extend((call.weight, *call.tail))
    merged: list[WeightedCall] = []
    for (function, argument, factor), weights in groups.items():
        collected = sort_by_growth(collect_terms(weights))
        if any(term.symbols for term in collected):
            merged += [WeightedCall(function, weight, argument, factor) for weight in collected]
        elif collected:
            merged.append(WeightedCall(function, collected[0], argument, factor, tuple(collected[1:])))
    return tuple(merged)


def read_base_size(expr: s.Expr) -> fmpq:
    """Return the size of a base value. Raises OutOfReachError if it is not a rational number."""
    value = evaluate_constant(expr)
    if value is None or not value.is_rational:
        raise OutOfReachError("a base value at a size that is not a rational number")
    return value.rational


def check_nonnegative_terms(branches: tuple[CallSum, ...], least: fmpq) -> None:
    """Raise OutOfReachError unless the cost outside the calls is at least 0 from the size `least` on."""
    for branch in branches:
        if not is_nonnegative_from(branch.terms, least):
            raise OutOfReachError("the terms without calls may be negative")


@record
class InitialValues:
    """Base values up to thresholds, the smallest threshold first; `growing`: the terms that they contribute to growth.

    If there are several values and one is 0, they contribute nothing. `positive`: whether one is not 0.
    """

    values: tuple[tuple[fmpq, tuple[GrowthTerm, ...]], ...]
    growing: tuple[GrowthTerm, ...]
    positive: bool

    @property
    def threshold(self) -> fmpq:
        """The largest size with a base value."""
        return self.values[-1][0]

    def find_value(self, name: str, size: fmpq) -> tuple[GrowthTerm, ...]:
        """Return the value of the function `name` at a size. Raises OutOfReachError above all base values."""
        for threshold, terms in self.values:
            if size <= threshold:
                return terms
        raise OutOfReachError(f"a call at {size}: give a base value, as in {name}({size}) = 1")


def read_initial_values(definition: RealDefinition, functions: frozenset[str]) -> InitialValues:
    """Return the base values of a function of one size. Raises OutOfReachError if one may be negative."""
    size = definition.parameters[0]
    values = [(read_base_size(base.arguments[0]), TermReader(size).read(base.value)) for base in definition.bases]
    if not values:
        values = [(fmpq(choose_default_base(definition, functions)), (GrowthTerm(fmpq(1)),))]
    values.sort(key=lambda pair: pair[0])
    for _, terms in values:
        if any(term.coefficient < 0 for term in terms):
            raise OutOfReachError("a base value may be negative")
    if len(values) == 1:
        return InitialValues(tuple(values), values[0][1], bool(values[0][1]))
    if any(term.symbols for _, terms in values for term in terms):
        raise OutOfReachError("several base values with symbols")
    growing = (GrowthTerm(fmpq(1)),) if all(terms for _, terms in values) else ()
    return InitialValues(tuple(values), growing, any(terms for _, terms in values))


BranchesByFunction = Mapping[str, Branches]


def find_callees(branches: Branches) -> frozenset[str]:
    """Return the names of the functions that the branches call."""
    return frozenset(call.function for branch in branches for call in branch.calls)


def find_recursive_components(system: BranchesByFunction, asked: str) -> list[frozenset[str]]:
    """Return the groups of mutually recursive functions that `asked` calls, directly or not, callees first."""
    return [
        frozenset(group) for group in call_graph.find_components(lambda name: sorted(find_callees(system[name])), asked)
    ]


def inline_functions(system: BranchesByFunction, group: frozenset[str], target: str) -> dict[str, Branches]:
    """Inline functions of a group other than `target` into the rest until all remaining ones call themselves."""
    remaining = {name: system[name] for name in sorted(group)}
    while True:
        name = next((f for f in remaining if f != target and f not in find_callees(remaining[f])), None)
        if name is None:
            return remaining
        body = remaining.pop(name)
        remaining = {f: _inline_calls(branches, name, body) for f, branches in remaining.items()}


def _inline_calls(branches: Branches, name: str, body: Branches) -> Branches:
    """Return the branches with every call of `name` replaced by its body."""
    inlined: list[CallSum] = []
    for branch in branches:
        rest = tuple(call for call in branch.calls if call.function != name)
        expanded = [CallSum(rest, branch.terms)]
        for call in branch.calls:
            if call.function == name:
                expanded = [_inline_call(partial, call, part) for partial in expanded for part in body]
        inlined.extend(expanded)
    return _check_branch_count(tuple(inlined))


def _inline_call(branch: CallSum, call: WeightedCall, body: CallSum) -> CallSum:
    if call.factor != ONE_CONSTANT or any(inner.factor != ONE_CONSTANT for inner in body.calls):
        raise OutOfReachError("functions that call each other with irrational weights")
    calls = tuple(
        WeightedCall(inner.function, weight, compose_arguments(call.argument, inner.argument))
        for inner in body.calls
        for part in (inner.weight, *inner.tail)
        for moved in _substitute_weight(part, call.argument)
        for weight in multiply_terms((call.weight, *call.tail), (moved,))
    )
    terms = [
        term
        for added in body.terms
        for term in (
            _substitute_step(added, call.argument)
            if _is_power_at_step(added, call.argument)
            else (_substitute_argument(added, call.argument),)
        )
    ]
    return CallSum(
        merge_calls(branch.calls + calls),
        collect_terms((*branch.terms, *multiply_terms((call.weight, *call.tail), collect_terms(terms)))),
    )


def compose_arguments(outer: CallArgument, inner: CallArgument) -> CallArgument:
    """Return the size inner(outer(n)) of a call made at the size `outer`. Raises OutOfReachError."""
    if outer.is_same or inner.is_same:
        return inner if outer.is_same else outer
    if outer.less or inner.less:
        raise OutOfReachError("functions that call each other at sizes less a term that varies")
    if outer.is_root and inner.is_root:
        return CallArgument(fmpq(1), root=outer.root * inner.root)
    if outer.is_root or inner.is_root:
        raise OutOfReachError("functions that call each other at roots and at parts of the size")
    return CallArgument(outer.ratio * inner.ratio, inner.ratio * outer.offset + inner.offset)


def _substitute_weight(weight: GrowthTerm, argument: CallArgument) -> Terms:
    if not weight.depends_on_size or argument.is_same:
        return (weight,)
    if argument.is_root and len(weight.powers) == 1:
        return (weight.with_powers((weight.power.scaled(argument.root),)),)
    if not _is_power_at_step(weight, argument):
        raise OutOfReachError("functions that call each other with weights that vary")
    return _substitute_step(weight, argument)


def _is_power_at_step(term: GrowthTerm, argument: CallArgument) -> bool:
    return argument.is_step and not term.steep and len(term.powers) == 1 and term.power.is_rational


def _substitute_step(term: GrowthTerm, argument: CallArgument) -> Terms:
    """Return a power of the size at the size plus a constant; of an infinite sum the first terms."""
    moved = (GrowthTerm(fmpq(1), make_powers(0)), GrowthTerm(argument.offset))
    powers = TermReader("", at_infinity=True).raise_to_power(moved, term.power.rational)
    return multiply_terms((term.with_powers(()),), powers)


def substitute_argument(terms: Iterable[GrowthTerm], argument: CallArgument) -> tuple[GrowthTerm, ...]:
    """Return the terms at another size, exactly or else with the same growth. Raises OutOfReachError."""
    return collect_terms(_substitute_argument(term, argument) for term in terms)


def _substitute_argument(term: GrowthTerm, argument: CallArgument) -> GrowthTerm:
    if argument.is_same or not term.depends_on_size:
        return term
    if term.steep:
        if not argument.is_step or argument.offset.q != 1:
            raise OutOfReachError("an exponential in functions that call each other at parts of sizes")
        term = term.with_powers(add_powers(term.powers, (term.steep[0].scaled(argument.offset),)), term.steep)
    plain = len(term.powers) == 1 and term.power.is_rational
    if plain and argument.is_split and argument.offset == 0 and term.power.rational.q == 1:
        return replace(term, coefficient=term.coefficient * argument.ratio ** int(term.power.rational.p))
    if term.coefficient < 0:
        raise OutOfReachError("the terms without calls may be negative")
    if argument.is_root:
        term = term.with_powers((term.power.scaled(argument.root), *term.powers[1:]))
    return replace(term, exact=False)


def build_call_matrix(system: BranchesByFunction) -> tuple[list[list[fmpq]], fmpq]:
    """Return the matrix of the numbers of calls, by caller and callee, and their share of the size.

    Raises OutOfReachError if the calls are at different shares or their numbers vary.
    """
    names = list(system)
    shares = {call.argument for branches in system.values() for branch in branches for call in branch.calls}
    if any(len(branches) > 1 for branches in system.values()):
        raise OutOfReachError("functions that call each other, with a maximum")
    share = next(iter(shares))
    if len(shares) > 1 or not share.is_split or share.offset != 0 or share.ratio >= 1:
        raise OutOfReachError("functions that call each other and themselves at different shares of the size")
    matrix = [[fmpq(0)] * len(names) for _ in names]
    for row, name in enumerate(names):
        for call in system[name][0].calls:
            if not call.number.is_rational or call.tail or call.weight.kind != _UNIT.kind or not call.weight.exact:
                raise OutOfReachError("functions that call each other with weights that vary")
            matrix[row][names.index(call.function)] += call.weight.coefficient
    return matrix, share.ratio
