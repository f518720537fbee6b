"""Build the syntax tree from lark's, with a method for each grammar rule whose node is not just its parts in order."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

from lark import Token, v_args
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from archline.expr.tree import MAX_DEPTH, Source, Span
from archline.language import syntax as s
from archline.language import syntax_rules as rules
from archline.language.diagnostics import error
from archline.resources import find_resource

MAX_DIGITS = 1000
INTRINSICS = {
    "sqrt": 1, "rsqrt": 1, "exp": 1, "log": 1, "log2": 1, "sin": 1, "cos": 1, "abs": 1, "floor": 1, "ceil": 1,
    "real_of": 1, "min": None, "max": None,
}  # fmt: skip
"""The intrinsic functions and the number of arguments of each; None: two or more."""

NAMES_OF_TYPES = {"any", "operator", "size"}
"""Words of types that can be names too: they are words of types only at places where no name can be."""


def _collect_reserved() -> frozenset[str]:
    """Return what cannot be a name: literals of the grammar and choices in its patterns, intrinsics, and pi."""
    text = re.sub(
        r"^//.*", "", (find_resource("grammar") / "archline.lark").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    choices = "|".join(re.findall(r"\(([a-z_|]+)\)\\b", text)).split("|")
    return frozenset([*choices, *re.findall(r'"([a-z_]+)"', text), *INTRINSICS, "pi"]) - NAMES_OF_TYPES


RESERVED = _collect_reserved()


@v_args(meta=True)
class TreeBuilder(Transformer_NonRecursive[Token, Any]):
    """Builds nodes bottom-up. `offset` is added to line numbers, as an item is parsed without the file around it."""

    def __init__(self, source: Source, offset: int) -> None:
        super().__init__()
        self._source = source
        self._offset = offset
        self._depth: dict[s.Node, int] = {}
        self.sized: Span | None = None
        """The place of a cost with sizes, such as `work(f, n = 2*n)`, outside of claims, where it is a mistake."""

    # Positions and limits
    def _make_span(self, at: Meta | Token) -> Span:
        line, column = at.line or 1, at.column or 1
        end_line, end_column = at.end_line or line, at.end_column or column
        return Span(self._source, line + self._offset, column, end_line + self._offset, end_column)

    def _check_depth(self, node: Any, *children: Any) -> Any:
        depth = 1 + max((self._depth.get(child, 0) for child in children), default=0)
        if depth > MAX_DEPTH:
            message = f"this expression nests deeper than {MAX_DEPTH} levels"
            raise error(rules.TOO_DEEP, message, span=node.span, hint="name parts of it with `let` or `local`")
        self._depth[node] = depth
        return node

    def _check_name(self, token: Token) -> str:
        name = str(token)
        if name in RESERVED:
            hint = f"choose another name, such as `{name}_`"
            raise error(rules.RESERVED, f"`{name}` is a word of the language", span=self._make_span(token), hint=hint)
        return name

    # Expressions
    def integer(self, meta: Meta, children: list[Token]) -> s.Integer:
        text = str(children[0])
        if len(text) > MAX_DIGITS:
            raise error(rules.NUMBER_TOO_LONG, f"a number of {len(text)} digits", span=self._make_span(meta))
        return s.Integer(int(text), span=self._make_span(meta))

    def group(self, meta: Meta, children: list[Any]) -> Any:
        return children[0]

    target = start = expression = fact_list = group

    def binary(self, meta: Meta, children: list[Any]) -> s.Binary:
        left, op, right = children
        return self._check_depth(s.Binary(str(op), left, right, span=self._make_span(meta)), left, right)  # type: ignore[no-any-return]

    def unary(self, meta: Meta, children: list[Any]) -> s.Unary:
        op, operand = children
        return self._check_depth(s.Unary(str(op), operand, span=self._make_span(meta)), operand)  # type: ignore[no-any-return]

    def call(self, meta: Meta, children: list[Any]) -> s.Call:
        name, parts = children
        sizes = tuple((part[0], part[1]) for part in parts or () if isinstance(part, tuple))
        arguments = tuple(part for part in parts or () if not isinstance(part, tuple))
        node = s.Call(str(name), arguments, sizes, span=self._make_span(meta))
        self.sized = node.span if sizes else self.sized
        return self._check_depth(node, *arguments, *(value for _, value in sizes))  # type: ignore[no-any-return]

    def arguments(self, meta: Meta, children: list[Any]) -> tuple[Any, ...]:
        return tuple(children)

    exprs = names = facts = parameters = axes = amounts = settings = parts = block = arguments

    def element(self, meta: Meta, children: list[Any]) -> s.Element:
        array, *subscripts = children
        node = s.Element(str(array), tuple(subscripts), span=self._make_span(meta))
        parts = [part for subscript in subscripts for part in _list_parts(subscript)]
        return self._check_depth(node, *parts)  # type: ignore[no-any-return]

    def slice_to(self, meta: Meta, children: list[Any]) -> s.Slice:
        lo, kind, hi, step = children
        return s.Slice(lo, hi, step, kind.type == "BY_LENGTH", span=self._make_span(meta))

    slice_by = slice_to

    def slice_all(self, meta: Meta, children: list[Any]) -> s.Slice:
        return s.Slice(None, None, children[1], False, span=self._make_span(meta))

    # Types and parameters

    def operator_type(self, meta: Meta, _: list[Any]) -> s.OperatorType:
        return s.OperatorType(span=self._make_span(meta))

    def array_type(self, meta: Meta, children: list[Any]) -> s.ArrayType:
        element, shape, layout = children
        return s.ArrayType(str(element), shape, str(layout or "rowmajor"), span=self._make_span(meta))

    def parameter(self, meta: Meta, children: list[Any]) -> s.Parameter:
        name, mode, local, type_ = children
        span = self._make_span(meta)
        return s.Parameter(self._check_name(name), str(mode or "in"), local is not None, type_, span=span)

    # Statements
    def local(self, meta: Meta, children: list[Any]) -> s.Local:
        _, name, type_, value, when = children
        return s.Local(self._check_name(name), type_, value, when, span=self._make_span(meta))

    def assign(self, meta: Meta, children: list[Any]) -> s.Assign:
        atomic, target, op, value = children
        return s.Assign(target, str(op), value, atomic is not None, span=self._make_span(meta))

    def invoke(self, meta: Meta, children: list[Any]) -> s.Invoke:
        spawn, call, _, along = children
        return s.Invoke(call, spawn is not None, along or (), span=self._make_span(meta))

    def amount(self, meta: Meta, children: list[Any]) -> tuple[Any, str]:
        return children[0], str(children[1])

    def transfer(self, meta: Meta, children: list[Any]) -> s.Transfer:
        direction, target, _, value, when = children
        return s.Transfer(str(direction), target, value, when, span=self._make_span(meta))

    def communicate(self, meta: Meta, children: list[Any]) -> s.Communicate:
        operation, buffer, *clauses = children
        return s.Communicate(str(operation), buffer, tuple(clauses), span=self._make_span(meta))

    def clause(self, meta: Meta, children: list[Any]) -> s.Clause:
        keyword, value, *when = children
        values = value if isinstance(value, tuple) else (value,)
        return s.Clause(str(keyword), values, when[0] if when else None, span=self._make_span(meta))

    def with_operator(self, meta: Meta, children: list[Any]) -> s.Clause:
        operator = s.Name(str(children[1]), span=self._make_span(children[1]))
        return s.Clause("with", (operator,), span=self._make_span(meta))

    def using(self, meta: Meta, children: list[Any]) -> s.Clause:
        name = s.Name(str(children[1]), span=self._make_span(children[1]))
        return s.Clause("using", (name,), span=self._make_span(meta))

    def loop(self, meta: Meta, children: list[Any]) -> s.Loop:
        parallel, name, lo, direction, hi, step, body = children
        down = direction.type == "DOWNTO"
        return s.Loop(
            self._check_name(name),
            lo,
            hi,
            step,
            down,
            parallel is not None,
            body,
            span=self._make_header_span(meta, name),
        )

    def _make_header_span(self, meta: Meta, name: Token) -> Span:
        """Return the header's line: a diagnostic about a loop points at it, not at the body. `name` has no effect."""
        span = self._make_span(meta)
        line = self._source.lines[span.line - 1] if span.line <= len(self._source.lines) else ""
        return Span(self._source, span.line, span.column, span.line, max(len(line.rstrip()), span.column) + 1)

    def while_(self, meta: Meta, children: list[Any]) -> s.While:
        condition, limit, body = children
        return s.While(condition, limit, body, span=self._make_header_span(meta, Token("NAME", "")))

    def if_(self, meta: Meta, children: list[Any]) -> s.If:
        condition, body, *rest = children
        head = self._make_header_span(meta, Token("NAME", ""))
        first = s.Branch(condition, body, span=head)
        return s.If((first, *(branch for branch in rest if branch is not None)), span=head)

    def elif_(self, meta: Meta, children: list[Any]) -> s.Branch:
        return s.Branch(children[0], children[1], span=self._make_header_span(meta, Token("NAME", "")))

    def else_(self, meta: Meta, children: list[Any]) -> s.Branch:
        return s.Branch(None, children[0], span=self._make_header_span(meta, Token("NAME", "")))

    # Items
    def use(self, meta: Meta, children: list[Any]) -> s.Use:
        return s.Use(tuple(str(part) for part in children), span=self._make_span(meta))

    def extern(self, meta: Meta, children: list[Any]) -> s.Extern:
        name, parameters, result, costs = children
        return s.Extern(
            self._check_name(name), parameters or (), str(result) if result else None, costs, span=self._make_span(meta)
        )

    def claim(self, meta: Meta, children: list[Any]) -> s.Claim:
        title, left, relation, right, *conditions = children
        settings: dict[str, Any] = {}
        for name, value, span in conditions:
            if name in settings:
                raise error(rules.UNEXPECTED, f"a claim has only one `{name}`", span=span, hint="join them with commas")
            settings[name] = value
        self.sized = None
        title, where, on, at = (
            _strip_quotes(title),
            settings.get("where", ()),
            settings.get("on"),
            settings.get("at", ()),
        )
        return s.Claim(title, left, str(relation), right, where, on, at, span=self._make_span(meta))

    def condition(self, meta: Meta, children: list[Any]) -> tuple[str, Any, Span]:
        word, value, *model = children
        span = self._make_span(meta)
        if word == "on":
            value = s.On(str(_strip_quotes(value)), model[-1] if model else None, span=span)
        elif word == "at":
            value = tuple((name, number) for name, number, _ in value)
        return str(word), value, span

    def model(self, meta: Meta, children: list[Any]) -> str:
        return "".join(map(str, children))

    def setting(self, meta: Meta, children: list[Any]) -> tuple[str, Any, Span]:
        return str(children[0]), children[1], self._make_span(children[0])

    def values(self, meta: Meta, children: list[Any]) -> tuple[tuple[str, Any, Span], ...]:
        *names, value = children
        return tuple((str(name), value, self._make_span(name)) for name in names)

    def growth(self, meta: Meta, children: list[Any]) -> str:
        return str(children[0])

    def doc(self, meta: Meta, children: list[Any]) -> tuple[str, str]:
        return ("doc", str(children[0])[1:-1])

    def where(self, meta: Meta, children: list[Any]) -> tuple[str, Any]:
        return ("where", children[0])

    def decreases(self, meta: Meta, children: list[Any]) -> tuple[str, Any]:
        return ("decreases", children[0])

    def ensures(self, meta: Meta, children: list[Any]) -> tuple[str, s.Ensures]:
        metric, processors, relation, bound, when = children
        return (
            "ensures",
            s.Ensures(str(metric), processors, str(relation), bound, when or (), span=self._make_span(meta)),
        )

    growth_ensures = ensures

    def algorithm(self, meta: Meta, children: list[Any]) -> s.Algorithm:
        name, parameters, result, grid, doc, *rest = children
        parts: dict[str, list[Any]] = {"where": [], "ensures": [], "decreases": []}
        body = []
        for child in rest:
            if isinstance(child, tuple):
                parts[child[0]].append(child[1])
            else:
                body.append(child)
        return s.Algorithm(
            self._check_name(name),
            parameters or (),
            str(result) if result else None,
            grid or (),
            doc[1] if doc else None,
            tuple(fact for facts in parts["where"] for fact in facts),
            tuple(parts["ensures"]),
            tuple(expr for exprs in parts["decreases"] for expr in exprs),
            tuple(body),
            self._make_span(name),
            span=self._make_header_span(meta, name),
        )

    def setting_list(self, meta: Meta, children: list[Any]) -> Any:
        return tuple(chain.from_iterable(children))

    def __default__(self, data: Any, children: list[Any], meta: Meta) -> Any:
        """Build the node of any other rule: the rule names the class, and its children are the fields in order."""
        kind = getattr(s, "".join(word.capitalize() for word in data.split("_")))
        parts = (
            child
            if not isinstance(child, Token)
            else self._check_name(child)
            if part in ("name", "group")
            else str(child)
            for part, child in zip(kind.__match_args__, children, strict=True)
        )
        return kind(*parts, span=self._make_span(meta))


def _list_parts(subscript: s.Expr | s.Slice) -> list[s.Expr]:
    if isinstance(subscript, s.Slice):
        return [part for part in (subscript.lo, subscript.hi, subscript.step) if part is not None]
    return [subscript]


def _strip_quotes(token: Token | None) -> str | None:
    return str(token)[1:-1] if token is not None else None
