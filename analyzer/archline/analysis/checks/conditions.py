"""Collect the conditions under which a program has a run: each is proved for all sizes, or becomes an assumption.

A condition is proved if the loops, guards, facts and shapes around it imply it. Other conditions are expressed in the
sizes of the algorithm, by the extremes of subscripts over loops and coordinates; those without such a form are
described by their lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import lcm
from typing import Any

from archline.algebra import atoms as a
from archline.algebra.disjunctions import Knowledge
from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.expand import write_quotients_as_fractions
from archline.algebra.facts import Facts
from archline.algebra.maximise import max_over
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.printing import to_tree
from archline.algebra.prove.prover import prove_never_negative
from archline.algebra.sums.summation import UnresolvedError
from archline.analysis.checks.follower import Environment, Explanation, StatementFollower
from archline.expr import build as b
from archline.expr.text import (
    Formula,
    format_conjunction,
    format_expression,
    format_fact,
    join_phrases,
    split_into_pieces,
)
from archline.expr.tree import find_divisions
from archline.ir.conditions import NEGATED_OPERATORS, assume_facts, equivalent_constraints, negate_condition
from archline.ir.conditions import comparison_constraints as differences
from archline.ir.declarations import declared_scope
from archline.ir.ranges import bound_integer, is_nonnegative_distance
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.language import conditions as rules
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component
from archline.language.diagnostics import Rule
from archline.language.model import Module
from archline.language.substitution import express_facts_in_sizes
from archline.records import record

MAX_TERM_PRODUCTS = 200_000
MAX_MODULES = 64
MAX_FORM_LENGTH, MAX_RECURSIVE_FORMS = 90, 3
CONDITION_TEXTS = {
    rules.OUT_OF_BOUNDS: "subscripts lie inside their arrays",
    rules.SLICE_OUT_OF_BOUNDS: "subscripts lie inside their arrays",
    rules.NOT_EXACT: "divisions, logarithms and roots of sizes are integers",
}
SIZE_CONDITION_TEXT = "calls and arrays have valid sizes"
DATA_CONDITION_TEXT = "subscripts from data lie inside their arrays"


@record
class Assumption:
    """An unproved condition on the sizes of an `algorithm`; its `kind` states the requirement on its `parts`.

    "least": the part is at least 0; "equal": the part is 0; "divides": the first part divides the second; "power" and
    "square": the part is a power of 2, or a square; "other": a condition without parts, which `text` describes. It is
    required only where all of `when` are at least 0; of a `recursive` algorithm, at each of its calls. `general` is the
    text for a group of conditions; `order` is the order of sizes in formulas.
    """

    algorithm: str
    general: str
    node: s.Node = field(compare=False)
    text: str = field(default="", compare=False)
    kind: str = "other"
    parts: tuple[Poly, ...] = ()
    when: tuple[Poly, ...] = ()
    recursive: bool = False
    order: tuple[str, ...] = field(default=(), compare=False)

    @property
    def fact(self) -> s.Fact | None:
        """The condition as a fact, without `when`; None for the kind "other"."""
        if self.kind == "other":
            return None
        kind, parts = self.kind, self.parts
        for floor in parts[0].atoms() if kind == "least" else ():
            if isinstance(floor, a.Floor):
                below = floor.modulus * Poly.of_atom(floor) - floor.argument
                if parts[0] == below or parts[0] == 1 - floor.modulus - below:
                    more = ZERO if parts[0] == below else ONE
                    kind, parts = "divides", (floor.modulus, floor.argument + more)
        whole = lcm(*(int(number.q) for part in parts for number in part.terms.values()))
        first, *others = (part.scaled(whole) for part in parts)
        match kind:
            case "least":
                return _nonnegativity_relation(first, self.order)
            case "equal":
                more = first.positive_terms()
                return b.binary("==", to_tree(more, self.order), to_tree(more - first, self.order))
            case "divides":
                return s.Divides(to_tree(first, self.order), to_tree(others[0], self.order), span=b.DERIVED)
            case "power":
                return s.IsPower(to_tree(first, self.order), b.number(2), span=b.DERIVED)
            case _:
                return s.IsSquare(to_tree(first, self.order), span=b.DERIVED)

    @property
    def condition_text(self) -> str:
        """The condition as reports show it; empty if it has no form, or one that is too long."""
        fact = self.fact
        if fact is None:
            return ""
        where = format_conjunction(_nonnegativity_relation(value, self.order) for value in self.when)
        shown = join_phrases(Formula(fact), " where ", where) if where else Formula(fact)
        shown = join_phrases(shown, f" at each call of `{self.algorithm}`") if self.recursive else shown
        return shown if len(shown) <= MAX_FORM_LENGTH else ""


def describe_assumptions(found: Sequence[Assumption], algorithm: str) -> tuple[str, ...]:
    """Describe the assumptions of an algorithm for reports; those without a form are grouped, with their lines."""
    forms: dict[str, None] = {}
    grouped: dict[tuple[str, str], list[Assumption]] = {}
    many = sum(bool(assumption.condition_text) and assumption.recursive for assumption in found) > MAX_RECURSIVE_FORMS
    for assumption in found:
        if assumption.condition_text and not (many and assumption.recursive):
            itself = assumption.recursive and assumption.algorithm == algorithm
            forms.setdefault(
                join_phrases(*split_into_pieces(assumption.condition_text)[:-1], " at each call")
                if itself
                else assumption.condition_text
            )
        else:
            grouped.setdefault((assumption.general, assumption.algorithm), []).append(assumption)
    for (general, name), group in grouped.items():
        lines = sorted({assumption.node.span.line for assumption in group})
        text = group[0].text if len(lines) == 1 and group[0].text else general
        place = f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"
        forms.setdefault(f"{text} ({place})" if name == algorithm else f"{text} ({place} of `{name}`)")
    return tuple(forms)


def _nonnegativity_relation(value: Poly, order: tuple[str, ...]) -> s.Expr:
    """Build the relation that states that a value is nonnegative: `n <= m` for m - n, `n != m` for |m - n| - 1."""
    for atom in value.atoms():
        if isinstance(atom, a.PositivePart) and value == Poly.of_atom(atom).scaled(2) - atom.argument - 1:
            positive = atom.argument.positive_terms()
            return b.binary("!=", to_tree(positive, order), to_tree(positive - atom.argument, order))
    more = value.positive_terms()
    less = more - value
    rest = less.constant_term
    if not less - rest:
        op, left, right = ">=", more - more.constant_term, less - more.constant_term
    elif rest == 1 and more and a.is_integral(value):
        op, left, right = "<", less - 1, more
    else:
        op, left, right = "<=", less, more
    return b.binary(op, to_tree(left, order), to_tree(right, order))


@lru_cache(maxsize=MAX_MODULES * 8)
def find_assumptions(module: Module, algorithm: s.Algorithm) -> tuple[Assumption, ...]:
    """List the unproved conditions of an algorithm's runs, in addition to its `where`, without duplicates."""
    collector = _ConditionCollector(module, algorithm)
    try:
        with limit_effort(MAX_TERM_PRODUCTS):
            collector.collect_unproved()
    except (TooComplexError, RecursionError):
        collector.left.append(Assumption(algorithm.name, CONDITION_TEXTS[rules.OUT_OF_BOUNDS], algorithm))
    return tuple({(entry, entry.node if entry.kind == "other" else None): entry for entry in collector.left}.values())


@dataclass(eq=False)
class _FactBlock(Environment):
    """The names and facts of a block.

    `loops` are the loop variables around it, each with its first and last value and the facts of that loop. All of
    `known` are nonnegative by guards; all of `whole` are quotients that are integers, as divisions are exact.
    """

    algorithm: s.Algorithm
    scope: Scope
    extents: dict[str, tuple[Any, ...]]
    axes: dict[str, Any] = field(default_factory=dict)
    loops: tuple[tuple[str, Poly, Poly, Facts], ...] = ()
    known: tuple[Poly, ...] = ()
    whole: tuple[Poly, ...] = ()

    def define(self, name: str, value: Any) -> None:
        self.scope = self.scope.without_value(name) if value is None else self.scope.with_value(name, value)
        self.extents.pop(name, None)

    def proves(self, value: Poly) -> bool:
        """Test whether a value is proved nonnegative in the block."""
        facts = self.scope.facts
        return (
            prove_never_negative(value, facts)
            or is_nonnegative_distance(a.as_gaps(value), facts)
            or any(prove_never_negative(form, facts) for form in _implying_values(facts.simplify(value), self))
        )

    def learn(self, fact: s.Fact) -> None:
        self.scope = assume_facts(self.scope, fact)
        if isinstance(fact, s.Divides):
            divisor, value = _evaluate_if_static(fact.divisor, self.scope), _evaluate_if_static(fact.value, self.scope)
            if divisor and value is not None:
                self.assume_exact_division(divisor, value)

    def assume_exact_division(self, divisor: Poly, value: Poly) -> None:
        """Assume in the block that a division of `value` is exact."""
        self.whole = (*self.whole, write_quotients_as_fractions(a.exact_quotient(value, divisor)))
        if self.scope.facts.positive(value):
            self.scope = self.scope.with_facts(self.scope.facts.with_nonnegative(value - divisor))

    def proves_integral(self, value: Poly) -> bool:
        """Test whether a value is proved an integer in the block."""
        facts, known = self.scope.facts, [whole for whole in self.whole if len(whole.terms) == 1]
        terms = (Poly({monomial: number}) for monomial, number in value.terms.items())
        return all(facts.integral(term) or any(facts.integral(term * whole**-1) for whole in known) for term in terms)


class _ConditionCollector(StatementFollower[_FactBlock]):
    """Follows all runs of an algorithm together and collects in `left` the conditions that are not proved.

    Runs depend on these: exact divisions, subscripts in bounds, the `where` of callees, and others.
    """

    def __init__(self, module: Module, algorithm: s.Algorithm) -> None:
        super().__init__(module)
        self.left: list[Assumption] = []
        self._algorithm = algorithm
        self._circle = find_recursive_component(module, algorithm)
        self._own = declared_scope(module, algorithm)
        self._sizes = frozenset(self._own.facts.bounds)
        self._stated = tuple(part for fact in algorithm.where for part in equivalent_constraints(fact, self._own) or ())
        self._order = (*module.signatures[algorithm].size_names, *module.signatures[algorithm].indices)

    def collect_unproved(self) -> None:
        """Follow the algorithm and add the conditions that are not proved to `left`."""
        place = _FactBlock(self._algorithm, self._own, {}, known=self._stated)
        place.scope = replace(self._own, reads_offsets=True)
        for fact in express_facts_in_sizes(self._algorithm):
            if isinstance(fact, s.Divides):
                place.learn(fact)
        self.begin(self._algorithm, place)
        for axis in self._algorithm.grid:
            extent = self.evaluate_integer(axis.extent, place)
            if extent is not None:
                place = self._with_counter(axis.name, axis.name, ZERO, extent - 1, place)
                place.axes = {**place.axes, axis.name: extent}
        self.follow_block(self._algorithm.body, place)

    # Values
    def evaluate_integer(self, expr: s.Expr, block: _FactBlock) -> Poly | None:
        for part in find_divisions(expr):
            self._require_exact(part, block)
        return _evaluate_if_static(expr, block.scope)

    def bound_subscript(self, expr: s.Expr, block: _FactBlock) -> tuple[Poly | None, Poly | None]:
        value = self.evaluate_integer(expr, block)
        if value is not None:
            return value, value
        return bound_integer(expr, block.scope) or (None, None)

    def _require_exact(self, expr: s.Binary | s.Call, block: _FactBlock) -> None:
        """Require that a quotient, logarithm or root is an integer, and that a divisor of `//` and `%` is positive."""
        of = (expr.right, expr.left) if isinstance(expr, s.Binary) else expr.arguments
        parts = [_evaluate_if_static(operand, block.scope) for operand in of]
        values = [part for part in parts if part is not None]
        if len(values) < len(parts):
            return
        match expr:
            case s.Binary(op="/"):
                kind = "divides"
            case s.Call(function="log2"):
                kind = "power"
            case s.Call():
                kind = "square"
            case _:
                # The divisor of `//` or `%` must be positive.
                kind, values = "least", [values[0] - 1]
        about = f"`{format_expression(expr)}` is an integer"
        self._add_assumption(kind, tuple(values), expr, block, rules.NOT_EXACT, about)
        if kind == "divides":
            # Later statements run only if the division is exact.
            block.assume_exact_division(*values)

    # Needs
    def require_nonnegative(
        self,
        rule: Rule,
        node: s.Node,
        values: Sequence[Any],
        block: _FactBlock,
        explanation: Explanation,
        hint: str = "",
    ) -> None:
        for value in values:
            if value is not None:
                least = value if isinstance(value, Poly) else Poly.constant(value)
                self._add_assumption("least", (least,), node, block, rule, explanation)
            elif rule in CONDITION_TEXTS:
                self.left.append(Assumption(block.algorithm.name, DATA_CONDITION_TEXT, node, DATA_CONDITION_TEXT))
            elif rule is rules.SIZE_TOO_SMALL:
                text = explanation()[0]
                self.left.append(Assumption(block.algorithm.name, text, node, text))

    def require_fact(self, fact: s.Fact, call: s.Call, callee: _FactBlock) -> None:
        about = f"`{format_fact(fact)}` holds in the call of `{callee.algorithm.name}`"
        match fact:
            case s.Binary(op="and", left=left, right=right):
                self.require_fact(left, call, callee)
                self.require_fact(right, call, callee)
                return
            case s.Binary(op=op, left=left, right=right) if op in NEGATED_OPERATORS and op != "!=":
                pair = _evaluate_if_static(left, callee.scope), _evaluate_if_static(right, callee.scope)
                if pair[0] is not None and pair[1] is not None:
                    for value in differences(op, pair[0] - pair[1]):
                        self._add_assumption("least", (value,), call, callee, rules.WHERE, about)
                return
            case s.Divides(divisor=first, value=second):
                kind, parts = "divides", [first, second]
            case s.IsSquare(value=value):
                kind, parts = "square", [value]
            case s.IsPower(value=value, base=s.Integer(value=2)):
                kind, parts = "power", [value]
            case _:
                return
        values = [_evaluate_if_static(part, callee.scope) for part in parts]
        forms = tuple(form for form in values if form is not None)
        if len(forms) == len(values):
            self._add_assumption(kind, forms, call, callee, rules.WHERE, about)

    def _add_assumption(
        self,
        kind: str,
        parts: tuple[Poly, ...],
        node: s.Node,
        block: _FactBlock,
        rule: Rule,
        explanation: Explanation | str,
    ) -> None:
        """Add a condition to `left` unless it is proved, in sizes of the algorithm if it has such a form.

        The condition is that the `parts` have a relation of the given `kind`.
        """
        if _is_proved(kind, parts, block):
            return
        above = (parts[0] - guard for guard in block.known if kind == "least")
        if any(rest.is_constant and rest.constant_term >= 0 for rest in above):
            return
        facts, restore = self._own.facts, self._own.facts.restore
        form = parts
        if kind == "least":
            value = self._minimise_over_loops(parts[0], block)
            if value is not None and prove_never_negative(value, facts):
                return
            form = ()
            # A form that no sizes satisfy is too strong, or the program has no runs: followed runs decide that.
            if value is not None and not prove_never_negative(-value - 1, facts):
                single = sum(isinstance(atom, a.Floor) for atom in value.atoms()) == 1
                form = (next(_implying_values(value, block), value) if single else value,)
        about = explanation if isinstance(explanation, str) else explanation()[0]
        entry = Assumption(self._algorithm.name, CONDITION_TEXTS.get(rule, SIZE_CONDITION_TEXT), node, about)
        if form and all(part.names <= self._sizes for part in form):
            guards = (guard for guard in block.known if guard.names <= self._sizes and guard not in self._stated)
            when = tuple(map(restore, guards))
            parts = tuple(map(restore, form))
            entry = replace(entry, kind=kind, parts=parts, when=when, order=self._order, recursive=bool(self._circle))
        self.left.append(entry)

    def _minimise_over_loops(self, value: Poly, block: _FactBlock) -> Poly | None:
        """Minimise a value over the loop variables; 0 if the minimum is proved nonnegative, None if it has no form."""
        for name, low, high, facts in reversed(block.loops):
            if name in value.names:
                try:
                    value = -max_over(-value, name, low, high + 1, facts)
                except (UnresolvedError, TooComplexError):
                    return None
                if block.proves(value):
                    return ZERO
        return write_quotients_as_fractions(value)

    # Statements
    def nested_block(self, block: _FactBlock) -> _FactBlock:
        return replace(block, extents=dict(block.extents))

    def enter_iterations(self, loop: s.Loop, lo: Any, hi: Any, step: Any, block: _FactBlock) -> Iterable[_FactBlock]:
        scope = block.scope
        lows = (lo, lo) if lo is not None else bound_integer(loop.lo, scope)
        highs = (hi, hi) if hi is not None else bound_integer(loop.hi, scope)
        if lows is None or highs is None or step is None:
            inner = self.nested_block(block)
            inner.define(loop.variable, None)
        elif loop.down:
            inner = self._with_counter(
                loop.variable, scope.facts.make_unused_name(loop.variable), highs[0], lows[1], block
            )
        else:
            inner = self._with_counter(
                loop.variable, scope.facts.make_unused_name(loop.variable), lows[0], highs[1] - 1, block
            )
            if step != 1 and not loop.scales and lo is not None and hi is not None:
                self._bind_stepping(loop.variable, lo, hi, step, inner)
        yield inner

    def _with_counter(self, variable: str, name: str, low: Poly, high: Poly, block: _FactBlock) -> _FactBlock:
        """Return the block in which a variable lies between `low` and `high`, where low <= high is a fact."""
        facts = block.scope.facts.with_nonnegative(high - low)
        scope = replace(block.scope, facts=facts.with_symbol(name, (low,), (high,)))
        loops = (*block.loops, (name, low, high, facts))
        inner = replace(block, scope=scope, extents=dict(block.extents), loops=loops)
        inner.define(variable, Poly.symbol(name))
        return inner

    def _bind_stepping(self, variable: str, lo: Poly, hi: Poly, step: Poly, inner: _FactBlock) -> None:
        """Bind a loop variable to lo + step*i, for i from 0 to ceil((hi - lo)/step) - 1."""
        name, _, _, facts = inner.loops[-1]
        if not facts.positive(step):
            return
        count = facts.simplify(a.ceil_div(hi - lo, step))
        inner.loops = (*inner.loops[:-1], (name, ZERO, count - 1, facts))
        with_number = facts.with_symbol(name, (ZERO,), (count - 1,))
        value = lo + step * Poly.symbol(name)
        inner.scope = replace(inner.scope, facts=with_number.with_nonnegative(hi - 1 - value))
        inner.define(variable, value)

    def split_block_by_condition(
        self, condition: s.Expr, block: _FactBlock
    ) -> tuple[_FactBlock | None, _FactBlock | None]:
        return self._restrict_block(condition, block), self._restrict_block(negate_condition(condition), block)

    def _restrict_block(self, condition: s.Expr, block: _FactBlock) -> _FactBlock | None:
        """Return the block in which a condition holds; None if it never holds."""
        inner = self.nested_block(block)
        values = equivalent_constraints(condition, block.scope) or ()
        inner.learn(condition)
        knowledge = Knowledge(inner.scope.facts).assume_disjunction([(*inner.known, *values)])
        if knowledge is None:
            return None
        inner.scope = inner.scope.with_facts(knowledge.facts)
        inner.known = (*inner.known, *(value for value in values if not value.is_constant))
        return inner

    def split(self, split: s.Split, block: _FactBlock) -> None:
        # A part of the grid has its own P and coordinates.
        inner = replace(block, extents=dict(block.extents), axes={})
        for name in ("P", split.axis, split.group):
            inner.define(name, None)
        super().split(split, inner)

    def assume(self, assume: s.Assume, block: _FactBlock) -> None:
        for fact in assume.facts:
            block.learn(fact)

    def handle_uncertain_blocks(self, bodies: Iterable[tuple[s.Stmt, ...]], block: _FactBlock) -> None:
        for body in bodies:
            self.follow_block(body, self.nested_block(block))

    # Calls
    def enter_callee(self, callee: s.Algorithm, values: dict[str, Any], block: _FactBlock) -> _FactBlock | None:
        if None in values.values():
            return None
        known = {name: Poly.constant(value) if isinstance(value, int) else value for name, value in values.items()}
        scope = replace(declared_scope(self.module, callee), facts=block.scope.facts, values=known)
        return replace(block, algorithm=callee, scope=scope, extents={})

    def follow_call(self, call: s.Call, callee: s.Algorithm, inner: _FactBlock, block: _FactBlock) -> None:
        if callee in self._circle:
            return
        for assumption in find_assumptions(self.module, callee):
            values, start = inner.scope.values, self.nested_block(inner)
            when = [part.substitute(values) for part in assumption.when]
            if assumption.kind == "other" or assumption.recursive:
                self.left.append(assumption)
                continue
            if any(prove_never_negative(-part - 1, start.scope.facts) for part in when):
                continue
            for part in when:
                start.scope = start.scope.with_facts(start.scope.facts.with_nonnegative(part))
            start.known = (*start.known, *when)
            parts = tuple(part.substitute(values) for part in assumption.parts)
            about = f"{assumption.condition_text or assumption.general} in the call of `{callee.name}`"
            self._add_assumption(assumption.kind, parts, call, start, rules.SHAPE, about)


def _evaluate_if_static(expr: s.Expr, scope: Scope) -> Poly | None:
    try:
        return write_quotients_as_fractions(scope.facts.simplify(static_value(expr, scope)))
    except (NotStaticError, TooComplexError):
        return None


@lru_cache(maxsize=4096)
def _is_proved(kind: str, parts: tuple[Poly, ...], block: _FactBlock) -> bool:
    facts = block.scope.facts
    match kind:
        case "least":
            return block.proves(parts[0])
        case "divides":
            return _is_divisible(parts, block)
        case "power":
            return facts.integral(a.log2(parts[0]))
        case _:
            return facts.integral(a.sqrt(parts[0]))


def _is_divisible(parts: tuple[Poly, ...], block: _FactBlock) -> bool:
    (divisor, value), facts = parts, block.scope.facts
    if not divisor:
        return False
    rest = facts.split_known_multiples(value, divisor)[1]
    if not rest or block.proves_integral(write_quotients_as_fractions(facts.simplify(a.exact_quotient(rest, divisor)))):
        return True
    return facts.positive(divisor) and block.proves(-a.modulo(rest, divisor))


def _implying_values(value: Poly, block: _FactBlock) -> Iterator[Poly]:
    """Yield values with fewer floors; if any is nonnegative, so is `value`.

    For integers r these are p*r + x for floor(x/p) + r, and p*r + p - 1 - x for r - floor(x/p), which are equivalent,
    and x - y + p*r for floor(x/p) - floor(y/p) + r, which is sufficient.
    """
    floors = [atom for atom in value.atoms() if isinstance(atom, a.Floor)]
    for first in floors:
        times = value.coefficients(first).get(1, ZERO)
        factor = times if block.scope.facts.nonnegative(times) else -times
        if len(factor.terms) != 1 or value.degree(first) != 1 or not block.scope.facts.nonnegative(factor):
            continue
        scaled = value * factor**-1
        rest, p, x = scaled - (times * factor**-1) * Poly.of_atom(first), first.modulus, first.argument
        if not block.proves_integral(rest):
            continue
        if factor != times:
            yield p * rest + p - 1 - x
            continue
        yield p * rest + x
        for second in floors:
            left = rest + Poly.of_atom(second)
            if second.modulus == p and second not in left.atoms():
                yield x - second.argument + p * left
