"""Formulas in sizes are checked here: facts, bounds, declared costs, claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from archline.expr.intervals import EvaluationError, UndefinedError
from archline.expr.sequences import SEQUENCES
from archline.expr.text import format_expression
from archline.expr.tree import Source, Span
from archline.expr.values import evaluate
from archline.language import call_rules as rules
from archline.language import name_rules
from archline.language import syntax as s
from archline.language.checking.context import BodyContext, CheckedFacts, Findings, Library, iterate_leaves
from archline.language.checking.expressions import COMPARISONS
from archline.language.checking.extents import format_short
from archline.language.checking.scopes import MACHINE_SYMBOLS, Role
from archline.language.diagnostics import Edit, Proposal, Rule, find_in_span, format_count, propose_text
from archline.language.iterations import (
    describe_loop_in_line,
    find_counted_loops,
    quote_header,
    suggest_iterations_name,
)
from archline.language.metrics import CLAIMABLE, DECLARABLE, DERIVABLE, ON_MACHINE
from archline.language.mistakes import (
    CodeLine,
    count_brackets,
    suggest_claim,
    suggest_ensures,
    suggest_growth,
    suggest_power,
)
from archline.language.model import Kind
from archline.language.rearranging import mask_strings_and_comment
from archline.records import record

ENSURED_METRICS = (*dict.fromkeys((*DECLARABLE, *DERIVABLE)), "time(P)")
FORMULA_FUNCTIONS = {
    "min": None,
    "max": None,
    "abs": 1,
    "floor": 1,
    "ceil": 1,
    "gcd": 2,
    "log2": 1,
    "sqrt": 1,
    "real_of": 1,
    **SEQUENCES,
}


LIKE_ITERATIONS = re.compile(r"[TKk]\d*|\w*(?:iter|step|round)\w*|it")
"""Names that people give to a number of iterations."""
_OTHER_METRICS = {
    **dict.fromkeys(("space", "storage"), "memory"),
    **dict.fromkeys(("operations", "ops", "steps", "cost", "runtime", "total_work"), "work"),
    **dict.fromkeys(("depth", "critical_path"), "span"),
    **dict.fromkeys(("misses", "cache_misses", "transfers", "loads"), "io"),
    **dict.fromkeys(("compares", "tests"), "comparisons"),
    **dict.fromkeys(("adds", "sums"), "additions"),
    **dict.fromkeys(("muls", "mults", "products"), "multiplications"),
}
"""The metrics of this language for other names of them."""
Reason = tuple[Rule, str, str | None]
"""The report of a name that is undefined in a formula: rule, message, hint."""


@record(eq=False)
class FormulaChecker:
    """Checks formulas in sizes. `known` tests if a name is defined, `why_not` returns the report of one that is not."""

    findings: Findings
    facts: CheckedFacts
    known: Callable[[str], bool]
    why_not: Callable[[s.Name], Reason | None]
    algorithms: Library | None = None

    def check_quantity(self, expr: s.Expr) -> None:
        """Check a formula that must be a number."""
        if self._record_kind(expr) is Kind.BOOL:
            message = f"`{format_short(expr)}` is a condition, where a number is expected"
            self.findings.add(rules.BAD_QUANTITY, message, expr.span)

    def check_fact(self, fact: s.Fact) -> None:
        match fact:
            case s.IsPower(value=a, base=b) | s.Divides(divisor=a, value=b):
                self.check_quantity(a)
                self.check_quantity(b)
            case s.IsSquare(value=a):
                self.check_quantity(a)
            case _:
                kind = self._record_kind(fact)
                if kind is not None and kind is not Kind.BOOL:
                    message = f"`{format_short(fact)}` is not a fact"
                    self.findings.add(rules.BAD_FACT, message, fact.span, "compare it with something")

    def _record_kind(self, expr: s.Expr) -> Kind | None:
        kind = self._check_kind(expr)
        if kind is not None:
            self.facts.types[expr] = kind
            self._check_value(expr)
        return kind

    def _check_value(self, expr: s.Expr) -> None:
        """Report an operation on numbers that has no value, such as `1/0`."""
        if isinstance(expr, s.Binary | s.Call) and not s.find_names(expr):
            try:
                evaluate(expr, {})
            except UndefinedError as problem:
                if problem.expr is expr:
                    message = f"`{format_short(expr)}` has no value: {problem}"
                    self.findings.add(rules.BAD_QUANTITY, message, expr.span)
            except EvaluationError:
                # Comparisons, and numbers that are too large, are reported elsewhere.
                pass

    def _check_kind(self, expr: s.Expr) -> Kind | None:
        match expr:
            case s.Integer():
                return Kind.STATIC
            case s.Real() | s.Name(id="pi"):
                return Kind.REAL
            case s.Name(id=name):
                if self.known(name):
                    return Kind.STATIC
                reason = self.why_not(expr)
                if reason is not None:
                    rule, message, hint = reason
                    self.findings.add(rule, message, expr.span, hint)
                return None
            case s.Unary(op="not", operand=operand):
                self.check_fact(operand)
                return Kind.BOOL
            case s.Unary(operand=operand):
                return self._check_arithmetic([operand])
            case s.Binary(op="and" | "or", left=left, right=right):
                self.check_fact(left)
                self.check_fact(right)
                return Kind.BOOL
            case s.Binary(op=op, left=left, right=right):
                kind = self._check_arithmetic([left, right])
                return Kind.BOOL if op in COMPARISONS else kind
            case s.Call():
                return self._check_call(expr)
            case s.Element() | s.Reshape():
                pass
        message = f"`{format_short(expr)}` is data; contracts and claims are in sizes"
        self.findings.add(rules.BAD_QUANTITY, message, expr.span)
        return None

    def _check_arithmetic(self, operands: Iterable[s.Expr]) -> Kind | None:
        kinds = []
        for operand in operands:
            kind = self._record_kind(operand)
            if kind is Kind.BOOL:
                message = f"`{format_short(operand)}` is a condition, where a number is expected"
                self.findings.add(rules.BAD_QUANTITY, message, operand.span)
                kind = None
            kinds.append(kind)
        if None in kinds:
            return None
        return Kind.REAL if Kind.REAL in kinds else Kind.STATIC

    def _check_call(self, expr: s.Call) -> Kind | None:
        name, arguments = expr.function, expr.arguments
        if self.algorithms is not None and name in CLAIMABLE:
            return self._check_cost(expr, self.algorithms)
        if expr.sizes:
            message = f"`{name}` has no sizes that can be set"
            self.findings.add(rules.BAD_CLAIM, message, expr.span, "a cost of an algorithm has: `work(f, n = 2*n)`")
            return None
        if name not in FORMULA_FUNCTIONS:
            message = f"a formula cannot use `{name}`"
            functions = FORMULA_FUNCTIONS if self.algorithms is None else [*FORMULA_FUNCTIONS, *CLAIMABLE]
            hint = suggest_growth(
                CodeLine(expr.span.source, expr.span.line, expr.span.source.lines[expr.span.line - 1])
            ) or self.findings.suggest_closest(name, functions, expr.span)
            self.findings.add(rules.BAD_QUANTITY, message, expr.span, hint)
            return None
        arity = FORMULA_FUNCTIONS[name]
        if len(arguments) != arity if arity is not None else len(arguments) < 2:
            count = "2 arguments or more" if arity is None else format_count(arity, "argument")
            message = f"`{name}` takes {count}, not {len(arguments)}"
            self.findings.add(rules.BAD_QUANTITY, message, expr.span)
            return None
        return self._check_arithmetic(arguments)

    def _check_cost(self, expr: s.Call, library: Library) -> Kind | None:
        match expr.arguments:
            case (s.Name(id=name),):
                if name in library.visible:
                    return self._check_sizes(expr, library.visible[name], library)
                if name not in library.lost and library.complete:
                    hint = self.findings.suggest_closest(name, library.visible, expr.span)
                    hint = hint or "the algorithms are " + ", ".join(list(library.visible)[:12])
                    message = f"unknown algorithm `{name}`"
                    self.findings.add(name_rules.UNKNOWN_FUNCTION, message, expr.span, hint)
            case _:
                message = f"`{expr.function}(...)` takes the name of an algorithm"
                self.findings.add(rules.BAD_CLAIM, message, expr.span)
        return None

    def _check_sizes(self, expr: s.Call, algorithm: s.Algorithm, library: Library) -> Kind | None:
        """Check the sizes that a claim sets in a cost, as in `work(f, n = 2*n)`: they exist and are set once."""
        settable = _list_settable(algorithm, library)
        loops = find_counted_loops(algorithm, library.visible)
        for place, (name, value) in enumerate(expr.sizes):
            if name in loops and loops[name].chosen:
                rule, message, hint = _describe_unnamed_iterations(name, loops[name], expr.span.source)
                self.findings.add(rule, message, expr.span, hint)
            elif name not in settable:
                hint = self.findings.suggest_closest(name, settable, expr.span) or "they are " + ", ".join(settable)
                message = f"`{name}` is not a size of `{algorithm.name}`"
                self.findings.add(name_rules.UNKNOWN_NAME, message, expr.span, hint)
            elif name in dict(expr.sizes[:place]):
                self.findings.add(rules.BAD_CLAIM, f"`{name}` is set twice", value.span)
            self._check_arithmetic([value])
        return Kind.REAL


def _list_settable(algorithm: s.Algorithm, library: Library) -> list[str]:
    """Return the sizes, iterations, indices and machine symbols that a claim may set in a cost, as `work(f, n = 2)`."""
    signature = library.signatures[algorithm]
    symbols = [name for name in MACHINE_SYMBOLS if name != "P" or "P" in s.find_names(algorithm.grid)]
    counted = find_counted_loops(algorithm, library.visible)
    return [
        *signature.size_names,
        *(name for name, loop in counted.items() if not loop.chosen),
        *signature.indices,
        *symbols,
    ]


def _describe_unnamed_iterations(name: str, loop: s.While | s.Loop, near: Source) -> Reason:
    """Return the report of a formula that uses the automatic name, such as T1, of the iterations of a loop."""
    assert loop.iterations is not None
    return (
        name_rules.UNKNOWN_NAME,
        f"`{name}` is a number of iterations that the program does not name",
        suggest_iterations_name(loop, loop.iterations, near),
    )


def _suggest_unnamed_iterations(name: str, loops: Iterable[s.While | s.Loop], near: Source) -> str | None:
    """Suggest to give an unknown name of a formula, such as T, to the iterations of an unnamed loop; else None."""
    unnamed = [loop for loop in loops if loop.chosen]
    if not unnamed or not LIKE_ITERATIONS.fullmatch(name):
        return None
    if len(unnamed) == 1:
        return suggest_iterations_name(unnamed[0], name, near, safe=name.startswith("T"))
    return f"name the iterations of {' or of '.join(map(describe_loop_in_line, unnamed))}: `iterations {name}`"


def _describe_promised_iterations(name: str, loop: s.While | s.Loop, algorithm: s.Algorithm) -> Reason:
    """Return the report of a `where` about the iterations of a loop, as the caller can promise only its arguments."""
    message = f"`{name}` counts the iterations of {describe_loop_in_line(loop)}, which no caller can promise"
    claimed = f"state claims under the fact, `ensures ... when {name} <= ...`"
    limits = [
        format_expression(fact.right)
        for fact in algorithm.where
        if isinstance(fact, s.Binary) and fact.op == "<=" and isinstance(fact.left, s.Name) and fact.left.id == name
    ]
    if limits and isinstance(loop, s.While) and not loop.tests_last and loop in s.find_nodes(algorithm.body, s.While):
        header = quote_header(loop, f" at most {limits[0]} times{'' if loop in algorithm.body else ' in total'}")
        if header is not None:
            return name_rules.NOT_A_SIZE, message, f"bound the loop, `{header}`, which runs check; or {claimed}"
    return name_rules.NOT_A_SIZE, message, claimed


def check_metric(findings: Findings, metric: str, allowed: Iterable[str], span: Span, *, alone: bool = False) -> None:
    """Report a metric that is not `allowed`; with `alone`, nothing else is on its line, which the hint may delete."""
    if metric in allowed:
        return
    at, synonym = find_in_span(span, metric), _OTHER_METRICS.get(metric, "")
    hint: str | None = findings.suggest_closest(metric, allowed, span)
    if synonym in allowed and at is not None:
        hint = propose_text(at, synonym, "did you mean `{}`?", safe=False)
    if hint is None:
        hint = "they are " + ", ".join(allowed)
        if alone and count_brackets(span.source.lines[span.line - 1]) == 0:
            line = Span(span.source, span.line, 1, span.line + 1, 1)
            hint = Proposal(f"{hint}; nothing else can be ensured: leave this out", [Edit(line, "")], safe=False)
    findings.add(name_rules.UNKNOWN_METRIC, f"unknown metric `{metric}`", span, hint)


def make_formula_checker(body: BodyContext, counted: Mapping[str, s.While | s.Loop] | None = None) -> FormulaChecker:
    """Return a checker of formulas about the current algorithm, in the names in scope and the machine symbols.

    `counted` are loops whose iterations the formulas may name.
    """
    loops = counted or {}
    near = body.algorithm.span.source

    def is_known(name: str) -> bool:
        if name in loops:
            return not loops[name].chosen
        symbol = body.scope.find(name)
        if symbol is None or (symbol.role is Role.ARRAY and name in MACHINE_SYMBOLS):
            # An array named L has no value for a formula.
            return name in MACHINE_SYMBOLS or name in body.library.cost_symbols
        return symbol.type is Kind.STATIC

    def why_not(expr: s.Name) -> Reason | None:
        if expr.id in loops:
            return _describe_unnamed_iterations(expr.id, loops[expr.id], near)
        symbol = body.scope.find(expr.id)
        if symbol is not None:
            message = f"`{expr.id}` is {symbol.role.described}; contracts and costs are in sizes"
            is_int = symbol.role is Role.SCALAR and symbol.type is Kind.INT and not symbol.logical
            parameter = next((item for item in body.algorithm.parameters if item.name == expr.id and is_int), None)
            words = "a size that the caller gives is declared `{}`"
            advice = None if parameter is None else propose_text(parameter.span, f"{expr.id}: size", words)
            return name_rules.NOT_A_SIZE, message, advice
        if not body.is_first_report(expr.id):
            return None
        unbounded = find_counted_loops(body.algorithm, body.library.visible)
        if expr.id in unbounded and not unbounded[expr.id].chosen:
            return _describe_promised_iterations(expr.id, unbounded[expr.id], body.algorithm)
        if expr.id in {loop.iterations for loop in s.find_nodes(body.algorithm.body, s.While)}:
            # That loop has a bound too, which is reported.
            return None
        names = body.scope.names(lambda symbol: symbol.type is Kind.STATIC)
        hint = body.findings.suggest_closest(expr.id, [*names, *body.library.cost_symbols], expr.span)
        hint = _suggest_unnamed_iterations(expr.id, unbounded.values(), near) or hint
        called = [name for name, loop in unbounded.items() if name.endswith(f".{expr.id}") and not loop.chosen]
        if called:
            others = "".join(f" or `{name}`" for name in called[1:])
            hint = propose_text(expr.span, called[0], f"did you mean `{{}}`{others}?", safe=len(called) == 1)
        code = mask_strings_and_comment(expr.span.source.lines[expr.span.line - 1])
        hint = hint or suggest_power(CodeLine(expr.span.source, expr.span.line, code))
        hint = hint or f"a size stands in a shape or is a parameter, `{expr.id}: size`"
        message = f"`{expr.id}` is not a size of `{body.algorithm.name}`, nor a machine symbol (P, Z, L, K)"
        return name_rules.UNKNOWN_NAME, message, hint

    return FormulaChecker(body.findings, body.facts, is_known, why_not)


def check_contract(body: BodyContext) -> None:
    """Check the facts and bounds of an algorithm's header."""
    formulas = make_formula_checker(body)
    for fact in body.algorithm.where:
        formulas.check_fact(fact)
        body.assume(fact)
    formulas = make_formula_checker(body, find_counted_loops(body.algorithm, body.library.visible))
    for ensures in body.algorithm.ensures:
        if _report_misplaced_metric(body, ensures):
            continue
        _check_subject(body, ensures)
        formulas.check_quantity(ensures.bound)
        for fact in ensures.when:
            formulas.check_fact(fact)


def _report_misplaced_metric(body: BodyContext, ensures: s.Ensures) -> bool:
    """Report an `ensures` that begins with its bound, or states several bounds; return whether it does."""
    several = isinstance(ensures.bound, s.Binary) and ensures.bound.op == "and"
    if ensures.subject in ENSURED_METRICS and not several:
        return False
    source, number = ensures.span.source, ensures.span.line
    hint = suggest_ensures(CodeLine(source, number, mask_strings_and_comment(source.lines[number - 1])))
    if hint is None:
        return False
    if several:
        body.findings.add(rules.BAD_QUANTITY, "an `ensures` is about one metric", ensures.span, hint)
    else:
        message = f"an `ensures` begins with a metric, and `{ensures.subject}` is none"
        body.findings.add(name_rules.UNKNOWN_METRIC, message, ensures.span, hint)
    return True


def _check_subject(body: BodyContext, ensures: s.Ensures) -> None:
    """Check the subject of an `ensures`: a metric, or the time on as many processors as P or a size: `time(P)`."""
    processors = ensures.processors
    if ensures.metric in {*ON_MACHINE} - {"time"}:
        hint = suggest_claim(ensures.metric, body.algorithm.name)
        message = f"unknown metric `{ensures.metric}`: it depends on a machine"
        body.findings.add(name_rules.UNKNOWN_METRIC, message, ensures.span, hint)
        return
    if processors is None or ensures.metric != "time":
        check_metric(body.findings, ensures.subject, ENSURED_METRICS, ensures.span, alone=True)
        return
    symbol = body.scope.find(processors.id)
    if processors.id != "P" and (symbol is None or symbol.role is not Role.SIZE):
        message = f"`{processors.id}` is not a size of `{body.algorithm.name}`, nor P"
        body.findings.add(name_rules.UNKNOWN_NAME, message, processors.span)
    body.facts.types[processors] = Kind.STATIC


def check_extern(findings: Findings, facts: CheckedFacts, extern: s.Extern) -> None:
    """Check an extern's declaration."""
    names: set[str] = set()
    for parameter in extern.parameters:
        if not isinstance(parameter.type, s.ScalarType) or parameter.local or parameter.mode != "in":
            message = f"`{parameter.name}` of the extern `{extern.name}` is not a `real` or `int` passed in"
            findings.add(rules.EXTERN, message, parameter.span)
        if parameter.name in names:
            message = f"`{extern.name}` has two parameters called `{parameter.name}`"
            findings.add(name_rules.DUPLICATE, message, parameter.span)
        names.add(parameter.name)

    def why_not(expr: s.Name) -> Reason:
        message = f"`{expr.id}` is data; the cost of an extern is in symbols given at `--at`"
        return name_rules.NOT_A_SIZE, message, None

    formulas = FormulaChecker(findings, facts, lambda name: name not in names, why_not)
    for amount, metric in extern.costs:
        formulas.check_quantity(amount)
        check_metric(findings, metric, DECLARABLE, amount.span)


def check_claim(findings: Findings, facts: CheckedFacts, library: Library, claim: s.Claim) -> None:
    """Check a claim: metrics of visible algorithms, in their sizes, machine symbols and cost symbols."""
    costs = list_costs(claim)
    named = [cost.arguments[0].id for cost in costs if isinstance(cost.arguments[0], s.Name)]
    defined = set(MACHINE_SYMBOLS) | set(library.cost_symbols)
    unnamed: dict[str, s.While | s.Loop] = {}
    for name, cost in zip(named, costs, strict=True):
        sizes = dict(cost.sizes)
        defined.update(s.find_names(tuple(sizes.values())))
        if name in library.visible:
            signature = library.signatures[library.visible[name]]
            defined.update({*signature.size_names, *signature.indices} - sizes.keys())
            counted = find_counted_loops(library.visible[name], library.visible)
            defined.update(counted.keys() - sizes.keys())
            unnamed |= {size: loop for size, loop in counted.items() if loop.chosen}
        if cost.function in ON_MACHINE and claim.on is None:
            message = f"the {cost.function} of an algorithm depends on the machine"
            findings.add(rules.BAD_CLAIM, message, cost.span, 'name one: on "gtx-580@double" (`archline machines`)')

    def why_not(expr: s.Name) -> Reason:
        if expr.id in unnamed:
            return _describe_unnamed_iterations(expr.id, unnamed[expr.id], claim.span.source)
        message = f"`{expr.id}` is not a size of the algorithms in this claim, nor a machine symbol (P, Z, L, K)"
        hint = _suggest_unnamed_iterations(expr.id, unnamed.values(), claim.span.source)
        return name_rules.UNKNOWN_NAME, message, hint or findings.suggest_closest(expr.id, defined, expr.span)

    of_algorithms = [
        call for call in _list_calls_of_one_name(claim) if s.find_names(call.arguments) <= library.visible.keys()
    ]
    for call in of_algorithms:
        check_metric(findings, call.function, CLAIMABLE, call.span)
    if any(call.function not in CLAIMABLE for call in of_algorithms):
        return
    if not named:
        message = "this claim names no algorithm"
        findings.add(rules.BAD_CLAIM, message, claim.span, "write a cost such as `io(matmul)` in it")
        return
    if not library.complete or any(name in library.lost for name in named):
        return
    if not all(name in library.visible for name in named):
        # The unknown algorithm is reported; its sizes are unknown, so no name is reported.
        defined.update(s.find_names((claim.left, claim.right)))
        defined.update(name for name, _ in claim.at)
    known_names = (defined - unnamed.keys()).__contains__
    formulas = FormulaChecker(findings, facts, known_names, why_not, library)
    formulas.check_quantity(claim.left)
    formulas.check_quantity(claim.right)
    without_costs = FormulaChecker(findings, facts, known_names, why_not)
    for fact in claim.where:
        without_costs.check_fact(fact)
    for symbol, amount in claim.at:
        if not known_names(symbol):
            rule, message, hint = why_not(s.Name(symbol, span=claim.span))
            findings.add(rule, message, claim.span, hint)
        without_costs.check_quantity(amount)


def list_costs(claim: s.Claim) -> list[s.Call]:
    """Return the costs of algorithms in a claim, `metric(algorithm)`, from left to right."""
    return [call for call in _list_calls_of_one_name(claim) if call.function in CLAIMABLE]


def _list_calls_of_one_name(claim: s.Claim) -> list[s.Call]:
    """Return the calls in a claim whose only argument is a name."""
    calls = (node for node in s.iterate_nodes((claim.left, claim.right)) if isinstance(node, s.Call))
    return [call for call in calls if [*map(type, call.arguments)] == [s.Name]]


def find_cost_symbols(externs: Iterable[s.Extern]) -> dict[str, Span]:
    """Return the symbols in the costs of externs that are not machine symbols, with the first place of each."""
    symbols: dict[str, Span] = {}

    for extern in externs:
        for amount, _ in extern.costs:
            for name in (leaf for leaf in iterate_leaves(amount) if isinstance(leaf, s.Name)):
                if name.id not in MACHINE_SYMBOLS and name.id != "pi":
                    symbols.setdefault(name.id, name.span)
    return symbols
