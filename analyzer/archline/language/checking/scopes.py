"""Names of a body are symbols with the roles defined here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum

from archline.expr.text import format_expression
from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.diagnostics import propose_text
from archline.language.model import ExprType, Kind, Signature
from archline.language.proposals import join_hints
from archline.records import record

MACHINE_SYMBOLS = ("P", "Z", "L", "K")


def list_machine_symbols(signature: Signature) -> tuple[str, ...]:
    """Return the machine symbols that are not sizes or indices of the algorithm."""
    return tuple(name for name in MACHINE_SYMBOLS if name not in (*signature.size_names, *signature.indices))


def suggest_static_form(expr: s.Expr, algorithm: s.Algorithm, types: Mapping[s.Expr, ExprType]) -> str | None:
    """Suggest declarations, such as `let` or `size`, that make an integer expression static; None if there are none."""
    hints: list[str | None] = [None for _ in s.find_nodes(expr, s.Element)]
    for name in (name for name in s.find_nodes(expr, s.Name) if types.get(name) is not Kind.STATIC):
        setters = [statement for statement in s.find_nodes(algorithm.body, s.Simple) if name.id in statement.sets]
        constant = all(isinstance(setter, s.Local) for setter in setters)
        match [setter for setter in setters if setter.span.line <= name.span.line]:
            case [*_, s.Local(value=s.Node() as value)] if constant and value in types:
                setter = setters[-1] if setters[-1].span.line <= name.span.line else setters[0]
                hints += [suggest_static_form(value, algorithm, types), _suggest_let(setter, name.id, value)]
            case []:
                parameter = next((item for item in algorithm.parameters if item.name == name.id and not setters), None)
                if parameter is None or not isinstance(parameter.type, s.ScalarType):
                    hints.append(None)
                else:
                    hints.append(propose_text(parameter.span, f"{name.id}: size", "declare `{}`"))
            case _:
                hints.append(None)
    return None if None in hints else join_hints(hint for hint in hints if hint)


def _suggest_let(setter: s.Simple, name: str, value: s.Expr) -> str:
    """Propose a `let` in place of a local, without an edit if the author wrote no declaration."""
    text = f"let {name} = {format_expression(value)}"
    written = re.match(rf"(?:local\s+)?{name}\s*:", setter.span.text)
    return propose_text(setter.span, text) if written else f"write `{text}`"


class Role(Enum):
    """The kind of definition that a name comes from; the value is its name in messages."""

    SIZE = "size"
    INDEX = "index"
    SCALAR = "scalar parameter"
    ARRAY = "array"
    LET = "`let` name"
    LOOP = "loop variable"
    COORDINATE = "grid coordinate"
    MACHINE = "machine symbol"
    REGISTER = "register"

    @property
    def described(self) -> str:
        """The role's name in messages, with its article."""
        return f"{'an' if self.value[0] in 'ai' else 'a'} {self.value}"


@record(eq=False)
class SymbolEntry:
    """The definition of a name. `shape` has the extents of an array or view.

    `writable` is false for `in` parameters and their views, `shared` true for the global arrays of an algorithm on a
    grid. `offsets` is the declared type of an offsets parameter, `value` the expression of a `let` name of an integer,
    and `origin` the array that a view views. `logical` is true for names declared as `bool`.
    """

    name: str
    role: Role
    type: ExprType
    span: Span
    shape: tuple[s.Expr, ...] = ()
    writable: bool = False
    shared: bool = False
    offsets: s.OffsetsType | None = None
    value: s.Expr | None = None
    origin: str | None = None
    logical: bool = False


class SymbolTable:
    """The names in scope, by nested blocks; `ended` has the definitions of blocks that were left, for hints."""

    def __init__(self) -> None:
        self._symbols: dict[str, SymbolEntry] = {}
        self._undo: list[list[tuple[str, SymbolEntry | None]]] = [[]]
        self.ended: dict[str, SymbolEntry] = {}

    def find(self, name: str) -> SymbolEntry | None:
        return self._symbols.get(name)

    def define(self, symbol: SymbolEntry) -> None:
        self._undo[-1].append((symbol.name, self._symbols.get(symbol.name)))
        self._symbols[symbol.name] = symbol

    def enter(self) -> None:
        self._undo.append([])

    def leave(self) -> None:
        for name, before in reversed(self._undo.pop()):
            self.ended[name] = self._symbols.pop(name)
            if before is not None:
                self._symbols[name] = before

    def names(self, selects: Callable[[SymbolEntry], bool] = lambda _: True) -> Iterable[str]:
        """Return the names of the symbols in scope that satisfy a predicate."""
        return [name for name, symbol in self._symbols.items() if selects(symbol)]
