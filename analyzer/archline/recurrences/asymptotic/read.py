"""Parse the text of a `RealRecurrence`: definitions, cases and base values, with the language's expression parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from archline.expr import build
from archline.expr.build import join_conditions
from archline.expr.text import format_expression
from archline.expr.tree import Source, Span, make_structural_key, rewrite_parts, substitute_names
from archline.growth.normal_form import expand
from archline.growth.textbook import SPELLINGS, write_brackets
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Diagnostic, Rule, error, suggest_closest
from archline.language.parser import parse_expression, parse_facts
from archline.language.surface import Comprehension
from archline.language.words import INTRINSICS, RESERVED
from archline.records import record
from archline.recurrences.asymptotic.evaluate import raise_base
from archline.recurrences.asymptotic.problem import BaseValue, EquationCase, RealDefinition, RealRecurrence

NO_DEFINITION = Rule(
    "AL470",
    "not a recurrence",
    """
    A recurrence defines a function of sizes, and may give it values:

    ```
    T(n) = 2*T(n/2) + n, T(1) = 1
    Q(n) = 1 + n/L when n <= Z; 2*Q(n/2) + 1
    A(n) = 2*B(n/2) + n; B(n) = A(n/2) + 1
    ```

    Cases are separated by `;`, and the first whose condition holds applies. A part that begins with `NAME(...) =`
    defines another function, or gives a value if its arguments are numbers.
    """,
)
BAD_HEAD = Rule(
    "AL471",
    "invalid left side of a definition",
    """
    The left side of `=` is a function of distinct names, as in `Q(n, m) = ...`, or of numbers, as in `T(1) = 1`. Every
    call must have as many arguments as the definition.
    """,
)
DEFINED_TWICE = Rule(
    "AL472",
    "function defined twice",
    """
    A function has one definition, which may have several cases, and at most one value at a size. Write all cases after
    one `=`: `Q(n) = n/L when n <= Z; 2*Q(n/2) + n/L`.
    """,
)
NO_SUCH_FUNCTION = Rule(
    "AL473",
    "unknown function in a recurrence",
    """
    A call must be of a function that the text defines, or of `log2` (`lg`), `log` (`ln`), `sqrt`, `rsqrt`, `exp`,
    `factorial`, `min`, `max`, `abs`, `floor` or `ceil`. `sum(T(i))` adds up T(0) to T(n - 1), `sum(T(i) for i in 1..n)`
    T(1) to T(n - 1). A term `Theta(n)` stands for any function of this growth; `O(n)` would leave the growth open.
    """,
)
INCOMPLETE_CASES = Rule(
    "AL474",
    "incomplete or unreachable cases",
    """
    The last case must have no `when`, so that it covers all remaining sizes. All other cases must have one, since no
    case after one without `when` would ever apply.
    """,
)
NOT_A_VALUE = Rule(
    "AL475",
    "not an expression in sizes",
    """
    Values of recurrences consist of numbers, names, `+ - * / ^` and functions. Arguments of recursive calls, conditions
    and base values must not contain recursive calls, and base values must not depend on sizes.
    """,
)
TOO_LONG = Rule("AL476", "recurrence too long", "The text of a recurrence has at most 20000 characters.")


T = TypeVar("T")
SOURCE_NAME = "<recurrence>"
MAX_LENGTH = 20_000
_HEAD = re.compile(r"\s*([A-Za-z_]\w*)\s*\(")
_WHEN = re.compile(r"\bwhen\b")
_SUM_WITH_BOUNDS = re.compile(r"\bsum(?:\s*_\W|\s*\([^;]*[^<>=!]=[^=])")
_HINT_OF_SUMS = "write sum(T(i)) for T(0) + ... + T(n - 1), sum(T(i) for i in 1..n) for T(1) + ... + T(n - 1)"
_FUNCTIONS = frozenset(("log2", "log", "sqrt", "rsqrt", "exp", "min", "max", "abs", "floor", "ceil", "factorial"))
_ORDERS = frozenset(("O", "Omega", "o", "omega"))
_OPERATORS = frozenset("+-*/^") | {"//", "%"}


@record
class _TextPart:
    """A part of the text, from `start` to `end`; `separator` is the `,` or `;` before it, empty for the first part."""

    start: int
    end: int
    separator: str


@dataclass
class _DefinitionDraft:
    """A definition that is being read."""

    name: str
    parameters: tuple[str, ...]
    span: Span
    cases: list[EquationCase] = field(default_factory=list)
    bases: list[BaseValue] = field(default_factory=list)


def parse_recurrence(text: str, where: str = "") -> RealRecurrence:
    """Read a recurrence such as `T(n) = 7*T(n/2) + n^2, T(1) = 1`, with facts about its names in `where`.

    Raises ArchlineError (AL470 to AL476, and those of expressions) if the text is not a recurrence.
    """
    facts = parse_facts(where, "--where") if where.strip() else ()
    return replace(_RecurrenceReader(text).read(), facts=facts)


class _RecurrenceReader:
    """Parses the text of one recurrence."""

    def __init__(self, text: str) -> None:
        # Newlines and tabs count as spaces.
        self._text = re.sub(r"\s", " ", text)
        if len(self._text) <= MAX_LENGTH:
            self._text = write_brackets(self._text)
        self._source = Source(SOURCE_NAME, self._text)
        self._drafts: dict[str, _DefinitionDraft] = {}
        self._values: list[tuple[s.Call, s.Expr, Span]] = []
        self._current: _DefinitionDraft | None = None
        self._assumed: list[str] = []
        self._inexact = False

    def read(self) -> RealRecurrence:
        if len(self._text) > MAX_LENGTH:
            raise error(TOO_LONG, f"the text has more than {MAX_LENGTH} characters", path=SOURCE_NAME)
        for piece in self._iterate_parts():
            self._read_part(piece)
        if not self._drafts:
            raise self._make_definition_error()
        for call, value, span in self._values:
            self._read_base_value(call, value, span)
        for draft in self._drafts.values():
            self._check_definition(draft)
        drafts, names = self._drafts.values(), frozenset(self._drafts)
        definitions = tuple(RealDefinition(d.name, d.parameters, tuple(d.cases), tuple(d.bases)) for d in drafts)
        raised = [raise_base(definition, names) for definition in definitions]
        assumed = [*self._assumed, *(text for _, text in raised if text)]
        return RealRecurrence(
            tuple(definition for definition, _ in raised),
            assumed=tuple(dict.fromkeys(assumed)),
            inexact=self._inexact,
            raised=any(text is not None for _, text in raised),
        )

    def _make_definition_error(self) -> ArchlineError:
        hint = "write it as T(n) = 2*T(n/2) + n, T(1) = 1"
        if self._values:
            return error(NO_DEFINITION, "only values are given, no function", span=self._values[0][2], hint=hint)
        span = self._make_span(0, max(1, len(self._text)))
        return error(NO_DEFINITION, "nothing is defined here", span=span, hint=hint)

    # Parts of the text.
    def _iterate_parts(self) -> Iterator[_TextPart]:
        """Iterate over the parts between commas and semicolons outside brackets, without an empty one at the end."""
        depth, start, separator = 0, 0, ""
        for at, character in enumerate(self._text):
            depth += (character in "([") - (character in ")]")
            if character in ",;" and depth <= 0:
                yield _TextPart(start, at, separator)
                start, separator = at + 1, character
        if self._text[start:].strip() or not separator:
            yield _TextPart(start, len(self._text), separator)

    def _read_part(self, piece: _TextPart) -> None:
        equals = self._find_equals(piece)
        if equals is not None:
            self._read_definition(piece, equals)
        elif self._current is None:
            raise error(
                NO_DEFINITION,
                "a recurrence begins with the function that it defines",
                span=self._make_trimmed_span(piece.start, piece.end),
                hint="write it as T(n) = 2*T(n/2) + n, T(1) = 1",
            )
        elif piece.separator == ",":
            raise error(
                NO_DEFINITION,
                "the part after the comma is neither a value, such as T(1) = 1, nor a definition",
                span=self._make_trimmed_span(piece.start, piece.end),
                hint="cases are separated by `;`, facts are given by --where",
            )
        else:
            self._read_case(self._current, piece.start, piece.end)

    def _find_equals(self, piece: _TextPart) -> int | None:
        """Return the position of the `=` after `NAME(...)` at the beginning of a part; None if there is none."""
        head = _HEAD.match(self._text, piece.start, piece.end)
        if head is None:
            return None
        depth, at = 1, head.end()
        while at < piece.end and depth:
            depth += (self._text[at] in "([") - (self._text[at] in ")]")
            at += 1
        rest = self._text[at : piece.end]
        behind = rest.lstrip()
        if depth or not behind.startswith("=") or behind.startswith("=="):
            return None
        return at + len(rest) - len(behind)

    def _read_definition(self, piece: _TextPart, equals: int) -> None:
        head = self._parse_expression(piece.start, equals)
        if not isinstance(head, s.Call):
            raise self._make_error(BAD_HEAD, "the left side is not a function of sizes", head)
        if head.function in INTRINSICS or head.function in RESERVED:
            raise self._make_error(BAD_HEAD, f"`{head.function}` is a name of the language", head)
        if head.arguments and all(not _find_names(argument) for argument in head.arguments):
            value = self._replace_spellings(self._parse_expression(equals + 1, piece.end), None)
            self._values.append((head, value, self._make_trimmed_span(piece.start, equals)))
            return
        self._current = draft = _DefinitionDraft(
            head.function, self._read_parameters(head), self._relocate_span(head.span)
        )
        if head.function in self._drafts:
            hint = f"write all cases after one `=`: {head.function}({', '.join(draft.parameters)}) = ... when ...; ..."
            raise self._make_error(DEFINED_TWICE, f"`{head.function}` is already defined", head, hint)
        self._drafts[head.function] = draft
        self._read_case(draft, equals + 1, piece.end)

    def _read_parameters(self, head: s.Call) -> tuple[str, ...]:
        names: list[str] = []
        for argument in head.arguments:
            if not isinstance(argument, s.Name) or argument.id == "pi":
                hint = f"write {head.function}(n) = ..., or give a value at numbers: {head.function}(1) = 1"
                raise self._make_error(BAD_HEAD, "arguments on the left side must be names", argument, hint)
            if argument.id in INTRINSICS:
                raise self._make_error(BAD_HEAD, f"`{argument.id}` is a function of the language", argument)
            if argument.id in names:
                raise self._make_error(BAD_HEAD, f"`{argument.id}` is the name of two arguments", argument)
            names.append(argument.id)
        if not names:
            raise self._make_error(BAD_HEAD, f"`{head.function}` has no argument", head)
        return tuple(names)

    def _read_case(self, draft: _DefinitionDraft, start: int, end: int) -> None:
        when = next(
            (match for match in _WHEN.finditer(self._text, start, end) if self._is_outside_brackets(start, match)), None
        )
        if draft.cases and draft.cases[-1].condition is None:
            span = self._make_trimmed_span(start, end)
            hint = "the case before it has no `when`"
            raise error(INCOMPLETE_CASES, "this case never applies", span=span, hint=hint)
        value = self._replace_spellings(self._parse_expression(start, when.start() if when else end), draft)
        facts = self._parse_part(parse_facts, when.end(), end) if when else ()
        condition = join_conditions("and", facts) if facts else None  # type: ignore[arg-type]
        draft.cases.append(EquationCase(value, condition))

    def _replace_spellings(self, expr: s.Expr, draft: _DefinitionDraft | None) -> s.Expr:
        """Replace spellings: `lg`, terms in Theta, and sums over the sizes below."""

        def replace_part(part: s.Expr) -> s.Expr | None:
            match part:
                case s.Binary(op="*" | "/" | "^" | "-") | s.Unary() if _find_calls(part, ("Theta",)):
                    if draft is None or part.op == "-" or _find_calls(part, self._drafts):
                        raise self._make_error(NOT_A_VALUE, "Theta(...) stands for a term that is added", part)
                    return None
                case s.Call(function=function) if function in self._drafts and _find_calls(part, ("Theta",)):
                    raise self._make_error(NOT_A_VALUE, "Theta(...) stands for a term that is added", part)
                case s.Call(function=function) if function in SPELLINGS and function not in self._drafts:
                    spelled = tuple(self._replace_spellings(argument, draft) for argument in part.arguments)
                    return replace(part, function=SPELLINGS[function], arguments=spelled)
                case s.Call(function=function) if function in _ORDERS:
                    hint = f"write Theta(...): a term in {function} leaves the growth open"
                    raise self._make_error(NO_SUCH_FUNCTION, f"`{function}` is only one bound of a term", part, hint)
                case s.Call(function="Theta", arguments=(inner,)):
                    self._assumed.append(f"Theta({format_expression(inner)}) = {format_expression(inner)}")
                    self._inexact = True
                    return self._replace_spellings(inner, draft)
                case s.Call(function="sum", arguments=(inner,)) if draft is not None:
                    return self._read_sum(part, inner, draft)
                case _:
                    return None

        return rewrite_parts(expr, replace_part)

    def _read_sum(self, part: s.Call, inner: Any, draft: _DefinitionDraft) -> s.Expr:
        """Define a function of its own for a sum over smaller sizes, S(n) = S(n - 1) + T(n - 1), and call it."""
        (size,), low, high = draft.parameters, build.ZERO, build.name(draft.parameters[0])
        if isinstance(inner, Comprehension):
            if inner.step is not None or inner.condition is not None:
                raise self._make_error(NOT_A_VALUE, "a sum in a recurrence is over consecutive sizes", part)
            inner, index, low, high = inner.value, inner.variable, inner.lo, inner.hi
        else:
            names = s.find_names(inner) - {size, draft.name, "pi"}
            if len(names) != 1:
                hint = f"write sum({draft.name}(i)), or sum({draft.name}(i) for i in 0..{size})"
                raise self._make_error(NOT_A_VALUE, "a sum in a recurrence is over one name", part, hint)
            (index,) = names
        # As i goes up, n - 1 - i goes down over the same sizes.
        mirrored = build.binary("-", build.binary("-", build.binary("+", low, high), build.ONE), build.name(index))
        inner = rewrite_parts(
            self._replace_spellings(inner, draft),
            lambda part: (
                replace(part, arguments=(build.name(index),))
                if isinstance(part, s.Call)
                and part.function in self._drafts
                and len(part.arguments) == 1
                and not expand(build.binary("-", part.arguments[0], mirrored))
                else None
            ),
        )
        if s.find_names(low) or size in s.find_names(inner):
            raise self._make_error(NOT_A_VALUE, f"the terms of the sum must not depend on `{size}`", part)
        name = f"sum_{draft.name}" + "_" * sum(defined.startswith(f"sum_{draft.name}") for defined in self._drafts)
        before = build.binary("-", build.name(size), build.ONE)
        value = build.binary("+", build.call(name, before), substitute_names(inner, {index: before}))
        self._drafts[name] = _DefinitionDraft(
            name, (size,), draft.span, [EquationCase(value)], [BaseValue((low,), build.ZERO)]
        )
        self._assumed.append(f"{name}({size}) is the sum from {format_expression(low)} to {size} - 1")
        return build.call(name, high)

    def _is_outside_brackets(self, start: int, match: re.Match[str]) -> bool:
        before = self._text[start : match.start()]
        return sum(before.count(bracket) for bracket in "([") <= sum(before.count(bracket) for bracket in ")]")

    def _read_base_value(self, call: s.Call, value: s.Expr, span: Span) -> None:
        draft = self._drafts.get(call.function)
        if draft is None:
            hint = suggest_closest(call.function, self._drafts)
            raise error(NO_SUCH_FUNCTION, f"`{call.function}` is not defined", span=span, hint=hint)
        if len(call.arguments) != len(draft.parameters):
            raise error(BAD_HEAD, _describe_arity(draft), span=span)
        at = tuple(map(make_structural_key, call.arguments))
        if any(tuple(map(make_structural_key, base.arguments)) == at for base in draft.bases):
            raise error(DEFINED_TWICE, f"`{draft.name}` already has a value at this size", span=span)
        draft.bases.append(BaseValue(call.arguments, value))

    # Checks of whole definitions.
    def _check_definition(self, draft: _DefinitionDraft) -> None:
        if draft.cases[-1].condition is not None:
            hint = "remove the `when` of the last case"
            raise error(INCOMPLETE_CASES, "no case covers all other sizes", span=draft.span, hint=hint)
        for case in draft.cases:
            self._check_expression(case.value)
            if case.condition is not None:
                self._check_no_calls(case.condition, "a condition")
        for base in draft.bases:
            for part in (*base.arguments, base.value):
                self._check_expression(part)
                self._check_no_calls(part, "a base value")
            parameter = next((name for name in _find_names(base.value) if name.id in draft.parameters), None)
            if parameter is not None:
                raise self._make_error(NOT_A_VALUE, f"a base value must not depend on `{parameter.id}`", parameter)

    def _check_expression(self, expr: s.Expr) -> None:
        for node in s.iterate_nodes(expr):
            match node:
                case s.Call(function=function, arguments=arguments) if function in self._drafts:
                    if len(arguments) != len(self._drafts[function].parameters):
                        raise self._make_error(BAD_HEAD, _describe_arity(self._drafts[function]), node)
                    for argument in arguments:
                        self._check_no_calls(argument, "the argument of a recursive call")
                case s.Call(function=function, arguments=arguments):
                    self._check_intrinsic(node, function, len(arguments))
                case s.Binary(op=op) if op in _OPERATORS:
                    pass
                case s.Unary(op="-") | s.Integer() | s.Real() | s.Name():
                    pass
                case _:
                    raise self._make_error(NOT_A_VALUE, "this is not an expression in sizes", node)

    def _check_intrinsic(self, node: s.Node, function: str, count: int) -> None:
        if function not in _FUNCTIONS:
            hint = suggest_closest(function, (*self._drafts, *_FUNCTIONS))
            raise self._make_error(NO_SUCH_FUNCTION, f"unknown function `{function}`", node, hint)
        arity = INTRINSICS.get(function, 1)
        if count != arity if arity is not None else count < 2:
            text = "two arguments or more" if arity is None else "one argument"
            raise self._make_error(NO_SUCH_FUNCTION, f"`{function}` takes {text}", node)

    def _check_no_calls(self, part: s.Fact, what: str) -> None:
        for node in s.iterate_nodes(part):
            if isinstance(node, s.Call) and node.function in self._drafts:
                raise self._make_error(NOT_A_VALUE, f"{what} must not contain a recursive call", node)

    # Expressions and their positions.
    def _parse_expression(self, start: int, end: int) -> s.Expr:
        return self._parse_part(parse_expression, start, end)

    def _parse_part(self, parse: Callable[[str, str], T], start: int, end: int) -> T:
        """Parse a part of the text; spaces in place of the text before it preserve the columns of errors."""
        try:
            return parse(" " * start + self._text[start:end], SOURCE_NAME)
        except ArchlineError as problem:
            moved = [
                replace(diagnostic, span=self._relocate_span(diagnostic.span)) for diagnostic in problem.diagnostics
            ]
            if _SUM_WITH_BOUNDS.search(self._text[start:end]):
                moved = [replace(diagnostic, hint=_HINT_OF_SUMS) for diagnostic in moved]
            blank = not self._text[start:end].strip()
            raise ArchlineError([_move_to_end(diagnostic, end if blank else 0) for diagnostic in moved]) from None

    def _relocate_span(self, span: Span | None) -> Span:
        if span is None:
            return self._make_span(0, len(self._text))
        return replace(span, source=self._source)

    def _make_span(self, start: int, end: int) -> Span:
        return Span(self._source, 1, start + 1, 1, end + 1)

    def _make_trimmed_span(self, start: int, end: int) -> Span:
        """Return the span of a part without the spaces around it; for an empty part, the position after it."""
        text = self._text[start:end]
        if not text.strip():
            return self._make_span(end, end + 1)
        return self._make_span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))

    def _make_error(self, rule: Rule, message: str, node: s.Node, hint: str | None = None) -> ArchlineError:
        return error(rule, message, span=self._relocate_span(node.span), hint=hint)


def _move_to_end(diagnostic: Diagnostic, end: int) -> Diagnostic:
    """Return a diagnostic that names the end of the expression, not of the line, at position `end` or after it."""
    span = diagnostic.span
    if span is None:
        return diagnostic
    column = max(span.column, end + 1)
    message = diagnostic.message.replace("the end of the line", "the end of the expression")
    message = message.replace("unexpected end of the line", "unexpected end of the expression")
    return replace(
        diagnostic, message=message, span=replace(span, column=column, end_column=max(column + 1, span.end_column))
    )


def _find_names(expr: s.Expr) -> list[s.Name]:
    return [node for node in s.iterate_nodes(expr) if isinstance(node, s.Name) and node.id != "pi"]


def _find_calls(expr: s.Expr, functions: Container[str]) -> list[s.Call]:
    return [node for node in s.iterate_nodes(expr) if isinstance(node, s.Call) and node.function in functions]


def _describe_arity(draft: _DefinitionDraft) -> str:
    return f"`{draft.name}` has {len(draft.parameters)} argument{'s' if len(draft.parameters) > 1 else ''}"
