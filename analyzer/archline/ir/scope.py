"""What names mean at a place in an algorithm: sizes and indices as expressions, and the facts that hold there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce
from math import lcm

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, UNIT, ZERO, Atom, Poly
from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.checking.scopes import machine_symbols
from archline.language.model import Kind, Module
from archline.language.substitution import divisions_of_runs, facts_in_sizes, processors_of
from archline.records import field, record, replace


@record(eq=False)
class Scope:
    """Names with static values, arrays with what their declarations promise, and facts.

    `values` maps sizes, indices, loop variables and `let` integers to expressions; `below` gives the bound of index
    arrays; `segments` describes offsets arrays, whose entries count as values where `reads_offsets`. `settled` names
    the integers of the data that are symbols here because an `assume` bounds them. `fixed` are the symbols that have
    one value throughout the body, other than loop variables. Where `names_data`, every other integer of the data is a
    symbol too, by what it is written as: good for a difference of expressions that are evaluated at one time.
    `element` is what the elements of `any` arrays are, `on_grid` whether the algorithm has a grid of processors.
    """

    module: Module
    facts: Facts
    values: Mapping[str, Poly] = field(default_factory=dict)
    below: Mapping[str, Poly] = field(default_factory=dict)
    segments: Mapping[str, a.Segments] = field(default_factory=dict)
    reads_offsets: bool = False
    settled: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()
    names_data: bool = False
    element: Kind = Kind.REAL
    on_grid: bool = False

    def with_value(self, name: str, value: Poly) -> Scope:
        """Name a static value."""
        return replace(self, values={**self.values, name: value})

    def without_value(self, name: str) -> Scope:
        """The name is known only from the data."""
        return replace(self, values={other: value for other, value in self.values.items() if other != name})

    def with_facts(self, facts: Facts) -> Scope:
        """The same names under more facts."""
        return replace(self, facts=facts)


class NotStaticError(Exception):
    """The expression depends on the data, or is of a form that has no exact expression here."""

    def __init__(self, reason: str, expr: s.Expr) -> None:
        super().__init__(reason)
        self.reason = reason
        self.expr = expr


def static_value(expr: s.Expr, scope: Scope) -> Poly:
    """A size or index expression as a polynomial; raises NotStaticError."""
    match expr:
        case s.Integer(value=value):
            return Poly.constant(value)
        case s.Name(id=name):
            if name not in scope.values:
                if scope.names_data:
                    return data_symbol(expr)
                raise NotStaticError(f"`{name}` is known only from the data", expr)
            return scope.values[name]
        case s.Unary(op="-", operand=operand):
            return -static_value(operand, scope)
        case s.Binary(op=op, left=left, right=right):
            return _binary(op, left, right, expr, scope)
        case s.Call(function=function, arguments=arguments):
            return _call(function, arguments, expr, scope)
        case s.Element(array=array, subscripts=(place,)) if scope.reads_offsets and array in scope.segments:
            assert not isinstance(place, s.Slice)
            return a.offset(scope.segments[array], static_value(place, scope))
        case s.Element() if scope.names_data:
            return data_symbol(expr)
        case s.Real() | s.Unary() | s.Element() | s.Reshape():
            raise NotStaticError("it depends on the data", expr)


_DATA = "data "


def data_symbol(expr: s.Expr) -> Poly:
    """The symbol of an integer of the data; its name has a space, so that no size has it."""
    return Poly.symbol(_DATA + format_expression(expr))


def holds_data(value: Poly) -> bool:
    """Whether a value depends on an integer of the data."""
    return any(name.startswith(_DATA) for name in value.names)


def _binary(op: str, left: s.Expr, right: s.Expr, expr: s.Expr, scope: Scope) -> Poly:
    x, y = static_value(left, scope), static_value(right, scope)
    try:
        return _operation(op, x, y, expr, scope)
    except OutOfBudgetError:
        raise
    except TooComplexError as problem:
        raise NotStaticError(str(problem), expr) from None


def _operation(op: str, x: Poly, y: Poly, expr: s.Expr, scope: Scope) -> Poly:
    match op:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "/":
            exact = a.quotient(x, y)
            whole, rest = scope.facts.divided(x, y) if isinstance(a.single_atom(exact), a.Quotient) else (ZERO, x)
            return exact if rest else whole
        case "//" | "%":
            if not scope.facts.positive(y):
                raise NotStaticError("a division by an expression not known to be positive", expr)
            whole, rest = scope.facts.divided(x, y)
            return whole + a.floor_div(rest, y) if op == "//" else a.modulo(rest, y)
        case "^":
            return _power(x, y, expr, scope.facts)
        case _:
            raise NotStaticError(f"`{op}` is not arithmetic on sizes", expr)


def _power(base: Poly, exponent: Poly, expr: s.Expr, facts: Facts) -> Poly:
    if exponent.is_constant:
        power = exponent.constant_term
        if power.q == 1 and power >= 0:
            return base ** int(power.p)
        level = a.exponent_of_two(base)
        if level is not None:
            # Of a power of 8 the third root is a power of 2.
            return a.exponential(2, level.scaled(power))
    elif base.is_constant and base.constant_term > 0:
        above, below = (a.exponential(int(part), exponent) for part in (base.constant_term.p, base.constant_term.q))
        return above * below**-1
    match a.single_atom(exponent):
        case a.RealFunction(function="log2", argument=number) if number.is_constant and facts.positive(base):
            # n^log2(7) is 7^log2(n).
            return _power(number, a.log2(base), expr, facts)
        case _:
            pass
    raise NotStaticError("a power with a symbolic base and exponent", expr)


def _call(function: str, arguments: tuple[s.Expr, ...], expr: s.Expr, scope: Scope) -> Poly:
    facts = scope.facts
    if function in ("floor", "ceil"):
        rounded = _rounded(function, arguments, scope)
        if rounded is not None:
            return rounded
    match function, [static_value(argument, scope) for argument in arguments]:
        case "min", values:
            return reduce(facts.minimum, values)
        case "max", values:
            return reduce(facts.maximum, values)
        case "abs", [value]:
            return facts.positive_part(value).scaled(2) - value
        case "gcd", [one, other] if all(a.is_integral(each) and facts.positive(each) for each in (one, other)):
            return a.common_divisor(one, other)
        case "log2", [value]:
            return a.log2(value)
        case "sqrt", [value]:
            return _root(value, facts)
        case "floor" | "ceil", [value]:
            return value
        case _:
            raise NotStaticError(f"`{function}` of sizes has no exact expression", expr)


def _root(value: Poly, facts: Facts) -> Poly:
    """The square root; g of g^2 where g is never negative."""
    match list(value.terms.items()):
        case [(monomial, coefficient)] if monomial and all(power % 2 == 0 for _, power in monomial):
            root = Poly({tuple((atom, power // 2) for atom, power in monomial): UNIT}) * a.sqrt(
                Poly.constant(coefficient)
            )
            return root if facts.nonnegative(root) else a.sqrt(value)
        case _:
            return a.sqrt(value)


def _rounded(function: str, arguments: tuple[s.Expr, ...], scope: Scope) -> Poly | None:
    """Floor or ceil of a quotient of integers, or of log2 or sqrt of one."""
    match arguments:
        case (s.Binary(op="/", left=left, right=right) as inner,):
            top, bottom = static_value(left, scope), static_value(right, scope)
            if not scope.facts.positive(bottom):
                raise NotStaticError("a division by an expression not known to be positive", inner)
            return a.floor_div(top, bottom) if function == "floor" else a.ceil_div(top, bottom)
        case (s.Call(function="log2", arguments=(argument,)),):
            value = static_value(argument, scope)
            exact = a.log2(value)
            if exact.is_constant:
                return exact
            return a.ceil_log2(value) if function == "ceil" else a.ceil_log2(value + 1) - 1
        case (s.Call(function="sqrt", arguments=(argument,)),):
            value = static_value(argument, scope)
            exact = a.sqrt(value)
            if exact.is_constant:
                return exact
            return a.isqrt_of(value) if function == "floor" else a.isqrt_of(value - 1) + 1
        case _:
            return None


def floor_of_bound(value: Poly, facts: Facts) -> Poly:
    """floor(c + log2(e)) or floor(c + sqrt(e)) for integers c and e >= 1, the usual bounds of a `while`.

    Other values are bounded from above, term by term, where a log or root stands alone in its term.
    """
    for monomial, coefficient in value.terms.items():
        match monomial:
            case ((a.RealFunction(function=function, argument=argument) as atom, 1),) if coefficient == 1:
                rest = value - Poly.of_atom(atom)
                if function == "log2" and a.is_integral(rest) and facts.positive(argument):
                    return facts.simplify(a.ceil_log2(argument + 1) - 1 + rest)
                if function == "sqrt" and a.is_integral(rest) and facts.nonnegative(argument):
                    return rest + a.isqrt_of(argument)
            case _:
                pass
    return value.map_atoms(lambda atom: _rounded_up(atom, value))


def _rounded_up(atom: Atom, value: Poly) -> Poly | None:
    """The next integer above a log or root that stands alone in its term, or below where the term is subtracted."""
    terms = [(m, c) for m, c in value.terms.items() if any(each == atom for each, _ in m)]
    match atom, terms:
        case a.RealFunction(function="log2", argument=argument), [(((_, 1),), coefficient)]:
            return a.ceil_log2(argument) if coefficient > 0 else a.ceil_log2(argument + 1) - 1
        case a.RealFunction(function="sqrt", argument=argument), [(((_, 1),), coefficient)]:
            return a.isqrt_of(argument - 1) + 1 if coefficient > 0 else a.isqrt_of(argument)
        case _:
            return None


def has_function(value: Poly) -> bool:
    """Whether a logarithm or root occurs, which need not be an integer."""
    return any(isinstance(atom, a.RealFunction) and atom.function != "isqrt" for atom in value.atoms())


def behind(statement: s.Stmt, scope: Scope) -> Scope:
    """The scope behind a statement: a `let` names a value, an `assume` adds a fact."""
    match statement:
        case s.Let(name=name, value=value) if not scope.module.is_view(value):
            try:
                return scope.with_value(name, scope.facts.simplify(static_value(value, scope)))
            except NotStaticError:
                return scope.without_value(name)
        case s.Assume(facts=assumed):
            return scope.with_facts(with_all(scope.facts, assumed, scope))
        case s.Simple() | s.Loop() | s.While() | s.If() | s.Split():
            return scope


# Facts of a program
def with_all(facts: Facts, more: Iterable[s.Fact], scope: Scope) -> Facts:
    """Learn from several facts, in terms of one scope."""
    for fact in more:
        facts = with_fact(facts, fact, scope)
    return facts


def with_fact(facts: Facts, fact: s.Fact, scope: Scope) -> Facts:
    """Learn from a `where`, an `assume` or a condition that holds; what is of no use is left out."""
    match fact:
        case s.Unary(op="not", operand=operand):
            return without_condition(facts, operand, scope)
        case s.Binary(op="and", left=left, right=right):
            return with_fact(with_fact(facts, left, scope), right, scope)
        case s.Binary(op=op, left=left, right=right):
            try:
                difference = static_value(left, scope) - static_value(right, scope)
            except NotStaticError:
                return facts
            for value in never_negative(op, difference):
                facts = facts.with_nonnegative_in_any_order(value) if scope.on_grid else facts.with_nonnegative(value)
        case _:
            pass
    return facts


def never_negative(op: str, difference: Poly) -> tuple[Poly, ...]:
    """What is at least 0 where a difference compares with 0 as said."""
    match op:
        case ">=":
            return (difference,)
        case ">":
            return (difference - _resolution(difference),)
        case "<=":
            return (-difference,)
        case "<":
            return (-difference - _resolution(difference),)
        case "==":
            return difference, -difference
        case _:
            return ()


def _resolution(difference: Poly) -> Poly:
    """The least positive value: facts compare rationals, so that n/2 < m leaves half a unit, a root or log nothing."""
    denominator = lcm(*(int(coefficient.q) for coefficient in difference.terms.values()))
    return (ONE / denominator) if a.is_integral(difference.scaled(denominator)) else ZERO


OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">=", "!=": "==", "==": "!="}


def without_condition(facts: Facts, condition: s.Expr, scope: Scope) -> Facts:
    """Learn that a condition is false."""
    match condition:
        case s.Unary(op="not", operand=operand):
            return with_fact(facts, operand, scope)
        case s.Binary(op="or", left=left, right=right):
            return without_condition(without_condition(facts, left, scope), right, scope)
        case s.Binary(op=op, left=left, right=right) if op in OPPOSITE:
            return with_fact(facts, s.Binary(OPPOSITE[op], left, right, span=condition.span), scope)
        case _:
            return facts


# Declarations
def declared(module: Module, algorithm: s.Algorithm) -> Scope:
    """The scope at the start of an algorithm's body: its sizes, what its `where` says, its arrays' promises.

    What is proved there is found anew, so that no answer depends on what was asked before.
    """
    scope = _declared(module, algorithm)
    return scope.with_facts(scope.facts.unproved())


@lru_cache(maxsize=128)
def _declared(module: Module, algorithm: s.Algorithm) -> Scope:
    signature = module.signatures[algorithm]
    facts = Facts()
    values: dict[str, Poly] = {}
    for name in signature.size_names:
        facts = facts.with_symbol(name, (Poly.constant(signature.at_least[name]),))
        values[name] = Poly.symbol(name)
    for name in signature.indices:
        facts = facts.with_symbol(name)
        values[name] = Poly.symbol(name)
    # Z comes last: what is said of it is a bound of Z itself.
    own = _definitions(algorithm)
    for name in sorted(machine_symbols(signature), key=("P", "K", "L", "Z").index):
        facts = facts.with_symbol(name, (ONE,))
        if name not in own:
            values[name] = Poly.symbol(name)
    # On a grid P is a size like others.
    least = {**signature.at_least, "P": 1} if algorithm.grid else signature.at_least
    facts = _with_division(facts, (*algorithm.where, *divisions_of_runs(algorithm)), least)
    values = {name: value.substitute(facts.rewrites) for name, value in values.items()}
    scope = Scope(module, facts, values, fixed=frozenset(facts.bounds), on_grid=bool(algorithm.grid))
    processors = processors_of(algorithm)
    if processors is not None:
        scope = scope.with_value("P", static_value(processors, scope))
    for fact in facts_in_sizes(algorithm):
        scope = scope.with_facts(with_fact(scope.facts, fact, scope))
    return _with_arrays(scope, algorithm)


def _definitions(algorithm: s.Algorithm) -> frozenset[str]:
    """The names that an algorithm's parameters and statements define."""
    return s.set_names(algorithm.body).union(each.name for each in algorithm.parameters)


def _with_division(facts: Facts, where: tuple[s.Fact, ...], at_least: Mapping[str, int]) -> Facts:
    facts = _with_equalities(facts, where, at_least)
    for fact in where:
        match fact:
            case s.Divides(divisor=s.Name(id=divisor), value=s.Name(id=name)) if (
                divisor != name and divisor in facts.bounds and facts.nonnegative(Poly.symbol(divisor))
            ):
                by = Poly.symbol(divisor)
            case s.IsPower(value=s.Name(id=name), base=s.Integer(value=base)) if _is_power_of_two(base):
                if name in at_least and name not in facts.rewrites:
                    facts = facts.with_power_of_two(name, base.bit_length() - 1, 0 if at_least[name] <= 1 else 1)
                continue
            case s.Divides(divisor=s.Integer(value=number), value=s.Name(id=name)) if number > 1:
                by = Poly.constant(number)
            case s.Divides(divisor=s.Binary() as product, value=s.Name(id=name)) if (
                factors := _product(product, facts)
            ) is not None:
                by = factors
            case s.Divides(divisor=divisor, value=s.Binary() as product):
                facts = _with_whole(facts, product, divisor)
                continue
            case _:
                continue
        if name in facts.rewrites or name not in at_least or _reaches(facts, by, name):
            continue
        if by.substitute(facts.rewrites) == ONE:
            continue
        facts = facts.with_quotient(name, by, 1 if at_least[name] >= 1 else 0)
    return facts


def _with_whole(facts: Facts, product: s.Expr, divisor: s.Expr) -> Facts:
    """Know that c divides b*g: it need divide neither b nor g."""
    value, by = _product(product, facts), _product(divisor, facts)
    return facts if value is None or by is None else facts.with_whole(value, by)


def _with_equalities(facts: Facts, where: tuple[s.Fact, ...], at_least: Mapping[str, int]) -> Facts:
    """Put 1 for c where c == 1, c^2 for P where c^2 == P: a size that is a number or a product of others."""
    for fact in where:
        match fact:
            case s.Binary(op="==", left=left, right=right):
                pairs = [(left, right), (right, left)]
            case _:
                continue
        for one, other in pairs:
            value = Poly.constant(other.value) if isinstance(other, s.Integer) else _product(other, facts)
            if not isinstance(one, s.Name) or one.id not in at_least or value is None:
                continue
            value = value.substitute(facts.rewrites)
            if one.id in facts.rewrites or one.id in value.names or not facts.nonnegative(value - at_least[one.id]):
                continue
            facts = facts.with_value(one.id, value)
            break
    return facts


def _product(expr: s.Expr, facts: Facts) -> Poly | None:
    """A product of numbers and sizes that are positive, such as 2*b*g^2; None for other expressions."""
    match expr:
        case s.Name(id=name) if name in facts.bounds and facts.positive(Poly.symbol(name)):
            return Poly.symbol(name)
        case s.Integer(value=number) if number >= 1:
            return Poly.constant(number)
        case s.Binary(op="^", left=left, right=s.Integer(value=power)) if power >= 1:
            base = _product(left, facts)
            return None if base is None else base**power
        case s.Binary(op="*", left=left, right=right):
            one, other = _product(left, facts), _product(right, facts)
            return None if one is None or other is None else one * other
        case _:
            return None


def _is_power_of_two(number: int) -> bool:
    return number >= 2 and number.bit_count() == 1


def _reaches(facts: Facts, divisor: Poly, name: str) -> bool:
    """Whether the divisor is itself written in terms of the size: b divides n and n divides b."""
    return name in divisor.substitute(facts.rewrites).names


def _with_arrays(scope: Scope, algorithm: s.Algorithm) -> Scope:
    below: dict[str, Poly] = {}
    segments: dict[str, a.Segments] = {}
    for parameter in algorithm.parameters:
        try:
            match parameter.type:
                case s.IndexArrayType(below=bound):
                    below[parameter.name] = static_value(bound, scope)
                case s.OffsetsType(count=count, into=into, longest=longest):
                    bare = isinstance(longest, s.Name) and _binds_longest(scope.module, algorithm, longest.id)
                    segments[parameter.name] = a.Segments(
                        parameter.name,
                        static_value(count, scope),
                        static_value(into, scope),
                        None if longest is None else static_value(longest, scope),
                        bare,
                    )
                case s.SizeType() | s.IndexType() | s.ScalarType() | s.OperatorType() | s.ArrayType():
                    pass
        except NotStaticError:
            continue
    facts = scope.facts
    for known in segments.values():
        if known.longest is not None and known.attained:
            facts = facts.with_nonnegative(known.total - known.longest)
    return replace(scope, facts=facts, below=below, segments=segments)


def _binds_longest(module: Module, algorithm: s.Algorithm, name: str) -> bool:
    signature = module.signatures[algorithm]
    return any(binding.name == name and binding.by.name == "LONGEST" for binding in signature.sizes)
