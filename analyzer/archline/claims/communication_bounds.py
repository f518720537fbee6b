"""Derive lower bounds on the words and messages of any algorithm on a grid that solves a problem of
`bounds/communication.json`.

The bounds hold for the words that some processor receives, and so for the words of the critical path. All are
of the form

    words >= lead(P, M) - data/P

where data is the number of words of input and output, in one copy, M is the memory of a processor in words, and Q the
ratio of all operations to those of the busiest processor (P if all perform the same number). The proofs are in
docs/explanation/communication.md. With c cores per node, words between nodes are bounded by taking the P/c nodes,
with memory c*M each, as processors, and dividing by c.

A message has no more words than the memory of its sender, so there are at least words/M messages (equation (4)
of Demmel, Gearhart, Lipshitz and Schwartz, IPDPS 2013, with m = M).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import Any

from archline.claims.published import name_library_algorithm
from archline.expr import build as b
from archline.expr.intervals import EvaluationError, Interval, Point
from archline.expr.text import Formula, format_conjunction, format_expression
from archline.expr.tree import has_same_structure, substitute_in_fact, substitute_names
from archline.expr.values import bounds_of_value, evaluate
from archline.expr.values import evaluate_fact as fact_holds
from archline.growth.growths import make_order_formula
from archline.growth.normal_form import expand_with_equal_extrema, format_sum
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, has_recursion
from archline.language.diagnostics import Rule, error, suggest_closest
from archline.language.model import Module
from archline.language.parser import parse_expression, parse_facts
from archline.records import record
from archline.resources import find_resource

PROBLEM = Rule(
    "AL419",
    "unknown problem",
    "`--problem` names the problem that an algorithm on a grid solves, and gives its sizes in those of the algorithm: "
    "`matmul(n, m, p)`, `nbody(n, f)`, `fft(n)`, `strassen(n)`, `lu(n)`.",
)
Texts = Mapping[str, Any]


@record
class SolvedProblem:
    """A problem, with its sizes as expressions in those of the algorithm that solves it.

    `most` is the maximum number of operations of a processor; None if all processors perform the same number.
    """

    name: str
    problem: Texts
    sizes: Mapping[str, s.Expr]
    most: s.Expr | None = None
    by_user: bool = False

    @property
    def has_equal_sizes(self) -> bool:
        """Whether all sizes of the problem are the same expression; true if its bounds do not depend on their order."""
        sizes = list(self.sizes.values())
        return "let" not in self.problem or all(has_same_structure(sizes[0], size) for size in sizes)

    @property
    def operation_count(self) -> s.Expr:
        """The number of operations of the problem."""
        return substitute_names(parse_expression(self.problem["operations"]), self.sizes)

    def find_source(self, bound: Texts) -> str:
        """Return the publication that proves a bound of the data file."""
        return str(load_problem_tables()["sources"][bound["source"]])


@lru_cache(maxsize=1)
def load_problem_tables() -> Texts:
    """Load `sources`, `problems`, and `algorithms` with their problem from the data file."""
    tables: Texts = json.loads((find_resource("bounds") / "communication.json").read_text(encoding="utf-8"))
    return tables


def find_library_problem(algorithm: s.Algorithm) -> SolvedProblem | None:
    """Return the problem that a library algorithm solves; None for other algorithms."""
    entry = load_problem_tables()["algorithms"].get(name_library_algorithm(algorithm))
    if entry is None:
        return None
    most = entry.get("most")
    return _make_solved_problem(
        entry["problem"],
        [parse_expression(text) for text in entry["sizes"]],
        None if most is None else parse_expression(most),
    )


def parse_problem(text: str, sizes: Sequence[str]) -> SolvedProblem:
    """Parse a problem that a user names, as `matmul(n, n, n)`; `sizes` are those of the algorithm.

    Raises ArchlineError (AL419).
    """
    name, bracket, rest = text.strip().partition("(")
    problems = load_problem_tables()["problems"]
    name = name.strip()
    if name not in problems:
        hint = suggest_closest(name, problems) or f"the problems are {', '.join(problems)}"
        raise error(PROBLEM, f"unknown problem `{name[:40]}`", hint=hint)
    expected = problems[name]["sizes"]
    shape = f"{name}({', '.join(expected)})"
    if not bracket or not rest.rstrip().endswith(")"):
        raise error(PROBLEM, f"`{name}` needs its sizes", hint=f"write `{shape}` with sizes of the algorithm")
    # Parsed as one call, so that the parser finds the commas.
    inner = parse_expression(f"max({rest.rstrip()[:-1]})", "--problem") if rest.strip(" )") else None
    arguments = inner.arguments if isinstance(inner, s.Call) else ()
    if len(arguments) != len(expected):
        has = f"{len(expected)} size{'s' if len(expected) > 1 else ''}"
        raise error(PROBLEM, f"`{name}` has {has}, but {len(arguments)} are given", hint=f"`{shape}`")
    unknown = sorted(s.find_names(arguments) - {*sizes})
    if unknown:
        hint = suggest_closest(unknown[0], sizes) or f"its sizes are {', '.join(sizes)}"
        raise error(PROBLEM, f"the algorithm has no size `{unknown[0]}`", hint=hint)
    return _make_solved_problem(name, arguments, None, by_user=True)


def _make_solved_problem(
    name: str, sizes: Sequence[s.Expr], most: s.Expr | None, by_user: bool = False
) -> SolvedProblem:
    problem = load_problem_tables()["problems"][name]
    return SolvedProblem(name, problem, dict(zip(problem["sizes"], sizes, strict=True)), most, by_user)


Ends = tuple[Fraction, Fraction]
"""Lower and upper bound of a real number."""
MEMORY_SYMBOL = "words of memory"
"""The symbol of M in expressions; no size can have this name, which has blanks."""


@record(eq=False)
class LeadCase:
    """The leading term of a bound under the condition `when` on sizes and P, if no earlier case applies.

    `condition` and `bound` are to be printed: in the sorted sizes a >= b >= c, and in Q, if that is shorter.
    """

    when: tuple[s.Fact, ...]
    lead: s.Expr
    condition: str
    bound: Formula


@record(eq=False)
class LowerBound:
    """A lower bound on words: the leading term of the first case that holds, less `held`, a share of the data.

    Both are in sizes, P and the symbol of M. If only `growth` is known, `cases` is empty and `held` is None.
    """

    kind: str
    source: str
    theorem: str
    assumptions: tuple[str, ...]
    cases: tuple[LeadCase, ...] = ()
    held: s.Expr | None = None
    growth: Formula | None = None

    @property
    def needs_memory(self) -> bool:
        """Whether the bound depends on the memory of a processor."""
        return self.kind == "memory-dependent"

    def evaluate(self, point: Point) -> Ends | None:
        """Evaluate the bound at values of P, M and the sizes; None if only its growth is known.

        Raises EvaluationError.
        """
        if self.held is None:
            return None
        possible: list[Ends] = []
        for case in self.cases:
            decided = [fact_holds(fact, point) for fact in case.when]
            if False in decided:
                continue
            possible.append(_evaluate_ends(s.Binary("-", case.lead, self.held, span=case.lead.span), point))
            if None not in decided:
                break
        return min(low for low, _ in possible), max(high for _, high in possible)


@record(eq=False)
class CommunicationBounds:
    """The lower bounds on words for the problem that an algorithm solves.

    A processor has `registers` in addition to its arrays; None if their number is unknown because of recursion, and
    then bounds that depend on memory have no values. `letter` is the name of the memory in texts, M unless a size is.
    """

    algorithm: s.Algorithm
    solved: SolvedProblem
    bounds: tuple[LowerBound, ...]
    registers: int | None
    letter: str

    @property
    def title(self) -> str:
        """The computation that an algorithm must perform for the bounds to hold, as text."""
        return str(self.solved.problem["title"])

    @property
    def sizes(self) -> str:
        """The sizes of the problem in those of the algorithm, as text; empty if the names are the same."""
        texts = {name: format_expression(value) for name, value in self.solved.sizes.items()}
        return ", ".join(f"{name} = {text}" for name, text in texts.items() if name != text)

    def evaluate_bounds(self, point: Point, memory: Fraction | None) -> dict[str, Ends]:
        """Evaluate the bounds on words by kind, where possible; `memory` is the words of a processor's arrays.

        Bounds that depend on memory need it. If no value is positive, communication may be unnecessary.
        """
        values = self.with_processor_count(point)
        result: dict[str, Ends] = {}
        for bound in self.bounds:
            if "P" not in values or (bound.needs_memory and not self.bound_words_held_from_above(memory)):
                continue
            words = {} if memory is None else {MEMORY_SYMBOL: self.bound_words_held_from_above(memory)}
            try:
                value = bound.evaluate({**values, **words})
            except EvaluationError:
                continue
            if value is not None:
                result[bound.kind] = value
        return result

    def with_processor_count(self, point: Point) -> dict[str, int | Fraction]:
        """Add P to a point, as the product of the axes' extents, if these have values."""
        result = dict(point)
        try:
            extents = [evaluate(axis.extent, point) for axis in self.algorithm.grid]
        except EvaluationError:
            return result
        # If P occurs in the extents it is given; then these need not be integers, as some P do not fit.
        if "P" not in result and not any(isinstance(extent, Interval) for extent in extents):
            result["P"] = reduce(lambda a, b: a * b, (Fraction(extent) for extent in extents))  # type: ignore[arg-type]
        return result

    def bound_flops_from_below(self, point: Point) -> Fraction | None:
        """Return a lower bound on the flops of all processors at a point; None if there is none for the problem."""
        text = self.solved.problem.get("flops")
        if text is None:
            return None
        try:
            low, _ = _evaluate_ends(substitute_names(parse_expression(text), self.solved.sizes), point)
        except EvaluationError:
            return None
        return max(low, Fraction(0))

    def bound_words_held_from_above(self, memory: Fraction | None) -> Fraction:
        """Return an upper bound on the words that a processor holds at a time in arrays and registers; 0 if unknown."""
        return Fraction(0) if memory is None or self.registers is None else memory + self.registers


def derive_communication_bounds(module: Module, algorithm: s.Algorithm, solved: SolvedProblem) -> CommunicationBounds:
    """Derive the bounds for the problem that an algorithm on a grid solves."""
    reader = _FormulaReader(
        solved, _build_cores_per_node(algorithm), "memory" if "M" in module.signatures[algorithm].size_names else "M"
    )
    bounds = tuple(_build_bound(reader, texts) for texts in solved.problem["bounds"])
    return CommunicationBounds(algorithm, solved, bounds, _count_registers(module, algorithm), reader.letter)


@record(eq=False)
class _FormulaReader:
    """Converts formulas of the data file to the sizes of an algorithm, P and memory, which is `letter` in texts.

    With `cores` per node, the nodes are taken as processors.
    """

    solved: SolvedProblem
    cores: s.Expr | None
    letter: str

    @cached_property
    def _definitions(self) -> Mapping[str, s.Expr]:
        """The expressions of the names that the problem defines by `let`."""
        return {name: parse_expression(text) for name, text in self.solved.problem.get("let", {}).items()}

    @cached_property
    def _substitution(self) -> Mapping[str, s.Expr]:
        """The expressions of sizes, P, M and Q, to substitute simultaneously: problem and algorithm may share names."""
        processors, memory = b.name("P"), b.name(MEMORY_SYMBOL)
        if self.cores is not None:
            processors = s.Binary("/", processors, self.cores, span=self.cores.span)
            memory = s.Binary("*", self.cores, memory, span=self.cores.span)
        effective: s.Expr = processors
        if self.solved.most is not None:
            span = self.solved.most.span
            effective = _divide_by_cores(
                s.Binary("/", self.solved.operation_count, self.solved.most, span=span), self.cores
            )
        return {**self.solved.sizes, "P": processors, "M": memory, "Q": effective}

    def read(self, text: str) -> s.Expr:
        """Parse an expression of the data file."""
        return substitute_names(substitute_names(parse_expression(text), self._definitions), self._substitution)

    def read_facts(self, text: str) -> tuple[s.Fact, ...]:
        """Parse a condition of the data file; empty if there is none."""
        facts = parse_facts(text) if text else ()
        return tuple(
            substitute_in_fact(substitute_in_fact(fact, self._definitions), self._substitution) for fact in facts
        )

    def divide_by_cores(self, expr: s.Expr) -> s.Expr:
        """Divide the words of a node by its number of cores; unchanged if each processor is a node."""
        return _divide_by_cores(expr, self.cores)

    def format_condition(self, text: str) -> str:
        """Format a condition of the data file to be printed."""
        return (
            format_conjunction(substitute_in_fact(fact, self._shown_letters) for fact in parse_facts(text))
            if text
            else ""
        )

    def format_bound(self, lead: str, whole: s.Expr) -> Formula:
        """Build a bound to be printed: multiplied out if all sizes are equal, else as in its theorem."""
        if self.solved.has_equal_sizes or self.cores is not None:
            return format_sum(expand_with_equal_extrema(substitute_names(whole, {MEMORY_SYMBOL: b.name(self.letter)})))
        data = b.binary("/", parse_expression(self.solved.problem["data"]), b.name("P"))
        difference = b.binary("-", parse_expression(lead), data)
        return Formula(substitute_names(difference, {**self.solved.sizes, **self._shown_letters}))

    def format_growth(self, text: str) -> Formula:
        """Build the Omega formula of a bound that is known up to a constant factor, to be printed."""
        return make_order_formula("Omega", substitute_names(self.read(text), {MEMORY_SYMBOL: b.name(self.letter)}))

    @cached_property
    def _shown_letters(self) -> Mapping[str, s.Expr]:
        """The expressions of M and Q in printed texts; Q is P if all processors perform equally many operations."""
        letters = {"M": b.name(self.letter)}
        return letters if self.solved.most is not None else {**letters, "Q": b.name("P")}


def _build_bound(reader: _FormulaReader, texts: Texts) -> LowerBound:
    solved = reader.solved
    source, theorem, assumptions = (
        solved.find_source(texts),
        str(texts["theorem"]),
        tuple(_list_assumptions(solved, texts)),
    )
    if "growth" in texts:
        return LowerBound(texts["kind"], source, theorem, assumptions, growth=reader.format_growth(texts["growth"]))
    shared = texts.get("balanced", False) and solved.most is not None
    held = reader.divide_by_cores(reader.read(f"({solved.problem['data']})/P"))
    cases = []
    # For equal sizes only the last case is possible: the others require Q <= 1.
    for when, text in texts["lead"][-1:] if solved.has_equal_sizes else texts["lead"]:
        written = f"Q/P*({text})" if shared else text
        lead = reader.divide_by_cores(reader.read(written))
        shown = reader.format_bound(written, s.Binary("-", lead, held, span=lead.span))
        cases.append(LeadCase(reader.read_facts(when), lead, reader.format_condition(when), shown))
    return LowerBound(texts["kind"], source, theorem, assumptions, tuple(cases), held)


def _divide_by_cores(expr: s.Expr, cores: s.Expr | None) -> s.Expr:
    return expr if cores is None else s.Binary("/", expr, cores, span=expr.span)


def _build_cores_per_node(algorithm: s.Algorithm) -> s.Expr | None:
    """Return the number of cores per node; None if each processor is a node."""
    within = [axis.extent for axis in algorithm.grid if axis.within is not None]
    if not within:
        return None
    return reduce(lambda left, right: s.Binary("*", left, right, span=algorithm.name_span), within)


def _list_assumptions(solved: SolvedProblem, texts: Texts) -> list[str]:
    result = ["one copy of input and output, distributed over the processors' memories"]
    if texts.get("balanced") and solved.most is not None:
        unit = solved.problem["unit"]
        result.append(f"no processor performs more than {format_expression(solved.most)} of the {unit}")
    elif texts.get("balanced"):
        result.append(f"all processors perform the same number of {solved.problem.get('unit', 'operations')}")
    if "growth" in texts:
        result.append("the bound exceeds the memory of a processor")
    if texts.get("even"):
        result.append(
            f"all processors start with {_format_first_size(solved)}/P elements each, or all end with as many"
        )
    return result


def _format_first_size(solved: SolvedProblem) -> str:
    return format_expression(next(iter(solved.sizes.values())))


def _count_registers(module: Module, algorithm: s.Algorithm) -> int | None:
    """Return an upper bound on the real registers of a processor; None if a recursive algorithm has some."""
    total = 0
    for part in (algorithm, *(callee for callee in find_reachable(module, algorithm) if callee is not algorithm)):
        registers = sum(_is_register(node) for node in s.iterate_nodes(part.body))
        registers += sum(_is_register(parameter) for parameter in part.parameters)
        if registers and has_recursion(module, part):
            return None
        total += registers
    return total


def _is_register(node: s.Node) -> bool:
    match node:
        case s.Local(type=s.ScalarType(element="real")) | s.Parameter(type=s.ScalarType(element="real")):
            return True
        case _:
            return False


def _evaluate_ends(expr: s.Expr, point: Point) -> Ends:
    return bounds_of_value(evaluate(expr, point))
