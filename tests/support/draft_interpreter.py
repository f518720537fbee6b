"""An interpreter of first drafts that counts by the cost rules, on the trees of the grammar, before any elaboration.

It shares the grammar with the product, and nothing else: names, views, records, sums and calls are resolved here once
more, as docs/reference/cost-rules.md and docs/reference/language.md have them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from lark import Token, Tree

from archline.expr.tree import Source
from archline.language.lark_parser import load_grammar
from archline.language.parser import split_items

STRUCTURES = Path(__file__).parents[2] / "stdlib" / "structures"
KNOWN, BOOL, INT, REAL, INFINITE = range(5)
"""How a value is counted: sizes are free, an operation with data counts, and one with a real is a flop."""
SCALARS = {"real": REAL, "int": INT, "bool": BOOL, "char": BOOL}
WORDS = {"true": (BOOL, 1), "false": (BOOL, 0), "inf": (INFINITE, math.inf), "infinity": (INFINITE, math.inf)}
COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "≤": operator.le, "≥": operator.ge, "≠": operator.ne,
}  # fmt: skip
LOGICAL = {"and": True, "&&": True, "or": False, "||": False}


def _raise_to_power(base: Any, exponent: Any) -> Any:
    """Return a power, which is infinite where it is too large for a real."""
    if not isinstance(base, float):
        return base**exponent
    with np.errstate(over="ignore"):
        return float(np.float64(base) ** exponent)


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "div": operator.floordiv,
    "%": operator.mod, "mod": operator.mod, "/": operator.truediv, "^": _raise_to_power, "**": _raise_to_power,
    "min": min, "max": max, "<<": lambda left, right: left * 2**right, ">>": lambda left, right: left // 2**right,
}  # fmt: skip
REAL_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "sin": math.sin,
    "cos": math.cos,
}
REDUCTIONS = {"sum": "+", "dot": "+", "norm": "+", "min": "min", "max": "max"}
Kind = tuple[Any, int]
"""The element of a name or an expression, and its number of dimensions; the element of a record is its type."""


class _BreakError(Exception):
    pass


class _ContinueError(Exception):
    pass


class _ReturnError(Exception):
    pass


class _UnknownKindError(Exception):
    pass


@dataclass
class Cell:
    """A register."""

    kind: int
    value: Any = None


@dataclass
class Place(Cell):
    """An element that a call sets: what it held, and what stores into it."""

    put: Callable[[Any], None] | None = None


@dataclass
class View:
    """An array or a part of one."""

    kind: int
    data: np.ndarray[Any, Any]


@dataclass
class Record:
    """The fields and sizes of a record."""

    type: str
    fields: dict[str, Any]
    sizes: dict[str, int]


@dataclass
class Algorithm:
    """An algorithm of the text, and where the names that it does not declare live."""

    name: str
    parameters: list[Tree[Any]]
    body: list[Tree[Any]]
    declared_result: str | None
    result: int | None = None
    resolved: bool = False
    homes: dict[int, dict[str, Kind]] = field(default_factory=dict)
    """The names that each block declares in silence, by the identity of the list of its statements."""
    lets: set[int] = field(default_factory=set)
    """The assignments that are a `let`, by identity."""
    assigned: dict[int, list[str]] = field(default_factory=dict)
    """The sizes that become registers at a statement of the body."""


def _trees(parts: Any) -> Iterator[Tree[Any]]:
    return (part for part in parts if isinstance(part, Tree))


def _blocks(statement: Tree[Any]) -> list[list[Tree[Any]]]:
    """Return the statement lists right below a statement."""
    found = []
    for child in _trees(statement.children):
        if child.data == "statement_block":
            found.append(child.children)
        elif child.data in ("elif_", "else_"):
            found += _blocks(child)
    return found


def _spread(block: list[Any]) -> list[Any]:
    """Put statements that share a line one after the other, in place."""
    flat = [part for one in block for part in (one.children if one.data == "statement_line" else [one])]
    block[:] = [one.children[0] if one.data == "statement" else one for one in flat]
    for statement in block:
        for inner in _blocks(statement):
            _spread(inner)
    return block


def _mentions(part: Any, name: str) -> bool:
    if isinstance(part, Token):
        return part.type == "NAME" and str(part) == name
    return isinstance(part, Tree) and any(_mentions(child, name) for child in part.children)


def _without_blocks(statement: Tree[Any]) -> Iterator[Any]:
    for child in statement.children:
        if isinstance(child, Tree) and child.data in ("elif_", "else_"):
            yield from _without_blocks(child)
        elif not (isinstance(child, Tree) and child.data == "statement_block"):
            yield child


def _target_name(target: Tree[Any]) -> str | None:
    inner = target.children[0]
    return str(inner.children[0]) if inner.data == "name" else None


class Interpreter:
    """Runs one algorithm of a text, and counts."""

    def __init__(self, text: str) -> None:
        self.work = self.flops = self.span = self.accesses = 0
        self.steps_left = 3_000_000
        self.left: dict[str, Any] = {}
        """What the parameters hold after a run."""
        self._targets: list[View] = []
        """The views that are being set, the innermost last."""
        self._algorithms: dict[tuple[str | None, str], Algorithm] = {}
        self._records: dict[str, Tree[Any]] = {}
        self._abbreviations: dict[str, tuple[list[str], Tree[Any]]] = {}
        for library in sorted(STRUCTURES.glob("*.algo")):
            self._load(library.read_text("utf-8"))
        self._load(text)

    # Reading
    def _load(self, text: str) -> None:
        for first, lines in split_items(Source("<draft>", text)):
            written = "\n" * (first - 1) + "\n".join(lines) + "\n"
            (item,) = _trees(load_grammar().parse(written, start="start").children)
            children = item.children
            if item.data == "record_definition":
                self._records[str(children[0])] = item
            elif item.data == "abbreviation_definition":
                names = [str(name.children[0]) for name in _trees(children[1].children)] if children[1] else []
                self._abbreviations[str(children[0])] = (names, children[2])
            elif item.data == "algorithm":
                name, parameters, result = children[0], children[1], children[2]
                listed = list(_trees(parameters.children)) if parameters is not None else []
                clauses = ("doc", "where", "ensures", "decreases", "axes")
                body = _spread([part for part in _trees(children[3:]) if part.data not in clauses])
                first = listed[0].children[-1] if listed else None
                owner = str(first.children[0]) if first is not None and first.data == "record_type" else None
                self._algorithms[owner, str(name)] = Algorithm(str(name), listed, body, result and str(result))

    # Kinds of names
    def _resolve(self, algorithm: Algorithm) -> None:
        if algorithm.resolved:
            return
        algorithm.resolved = True
        names: dict[str, Kind] = {}
        for parameter in algorithm.parameters:
            names |= self._read_type(str(parameter.children[0]), parameter.children[-1])
            for tree in parameter.children[-1].iter_subtrees():
                if tree.data == "name":
                    names.setdefault(str(tree.children[0]), (KNOWN, 0))
            type_ = parameter.children[-1]
            if type_.data == "record_type" and str(type_.children[0]) in self._records:
                for size in _trees(self._records[str(type_.children[0])].children[1].children):
                    names.setdefault(str(size.children[0]), (KNOWN, 0))
        for number, statement in enumerate(algorithm.body):
            for name in [name for name, kind in names.items() if kind == (KNOWN, 0)]:
                if name in self._list_set_names(statement) and not any(
                    name in old for old in algorithm.assigned.values()
                ):
                    algorithm.assigned.setdefault(number, []).append(name)
        for several in algorithm.assigned.values():
            names |= dict.fromkeys(several, (INT, 0))
        self._place(algorithm, algorithm.body, frozenset(names))
        for _ in range(5):
            before = repr(algorithm.homes.values())
            stored: dict[tuple[int, str], list[tuple[Kind, int, bool]]] = {}
            self._collect(algorithm, algorithm.body, dict(names), {}, stored)
            algorithm.lets.clear()
            for (home, name), kinds in stored.items():
                element, rank = (
                    max((kind[0] for kind, _, _ in kinds if isinstance(kind[0], int)), default=kinds[0][0][0]),
                    max(kind[1] for kind, _, _ in kinds),
                )
                if element == INFINITE:
                    element = max((kind[0] for kind, _, _ in kinds if kind[0] != INFINITE), default=INT)
                if element == KNOWN and rank == 0:
                    if len(kinds) == 1 and kinds[0][2]:
                        algorithm.lets.add(kinds[0][1])
                    else:
                        element = INT
                algorithm.homes[home][name] = (element, rank)
            if repr(algorithm.homes.values()) == before:
                break
        returned: list[int] = []
        self._collect(algorithm, algorithm.body, dict(names), {}, {}, returned)
        if algorithm.declared_result is not None:
            algorithm.result = SCALARS[algorithm.declared_result]
        elif returned:
            algorithm.result = max(INT if kind == KNOWN else kind for kind in returned)

    def _list_set_names(self, statement: Any) -> list[str]:
        """Return the names without subscripts that a statement, or one inside it, assigns."""
        found: list[str] = []
        for tree in statement.iter_subtrees_topdown():
            if tree.data in ("assign", "multiple_assignment", "unit_increment", "update"):
                found += [
                    name
                    for target in _trees(tree.children)
                    if target.data == "target" and (name := _target_name(target))
                ]
            elif tree.data == "call":
                found += self._list_outputs(tree)
        return found

    def _list_outputs(self, call: Tree[Any]) -> list[str]:
        function, parts = call.children[0], list(_trees(call.children[1].children)) if call.children[1] else []
        if str(function) == "swap":
            return [str(part.children[0]) for part in parts if part.data == "name"]
        called = self._algorithms.get((None, str(function))) if isinstance(function, Token) else None
        if called is None:
            return []
        pairs = zip(called.parameters, parts, strict=False)
        return [
            str(part.children[0])
            for parameter, part in pairs
            if part.data == "name"
            and str(parameter.children[1]) in ("out", "inout")
            and parameter.children[-1].data == "scalar_type"
        ]

    def _place(self, algorithm: Algorithm, block: list[Tree[Any]], visible: frozenset[str]) -> None:
        """Choose the innermost block that has all uses of a name; blocks that each set it first have one each."""
        own = {str(part.children[1]) for part in block if part.data == "local"} | {
            str(part.children[0]) for part in block if part.data == "let"
        }
        hidden = visible | own
        for name in self._list_free_names(block):
            if name not in hidden and not self._is_split(block, name):
                algorithm.homes.setdefault(id(block), {})[name] = (None, 0)
        hidden |= algorithm.homes.get(id(block), {}).keys()
        for statement in block:
            bound = {str(name) for name in self._read_variable(statement)}
            for inner in _blocks(statement):
                self._place(algorithm, inner, hidden | bound)

    def _list_free_names(self, block: list[Tree[Any]]) -> list[str]:
        """Return the names that a block assigns and does not declare."""
        own = {str(part.children[1]) for part in block if part.data == "local"}
        own |= {str(part.children[0]) for part in block if part.data == "let"}
        found: list[str] = []
        for part in block:
            inner = _blocks(part)
            bound = {str(name) for name in self._read_variable(part)}
            found += [name for one in inner for name in self._list_free_names(one) if name not in bound]
            found += [] if inner else self._list_set_names(part)
        return [name for name in dict.fromkeys(found) if name not in own]

    def _is_split(self, block: list[Tree[Any]], name: str) -> bool:
        users = [part for part in block if _mentions(part, name)]
        return all(
            bool(_blocks(part))
            and not any(_mentions(child, name) for child in _without_blocks(part))
            and all(self._sets_first(inner, name) for inner in _blocks(part))
            for part in users
        )

    def _sets_first(self, block: list[Tree[Any]], name: str) -> bool:
        for part in block:
            if not _mentions(part, name):
                continue
            if part.data == "assign" and str(part.children[2]) in ("=", ":=", "←", "<-"):
                return _target_name(part.children[1]) == name and not _mentions(part.children[3], name)
            if part.data in ("assign", "unit_increment", "invoke", "return_exit"):
                return False
            if part.data == "multiple_assignment":
                targets = [target for target in _trees(part.children) if target.data == "target"]
                values = [value for value in _trees(part.children) if value.data != "target"]
                return any(_target_name(target) == name for target in targets) and not any(
                    _mentions(value, name) for value in values
                )
            rest = [later for later in block if _mentions(later, name)]
            return self._is_split(rest, name)
        return True

    @staticmethod
    def _read_variable(statement: Tree[Any]) -> list[Token]:
        if statement.data in ("loop", "loop_over"):
            return [statement.children[1].children[0].children[0]]
        return []

    def _collect(
        self, algorithm: Algorithm, block: list[Tree[Any]], names: dict[str, Kind], homes: dict[str, int],
        stored: dict[tuple[int, str], list[tuple[Kind, int, bool]]], returned: list[int] | None = None,
    ) -> None:  # fmt: skip
        """Collect the kinds of the values of undeclared names."""
        here = algorithm.homes.get(id(block), {})
        names, homes = {**names, **here}, {**homes, **dict.fromkeys(here, id(block))}

        def store(name: str | None, value: Tree[Any] | None, statement: Tree[Any], plain: bool) -> None:
            if name in homes:
                try:
                    kind = (KNOWN, 0) if value is None else self._kind(value, names)
                except _UnknownKindError:
                    return
                stored.setdefault((homes[name], name), []).append(
                    (kind, id(statement), plain and homes[name] == id(block))
                )

        for part in block:
            children = part.children
            if part.data == "assign":
                store(_target_name(children[1]), children[3], part, str(children[2]) in ("=", ":=", "←", "<-"))
            elif part.data in ("unit_increment", "update"):
                store(_target_name(children[0]), None, part, False)
            elif part.data == "multiple_assignment":
                targets = [target for target in _trees(children) if target.data == "target"]
                values = [value for value in _trees(children) if value.data != "target"]
                for target, value in zip(targets, values, strict=True):
                    store(_target_name(target), value, part, False)
            elif part.data == "let":
                try:
                    names[str(children[0])] = self._kind(children[1], names)
                except _UnknownKindError:
                    names[str(children[0])] = (None, 0)
            elif part.data == "local":
                names |= self._read_type(str(children[1]), children[2])
            elif part.data == "return_exit" and children[0] is not None and returned is not None:
                returned.append(self._kind(children[0], names)[0])
            inside = dict(names)
            for variable in self._read_variable(part):
                kind = (KNOWN, 0)
                if part.data == "loop_over" and not self._is_range(children[3]):
                    try:
                        kind = (self._kind(children[3], names)[0], 0)
                    except _UnknownKindError:
                        kind = (None, 0)
                inside[str(variable)] = kind
            for tree in part.iter_subtrees() if not _blocks(part) else ():
                if tree.data == "call":
                    for name in self._list_outputs(tree):
                        self._store_output(tree, name, homes, stored, names)
            for inner in _blocks(part):
                self._collect(algorithm, inner, inside, homes, stored, returned)

    def _store_output(self, call: Tree[Any], name: str, homes: Any, stored: Any, names: dict[str, Kind]) -> None:
        if name in homes:
            called = self._algorithms.get((None, str(call.children[0])))
            kind = names.get(name, (KNOWN, 0))
            if called is not None:
                for parameter, part in zip(called.parameters, _trees(call.children[1].children), strict=False):
                    if part.data == "name" and str(part.children[0]) == name:
                        kind = self._read_type("", parameter.children[-1])[""]
            stored.setdefault((homes[name], name), []).extend([(kind, id(call), False), (kind, id(call), False)])

    def _read_type(self, name: str, type_: Tree[Any]) -> dict[str, Kind]:
        if type_.data in ("size_type", "index_type"):
            return {name: (KNOWN, 0)}
        if type_.data == "bounded_integer":
            return {name: (INT, 0)}
        if type_.data == "scalar_type":
            return {name: (SCALARS[str(type_.children[0])], 0)}
        if type_.data == "array_type":
            return {name: (SCALARS[str(type_.children[0])], len(list(_trees(type_.children[1].children))))}
        if type_.data in ("offsets_type", "index_array_type"):
            return {name: (INT, 1)}
        if type_.data == "record_type" and str(type_.children[0]) == "vertex":
            return {name: (INT, 0)}
        found: dict[str, Kind] = {name: (str(type_.children[0]), 0)}
        for part in _trees(self._records[str(type_.children[0])].children):
            if part.data == "field":
                found |= self._read_type(f"{name}.{part.children[0]}", part.children[1])
        return found

    def _kind(self, expr: Tree[Any], names: dict[str, Kind]) -> Kind:
        """Return the kind of an expression without running it."""
        children = expr.children
        match expr.data:
            case "integer":
                return KNOWN, 0
            case "real":
                return REAL, 0
            case "name":
                name = str(children[0])
                if name in names:
                    if names[name][0] is None:
                        raise _UnknownKindError
                    return names[name]
                if name in self._abbreviations:
                    return self._kind(self._abbreviations[name][1], names)
                return (REAL if name == "pi" else WORDS[name][0]), 0
            case "field_of":
                record = self._kind(Tree("name", [children[0]]), names)[0]
                definition = Tree("record_type", [record])
                return self._read_type("", definition)[f".{children[1]}"]
            case "group":
                return self._kind(children[0], names)
            case "comparison_chain":
                return BOOL, 0
            case "unary":
                return (BOOL, 0) if str(children[0]) in ("not", "!") else self._kind(children[-1], names)
            case "binary":
                symbol = str(children[1])
                if symbol in COMPARISONS or symbol in LOGICAL:
                    return BOOL, 0
                left, right = self._kind(children[0], names), self._kind(children[2], names)
                element = max(left[0], right[0]) if INFINITE not in (left[0], right[0]) else min(left[0], right[0])
                rank = left[1] + right[1] - 2 if symbol == "@" else max(left[1], right[1])
                return INT if element == BOOL else element, rank
            case "value_choice":
                return max(self._kind(children[0], names), self._kind(children[2], names))
            case "element":
                base = self._kind(children[0] if isinstance(children[0], Tree) else Tree("name", [children[0]]), names)
                indices = sum(not str(part.data).startswith("slice") for part in children[1:])
                return base[0], base[1] - indices
            case "range_comprehension" | "comprehension_over":
                return self._kind(children[0], {**names, str(children[1]): (KNOWN, 0)})
            case "call":
                return self._kind_of_call(expr, names)
            case _:
                raise NotImplementedError(expr.data)

    def _kind_of_call(self, call: Tree[Any], names: dict[str, Kind]) -> Kind:
        function, parts = call.children[0], list(_trees(call.children[1].children)) if call.children[1] else []
        if isinstance(function, Tree):
            owner = self._kind(Tree("name", [function.children[0]]), names)[0]
            name = str(function.children[1])
            if name in self._abbreviations:
                return INT, 1
            called = self._algorithms[owner, name]
        else:
            name = str(function)
            if name in self._records:
                return name, 0
            kinds = [self._kind(part, names) for part in parts]
            if name in self._abbreviations:
                parameters, value = self._abbreviations[name]
                return self._kind(value, {**names, **dict(zip(parameters, kinds, strict=True))})
            if name in REAL_FUNCTIONS or name in ("real_of", "norm"):
                return REAL, 0 if name == "norm" else kinds[0][1]
            if name in ("sum", "dot") or (name in ("min", "max") and len(parts) == 1):
                return (REAL if max(kind[0] for kind in kinds) == REAL else INT), 0
            if name in ("min", "max", "abs"):
                return max(kinds)
            if name == "transpose":
                return kinds[0]
            if name == "len":
                return KNOWN, 0
            owner = kinds[0][0] if kinds and (kinds[0][0], name) in self._algorithms else None
            called = self._algorithms[owner, name]
        if called.declared_result is not None:
            return SCALARS[called.declared_result], 0
        self._resolve(called)
        if called.result is None and len(parts) < len(called.parameters):
            return self._read_type("", called.parameters[-1].children[-1])[""]
        # A recursive call adds nothing to what the other values of a result are.
        return (KNOWN if called.result is None else called.result), 0

    def _is_range(self, over: Tree[Any]) -> bool:
        return over.data == "exprs" or (over.data == "call" and str(over.children[0]) == "range")

    # Counting
    def _count(self, *kinds: int) -> int:
        """Count one operation; return the kind of its result."""
        if REAL in kinds:
            self.flops += 1
        if any(kind != KNOWN for kind in kinds):
            self.work += 1
            self.span += 1
        found = [kind for kind in kinds if kind != INFINITE] or [INT]
        return INT if max(found) == BOOL else max(found)

    def _tick(self) -> None:
        self.work += 1
        self.span += 1
        self.steps_left -= 1
        if self.steps_left < 0:
            raise TimeoutError

    def _nest(self, shape: tuple[int, ...], body: Callable[[tuple[int, ...]], None], at: tuple[int, ...] = ()) -> None:
        if not shape:
            body(at)
            return
        self._in_parallel(range(shape[0]), lambda index: self._nest(shape[1:], body, (*at, index)))

    def _in_parallel(self, values: Any, body: Callable[[Any], None], trees: int = 1) -> None:
        start, longest = self.span, 0
        for value in values:
            self.span = 0
            self._tick()
            body(value)
            longest = max(longest, self.span)
        depth = math.ceil(math.log2(len(values))) if len(values) else 0
        self.span = start + trees * depth + longest

    # Calls
    def run(self, name: str, arguments: dict[str, Any]) -> Any:
        """Run an algorithm on arrays and numbers, by the names of its parameters, and return its result."""
        algorithm = (
            self._algorithms[None, name]
            if (None, name) in self._algorithms
            else next(found for (_, called), found in self._algorithms.items() if called == name)
        )
        values = [self._wrap(parameter, arguments) for parameter in algorithm.parameters]
        result = self._call(algorithm, values)
        for parameter, value in zip(algorithm.parameters, values, strict=True):
            if isinstance(value, View | Cell):
                self.left[str(parameter.children[0])] = value.data if isinstance(value, View) else value.value
        return None if result is None else self._value(result)

    def _wrap(self, parameter: Tree[Any], arguments: dict[str, Any]) -> Any:
        name, type_ = str(parameter.children[0]), parameter.children[-1]
        if type_.data in ("size_type", "index_type"):
            return KNOWN, int(arguments[name])
        if type_.data == "record_type" and str(type_.children[0]) != "vertex":
            record = self._records[str(type_.children[0])]
            fields = {
                str(part.children[0]): part.children[1] for part in _trees(record.children) if part.data == "field"
            }
            values = {
                part: self._wrap(Tree("parameter", [Token("NAME", f"{name}.{part}"), None, None, kind]), arguments)
                for part, kind in fields.items()
            }
            sizes: dict[str, Any] = {}
            for part, kind in fields.items():
                self._bind_sizes(kind, values[part], sizes)
            return Record(str(type_.children[0]), values, {size: self._value(value) for size, value in sizes.items()})
        element, rank = self._read_type("", type_)[""]
        if rank == 0:
            return Cell(element, arguments[name])
        return View(element, np.array(arguments[name], dtype=float if element == REAL else object))

    def _call(self, algorithm: Algorithm, arguments: list[Any]) -> Any:
        self._tick()
        self._resolve(algorithm)
        frame: dict[str, Any] = {}
        returned_array = None
        places: list[tuple[Cell, Any]] = []
        for parameter, argument in zip(algorithm.parameters, arguments, strict=False):
            self._bind_sizes(parameter.children[-1], argument, frame)
        for parameter, argument in zip(algorithm.parameters, arguments, strict=False):
            name, mode, type_ = str(parameter.children[0]), str(parameter.children[1]), parameter.children[-1]
            element, rank = self._read_type(name, type_)[name]
            if rank or isinstance(argument, Record):
                frame[name] = argument
            elif element == KNOWN:
                frame[name] = (KNOWN, self._value(argument))
            else:
                frame[name] = Cell(element, None if mode == "out" else self._value(argument))
                if mode in ("out", "inout"):
                    places.append((frame[name], argument))
        if len(arguments) < len(algorithm.parameters):
            last = algorithm.parameters[-1]
            returned_array = self._allocate(last.children[-1], frame)
            frame[str(last.children[0])] = returned_array
        result = None
        try:
            self._run_block(algorithm.body, frame, algorithm)
        except _ReturnError as exit_:
            result = exit_.args[0]
        for cell, place in places:
            if isinstance(place, Place) and place.put is not None:
                place.put((cell.kind, cell.value))
            else:
                place.value = cell.value
        if returned_array is not None:
            return returned_array
        if result is None:
            return None
        assert algorithm.result is not None
        return max(algorithm.result, BOOL), self._value(result)

    def _bind_sizes(self, type_: Tree[Any], argument: Any, frame: dict[str, Any]) -> None:
        if isinstance(argument, Record):
            declared = [str(size.children[0]) for size in _trees(self._records[argument.type].children[1].children)]
            given = type_.children[1] if len(type_.children) > 1 else None
            names = (
                [str(size.children[0]) if size.data == "name" else None for size in _trees(given.children)]
                if given
                else declared
            )
            for name, size in zip(names, declared, strict=True):
                if name is not None:
                    frame[name] = (KNOWN, argument.sizes[size])
        elif isinstance(argument, View) and type_.data in ("array_type", "index_array_type"):
            extents = type_.children[1] if type_.data == "array_type" else type_.children[0]
            for extent, length in zip(_trees(extents.children), argument.data.shape, strict=True):
                if extent.data == "name":
                    frame[str(extent.children[0])] = (KNOWN, length)
        elif isinstance(argument, View) and type_.data == "offsets_type":
            frame[str(type_.children[0].children[0])] = (KNOWN, len(argument.data) - 1)

    def _allocate(self, type_: Tree[Any], frame: dict[str, Any]) -> View:
        element = SCALARS[str(type_.children[0])]
        shape = [int(self._value(self._evaluate(extent, frame))) for extent in _trees(type_.children[1].children)]
        return self._make_array(element, tuple(shape))

    @staticmethod
    def _make_array(element: int, shape: tuple[int, ...]) -> View:
        data = np.zeros(shape, dtype=float if element == REAL else object)
        return View(element if element != KNOWN else INT, data)

    def _make_record(self, name: str, sizes: list[int]) -> Record:
        definition = self._records[name]
        names = [str(size.children[0]) for size in _trees(definition.children[1].children)]
        frame: dict[str, Any] = {size: (KNOWN, value) for size, value in zip(names, sizes, strict=True)}
        fields: dict[str, Any] = {}
        for part in _trees(definition.children):
            if part.data == "field":
                type_ = part.children[1]
                scalar = type_.data == "scalar_type"
                fields[str(part.children[0])] = (
                    Cell(SCALARS[str(type_.children[0])], 0) if scalar else self._allocate(type_, frame)
                )
        record = Record(name, fields, dict(zip(names, sizes, strict=True)))
        if (name, "start") in self._algorithms:
            self._call(self._algorithms[name, "start"], [record])
        return record

    # Statements
    def _run_block(self, block: list[Tree[Any]], frame: dict[str, Any], algorithm: Algorithm) -> None:
        for name, (element, rank) in algorithm.homes.get(id(block), {}).items():
            frame.pop(name, None)
            if isinstance(element, int) and rank == 0:
                frame[name] = Cell(element)
        for number, statement in enumerate(block):
            if block is algorithm.body:
                for name in algorithm.assigned.get(number, ()):
                    frame[name] = Cell(INT, self._value(frame[name]))
            self._run_statement(statement, frame, algorithm)

    def _enter_branch(self, branch: Tree[Any], algorithm: Algorithm) -> None:
        """Come to a branch of an `if`, whose test or else whose block is next."""

    def _test(self, condition: Tree[Any], frame: dict[str, Any]) -> bool:
        value = self._value(self._evaluate(condition, frame))
        self._tick()
        return bool(value)

    def _run_statement(self, statement: Tree[Any], frame: dict[str, Any], algorithm: Algorithm) -> None:
        children = statement.children
        match statement.data:
            case "pass_" | "assume":
                pass
            case "break_exit":
                raise _BreakError
            case "continue_exit":
                raise _ContinueError
            case "return_exit":
                raise _ReturnError(None if children[0] is None else self._evaluate(children[0], frame))
            case "if_":
                for branch in (statement, *(part for part in _trees(children[2:]))):
                    self._enter_branch(branch, algorithm)
                    if branch.data == "else_":
                        self._run_block(branch.children[0].children, frame, algorithm)
                        break
                    if self._test(branch.children[0], frame):
                        self._run_block(branch.children[1].children, frame, algorithm)
                        break
            case "while_":
                while self._test(children[0], frame):
                    self._tick()
                    if not self._run_round(children[-1].children, frame, algorithm):
                        break
            case "repeat_until":
                while True:
                    self._tick()
                    if not self._run_round(children[1].children, frame, algorithm) or self._test(children[2], frame):
                        break
            case "repeat_times":
                for _ in range(int(self._value(self._evaluate(children[0], frame)))):
                    self._tick()
                    if not self._run_round(children[1].children, frame, algorithm):
                        break
            case "loop" | "loop_over":
                self._run_loop(statement, frame, algorithm)
            case "let":
                frame[str(children[0])] = self._evaluate(children[1], frame)
            case "local":
                self._run_local(statement, frame)
            case "assign":
                self._run_assign(statement, frame, algorithm)
            case "update":
                self._update(children[0], str(children[1]).removesuffix("="), self._evaluate(children[2], frame), frame)
            case "unit_increment":
                self._update(children[0], str(children[1])[0], (KNOWN, 1), frame)
            case "multiple_assignment":
                targets = [target for target in _trees(children) if target.data == "target"]
                values = [
                    self._freeze(self._evaluate(value, frame)) for value in _trees(children) if value.data != "target"
                ]
                for target, value in zip(targets, values, strict=True):
                    self._locate(target.children[0], frame)[1](value)
            case "invoke":
                self._evaluate_call(children[1], frame)
            case _:
                raise NotImplementedError(statement.data)

    def _run_round(self, block: list[Tree[Any]], frame: dict[str, Any], algorithm: Algorithm) -> bool:
        """Run an iteration; return whether the loop goes on."""
        try:
            self._run_block(block, frame, algorithm)
        except _BreakError:
            return False
        except _ContinueError:
            pass
        return True

    def _run_loop(self, loop: Tree[Any], frame: dict[str, Any], algorithm: Algorithm) -> None:
        children = loop.children
        (variable,) = self._read_variable(loop)
        body, reduction = children[-1].children, None

        def number(expr: Tree[Any]) -> int:
            return int(self._value(self._evaluate(expr, frame)))

        values: Any
        if loop.data == "loop":
            low, high = number(children[3]), number(children[5])
            by = 1 if children[7] is None else number(children[7])
            reduction = children[8]
            match str(children[4]):
                case kind if children[6] is not None:
                    powers = [by**power for power in range(64)]
                    falling = [low // power for power in powers if low // power >= high]
                    rising = [low * power for power in powers if low * power < high + (kind in ("to", "..="))]
                    values = falling if kind == "downto" else rising
                case "downto":
                    values = range(low, high - 1, -by)
                case "to" | "..=":
                    values = range(low, high + 1, by)
                case _:
                    values = range(low, high, by)
            values = [(KNOWN, value) for value in values]
        elif children[3].data == "exprs":
            reduction = children[4]
            values = [(KNOWN, number(part)) for part in _trees(children[3].children)]
        elif self._is_range(children[3]):
            reduction = children[4]
            values = [(KNOWN, value) for value in range(*map(number, _trees(children[3].children[1].children)))]
        else:
            view = self._evaluate(children[3], frame)
            values = self._read_elements(view)
        if children[0] is not None:

            def run_body(value: Any) -> None:
                frame[str(variable)] = value
                self._run_block(body, frame, algorithm)

            self._in_parallel(values, run_body, 1 if reduction is None else 2)
            return
        for value in values:
            self._tick()
            if isinstance(value, Callable):
                value = value()
            frame[str(variable)] = value
            if not self._run_round(body, frame, algorithm):
                break

    def _read_elements(self, view: View) -> list[Any]:
        def read(index: int) -> Cell:
            self.accesses += 1
            return Cell(view.kind, view.data[index])

        return [lambda index=index: read(index) for index in range(len(view.data))]

    def _run_local(self, statement: Tree[Any], frame: dict[str, Any]) -> None:
        _, name, type_, value, _ = statement.children
        if type_.data == "record_type":
            sizes = [int(self._value(self._evaluate(size, frame))) for size in _trees(type_.children[1].children)]
            frame[str(name)] = self._make_record(str(type_.children[0]), sizes)
        elif type_.data == "array_type":
            array = self._allocate(type_, frame)
            if value is not None:
                self._store_array(array, value, frame)
            frame[str(name)] = array
        else:
            element = SCALARS[str(type_.children[0])]
            start = None if value is None else self._convert(element, self._evaluate(value, frame))
            frame[str(name)] = Cell(element, start)

    def _convert(self, element: int, value: Any) -> Any:
        """Return a number for a register or an element; a quotient of sizes that meets a real is a flop."""
        if element == REAL:
            self._meet(value)
        return self._value(value)

    def _run_assign(self, statement: Tree[Any], frame: dict[str, Any], algorithm: Algorithm) -> None:
        _, target, sign, value = statement.children
        symbol, name = str(sign), _target_name(target)
        place = target.children[0]
        if symbol not in ("=", ":=", "←", "<-"):
            if isinstance(old := self._find_view(place, frame), View):
                self._store_array(old, value, frame, symbol[:-1])
            else:
                self._update(target, symbol[:-1], self._evaluate(value, frame), frame)
            return
        if id(statement) in algorithm.lets:
            assert name is not None
            frame[name] = self._evaluate(value, frame)
            return
        view = self._find_view(place, frame)
        if isinstance(view, View):
            self._store_array(view, value, frame)
            return
        if name is not None and name not in frame:
            self._declare(name, value, frame, algorithm)
            return
        stored = self._evaluate(value, frame)
        _, put = self._locate(place, frame)
        put(stored)

    def _declare(self, name: str, value: Tree[Any], frame: dict[str, Any], algorithm: Algorithm) -> None:
        """Set an undeclared array or record for the first time."""
        if value.data == "call" and str(value.children[0]) in self._records:
            frame[name] = self._evaluate(value, frame)
            return
        if value.data in ("name", "element"):
            base = str(value.children[0])
            if self._count_writes(algorithm, name) == 1 and self._count_writes(algorithm, base) == 0:
                frame[name] = self._evaluate(value, frame)
                return
        if value.data == "call" and (None, str(value.children[0])) in self._algorithms:
            frame[name] = self._evaluate(value, frame)
            return
        self._targets.append(View(self._kind_in(value, frame)[0], np.empty(0)))
        make, shape, kind = self._prepare(value, frame)
        self._targets.pop()
        array = self._make_array(kind, shape)
        frame[name] = array
        if value.data == "binary" and str(value.children[1]) == "@":
            # The product is made in its place, which `_prepare` has counted.
            array.data[...] = make.made.data  # type: ignore[attr-defined]
            return
        self._fill(array, make, "=")

    def _count_writes(self, algorithm: Algorithm, name: str) -> int:
        found = 0
        for statement in algorithm.body:
            for tree in statement.iter_subtrees():
                if tree.data == "target":
                    inner = tree.children[0]
                    while isinstance(inner, Tree):
                        inner = inner.children[0]
                    found += str(inner) == name
                elif tree.data == "call" and isinstance(tree.children[0], Token) and tree.children[1] is not None:
                    called = self._algorithms.get((None, str(tree.children[0])))
                    for parameter, part in zip(
                        called.parameters if called else (), _trees(tree.children[1].children), strict=False
                    ):
                        found += str(parameter.children[1]) in ("out", "inout") and _mentions(part, name)
        return found

    def _find_view(self, place: Tree[Any], frame: dict[str, Any]) -> Any:
        """Return the array that a target names; None if it is a number."""
        if place.data == "name":
            found = frame.get(str(place.children[0]))
            return found if isinstance(found, View) else None
        if place.data == "element":
            base, subscripts = self._flatten(place)
            array = self._find_base(base, frame)
            if len(subscripts) < array.data.ndim or any(str(part.data).startswith("slice") for part in subscripts):
                return self._evaluate(place, frame)
        return None

    def _update(self, target: Tree[Any], symbol: str, value: Any, frame: dict[str, Any]) -> None:
        get, put = self._locate(target.children[0], frame)
        put(self._operate(symbol, get(), value))

    def _freeze(self, value: Any) -> Any:
        return (value.kind, value.value) if isinstance(value, Cell) else value

    def _locate(self, place: Tree[Any], frame: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[Any], None]]:
        """Return what reads and what writes a register or an element."""
        if place.data in ("name", "field_of"):
            cell = frame[str(place.children[0])] if place.data == "name" else self._evaluate(place, frame, whole=True)
            assert isinstance(cell, Cell), place

            def put_register(value: Any) -> None:
                cell.value = self._convert(cell.kind, value)

            return lambda: (cell.kind, cell.value), put_register
        base, subscripts = self._flatten(place)
        array = self._find_base(base, frame)
        index = self._find_index(array, subscripts, frame)

        def get() -> Any:
            self.accesses += 1
            return array.kind, array.data[index]

        def put(value: Any) -> None:
            number = self._convert(array.kind, value)
            self.accesses += 1
            array.data[index] = number

        return get, put

    # Whole arrays
    def _store_array(self, target: View, value: Tree[Any], frame: dict[str, Any], symbol: str = "=") -> None:
        while value.data == "group":
            value = value.children[0]
        product = value.data == "binary" and str(value.children[1]) == "@"
        made = (
            value.data == "call"
            and isinstance(value.children[0], Token)
            and (None, str(value.children[0])) in self._algorithms
        )
        if made and symbol == "=" and self._kind_in(value, frame)[1] > 0:
            result = self._evaluate(value, frame)
            target.data[...] = result.data
            return
        self._targets.append(target)
        try:
            make, _, _ = self._prepare(value, frame, alone=symbol == "=")
        finally:
            self._targets.pop()
        if product and symbol == "=":
            operands = make.operands  # type: ignore[attr-defined]
            if any(np.shares_memory(target.data, operand.data) for operand in operands):
                self._fill(target, make, symbol)
            else:
                target.data[...] = make.made.data  # type: ignore[attr-defined]
            return
        source = getattr(make, "view", None)
        if source is not None and symbol == "=" and self._mixes(target, source):
            self._move(target, source)
            return
        self._fill(target, make, symbol)

    @staticmethod
    def _mixes(target: View, source: View) -> bool:
        """Test whether two views are different parts of one array; those with two dimensions must overlap."""

        def find_root(data: Any) -> Any:
            while data.base is not None:
                data = data.base
            return data

        def find_start(view: View) -> Any:
            return view.data.__array_interface__["data"][0]

        root = find_root(target.data)
        if root.ndim > 1 and not np.shares_memory(target.data, source.data):
            return False
        same_array = root is find_root(source.data)
        return same_array and find_start(target) != find_start(source)

    def _move(self, target: View, source: View) -> None:
        """Copy between parts of an array that overlap, one element after the other."""
        copied = source.data.copy()
        for index in np.ndindex(target.data.shape):
            for dimension in range(len(index)):
                if all(part == 0 for part in index[dimension + 1 :]):
                    self._tick()
            self.accesses += 2
            target.data[index] = copied[index]

    def _fill(self, target: View, make: Callable[[tuple[int, ...]], Any], symbol: str) -> None:
        results: dict[tuple[int, ...], Any] = {}

        def body(at: tuple[int, ...]) -> None:
            value = make(at)
            if symbol != "=":
                self.accesses += 1
                value = self._operate(symbol, (target.kind, target.data[at]), value)
            self.accesses += 1
            results[at] = self._convert(target.kind, value)

        self._nest(target.data.shape, body)
        for at, value in results.items():
            target.data[at] = value

    def _kind_in(self, expr: Tree[Any], frame: dict[str, Any]) -> Kind:
        names: dict[str, Kind] = {}
        for name, value in frame.items():
            if isinstance(value, View):
                names[name] = (value.kind, value.data.ndim)
            elif isinstance(value, Record):
                names[name] = (value.type, 0)
                for part, inner in value.fields.items():
                    names[f"{name}.{part}"] = (inner.kind, inner.data.ndim if isinstance(inner, View) else 0)
            else:
                names[name] = (value.kind if isinstance(value, Cell) else value[0], 0)
        return self._kind(expr, names)

    def _prepare(self, expr: Tree[Any], frame: dict[str, Any], alone: bool = False) -> tuple[Any, tuple[int, ...], int]:
        """Return what gives the elements of an expression, its shape, and its kind; numbers are evaluated here."""
        kind, rank = self._kind_in(expr, frame)
        if expr.data == "group":
            return self._prepare(expr.children[0], frame)
        if rank == 0:
            number = self._freeze(self._evaluate(expr, frame))
            if len(number) == 3 and self._targets and self._targets[-1].kind == REAL:
                # A number is evaluated once, a quotient of sizes too.
                self._meet(number)
                number = (REAL, number[1])
            return (lambda at: number), (), kind
        if expr.data in ("name", "element", "field_of") or (
            expr.data == "call" and str(expr.children[0]) in ("transpose",)
        ):
            view = self._evaluate(expr, frame)
            if not alone and self._targets and self._mixes(self._targets[-1], view):
                copy = self._make_array(view.kind, view.data.shape)
                for at in np.ndindex(view.data.shape):
                    copy.data[at] = view.data[at]
                self._nest(view.data.shape, lambda at: None)
                self.accesses += 2 * view.data.size
                view = copy

            def read(at: tuple[int, ...]) -> Any:
                self.accesses += 1
                return view.kind, view.data[at]

            read.view = view  # type: ignore[attr-defined]
            return read, view.data.shape, view.kind
        if expr.data == "unary":
            make, shape, kind = self._prepare(expr.children[-1], frame)

            def negate(at: tuple[int, ...]) -> Any:
                found = make(at)
                return found[0], -found[1]

            return negate, shape, kind
        if expr.data == "binary" and str(expr.children[1]) == "@":
            return self._multiply(expr, frame)
        if expr.data == "binary":
            left, left_shape, _ = self._prepare(expr.children[0], frame)
            right, right_shape, _ = self._prepare(expr.children[2], frame)
            symbol = str(expr.children[1])
            return (lambda at: self._operate(symbol, left(at), right(at))), left_shape or right_shape, kind
        if expr.data == "call":
            name = str(expr.children[0])
            assert name in REAL_FUNCTIONS or name == "abs", name
            make, shape, _ = self._prepare(next(_trees(expr.children[1].children)), frame)
            return (lambda at: self._apply(name, make(at))), shape, kind
        raise NotImplementedError(expr.data)

    def _materialise(self, expr: Tree[Any], frame: dict[str, Any]) -> View:
        """Return an array for an expression, in a local array unless it is a view."""
        make, shape, kind = self._prepare(expr, frame)
        if getattr(make, "view", None) is not None:
            return make.view  # type: ignore[no-any-return]
        if getattr(make, "made", None) is not None:
            return make.made  # type: ignore[no-any-return]
        array = self._make_array(kind, shape)
        self._fill(array, make, "=")
        return array

    def _multiply(self, expr: Tree[Any], frame: dict[str, Any]) -> tuple[Any, tuple[int, ...], int]:
        left, right = self._materialise(expr.children[0], frame), self._materialise(expr.children[2], frame)
        rows = left.data.reshape((1, -1)) if left.data.ndim == 1 else left.data
        columns = right.data.reshape((-1, 1)) if right.data.ndim == 1 else right.data
        shape = (*left.data.shape[:-1], *right.data.shape[1:])
        result = self._make_array(max(left.kind, right.kind), shape)
        flat = result.data.reshape((rows.shape[0], columns.shape[1]))

        def body(at: tuple[int, ...]) -> None:
            row = at[0] if left.data.ndim == 2 else 0
            column = at[-1] if right.data.ndim == 2 else 0
            total: Any = (result.kind, 0)
            for k in range(rows.shape[1]):
                self._tick()
                self.accesses += 2
                product = self._operate("*", (left.kind, rows[row, k]), (right.kind, columns[k, column]))
                total = self._operate("+", total, product)
            self.accesses += 1
            flat[row, column] = total[1]

        self._nest(shape, body)

        def read(at: tuple[int, ...]) -> Any:
            self.accesses += 1
            return result.kind, result.data[at]

        read.made, read.operands = result, (left, right)  # type: ignore[attr-defined]
        return read, shape, result.kind

    # Expressions
    @staticmethod
    def _value(value: Any) -> Any:
        return value.value if isinstance(value, Cell) else value[1]

    @staticmethod
    def _kind_of(value: Any) -> int:
        return value.kind if isinstance(value, Cell) else value[0]

    def _meet(self, value: Any) -> None:
        """Count the division of sizes whose quotient meets a real."""
        if isinstance(value, tuple) and len(value) == 3:
            self._count(REAL)

    def _operate(self, symbol: str, left: Any, right: Any) -> Any:
        kinds = self._kind_of(left), self._kind_of(right)
        one, two = self._value(left), self._value(right)
        if REAL in kinds:
            self._meet(left)
            self._meet(right)
        kind = self._count(*kinds)
        if symbol in COMPARISONS:
            return BOOL, int(COMPARISONS[symbol](one, two))
        if symbol == "/":
            if REAL in kinds:
                return REAL, float(one) / float(two) if two else math.copysign(math.inf, one or 1)
            return KNOWN, (one // two if one % two == 0 else one / two), "quotient"
        return kind, ARITHMETIC[symbol](one, two)

    def _apply(self, name: str, value: Any) -> Any:
        kind, number = self._kind_of(value), self._value(value)
        if name == "real_of":
            return REAL, float(number)
        if name == "abs":
            return self._count(kind), abs(number)
        self._count(REAL)
        return REAL, REAL_FUNCTIONS[name](number)

    def _evaluate(self, expr: Tree[Any], frame: dict[str, Any], whole: bool = False) -> Any:
        children = expr.children
        match expr.data:
            case "integer":
                return KNOWN, int(children[0])
            case "real":
                return REAL, float(children[0])
            case "name":
                name = str(children[0])
                if name in frame:
                    return frame[name]
                if name in self._abbreviations:
                    return self._evaluate(self._abbreviations[name][1], frame)
                return (REAL, math.pi) if name == "pi" else WORDS[name]
            case "field_of":
                found = frame[str(children[0])]
                return found.fields[str(children[1])]
            case "group":
                return self._evaluate(children[0], frame)
            case "unary":
                value = self._evaluate(children[-1], frame)
                if str(children[0]) in ("not", "!"):
                    return BOOL, int(not self._value(value))
                return self._kind_of(value), -self._value(value)
            case "comparison_chain":
                left = self._freeze(self._evaluate(children[0], frame))
                for symbol, part in zip(children[1::2], children[2::2], strict=True):
                    right = self._freeze(self._evaluate(part, frame))
                    if not self._operate(str(symbol), left, right)[1]:
                        return BOOL, 0
                    left = right
                return BOOL, 1
            case "binary":
                symbol = str(children[1])
                if symbol in LOGICAL:
                    left = bool(self._value(self._evaluate(children[0], frame)))
                    if left != LOGICAL[symbol]:
                        return BOOL, int(left)
                    return BOOL, int(bool(self._value(self._evaluate(children[2], frame))))
                left = self._freeze(self._evaluate(children[0], frame))
                return self._operate(symbol, left, self._evaluate(children[2], frame))
            case "value_choice":
                return self._evaluate(children[0] if self._test(children[1], frame) else children[2], frame)
            case "element":
                base, subscripts = self._flatten(expr)
                array = self._find_base(base, frame)
                index = self._find_index(array, subscripts, frame)
                found = array.data[index]
                if isinstance(found, np.ndarray):
                    return View(array.kind, found)
                self.accesses += 1
                return array.kind, found
            case "call":
                return self._evaluate_call(expr, frame)
            case _:
                raise NotImplementedError(expr.data)

    def _flatten(self, place: Tree[Any]) -> tuple[Any, list[Tree[Any]]]:
        base, subscripts = place.children[0], list(place.children[1:])
        while isinstance(base, Tree) and base.data == "element":
            base, subscripts = base.children[0], [*base.children[1:], *subscripts]
        return base, subscripts

    def _find_base(self, base: Any, frame: dict[str, Any]) -> View:
        found = frame[str(base)] if isinstance(base, Token) else self._evaluate(base, frame)
        assert isinstance(found, View), base
        return found

    def _find_index(self, array: View, subscripts: list[Tree[Any]], frame: dict[str, Any]) -> tuple[Any, ...]:
        def number(expr: Tree[Any]) -> int:
            return int(self._value(self._evaluate(expr, frame)))

        index: list[Any] = []
        for part, extent in zip(subscripts, array.data.shape, strict=False):
            match part.data, part.children:
                case "slice_all", _:
                    index.append(slice(None))
                case "slice_to", [low, _, high, step]:
                    first, last = number(low), number(high)
                    assert 0 <= first <= last <= extent
                    index.append(slice(first, last, None if step is None else number(step)))
                case "slice_by", [low, _, length, _]:
                    first = number(low)
                    index.append(slice(first, first + number(length)))
                case "slice_between", [low, _, high]:
                    index.append(slice(number(low), extent if high is None else number(high)))
                case "slice_before", [_, high]:
                    index.append(slice(0, number(high)))
                case _:
                    place = number(part)
                    if not 0 <= place < extent:
                        raise IndexError(place, extent)
                    index.append(place)
        return tuple(index)

    def _evaluate_call(self, call: Tree[Any], frame: dict[str, Any]) -> Any:
        function = call.children[0]
        parts = list(_trees(call.children[1].children)) if call.children[1] is not None else []
        if isinstance(function, Tree):
            record, name = frame[str(function.children[0])], str(function.children[1])
            if name in self._abbreviations:
                return self._expand(name, [Tree("name", [function.children[0]]), *parts], frame)
            return self._call(
                self._algorithms[record.type, name], [record, *(self._pass(part, frame) for part in parts)]
            )
        name = str(function)
        if (None, name) in self._algorithms:
            called = self._algorithms[None, name]
            modes = [str(parameter.children[1]) for parameter in called.parameters]
            return self._call(called, [self._pass(part, frame, mode) for part, mode in zip(parts, modes, strict=False)])
        if name in self._records:
            return self._make_record(name, [int(self._value(self._evaluate(part, frame))) for part in parts])
        if name in self._abbreviations:
            return self._expand(name, parts, frame)
        if name == "swap":
            # It is `x, y = y, x`: subscripts count where they are read, and where they are written.
            values = [self._freeze(self._evaluate(part, frame)) for part in reversed(parts)]
            for part, value in zip(parts, values, strict=True):
                self._locate(part, frame)[1](value)
            return None
        if name in ("dot", "norm") or (name in REDUCTIONS and len(parts) == 1):
            return self._reduce(name, parts, frame)
        if name == "transpose":
            view = self._evaluate(parts[0], frame)
            return View(view.kind, view.data.T)
        if name == "len":
            return KNOWN, len(self._evaluate(parts[0], frame).data)
        if name in ("min", "max"):
            values = [self._freeze(self._evaluate(part, frame)) for part in parts]
            result = values[0]
            for value in values[1:]:
                result = self._operate(name, result, value)
            return result
        if name in REAL_FUNCTIONS or name in ("abs", "real_of"):
            return self._apply(name, self._evaluate(parts[0], frame))
        owned = self._algorithms[frame[str(parts[0].children[0])].type, name]
        return self._call(owned, [self._pass(part, frame) for part in parts])

    def _pass(self, part: Tree[Any], frame: dict[str, Any], mode: str = "in") -> Any:
        """Return an argument; an element may be a place, which is read now and written at the end of the call."""
        if mode in ("out", "inout") and part.data == "element" and self._kind_in(part, frame)[1] == 0:
            get, put = self._locate(part, frame)
            kind, value = get() if mode == "inout" else (REAL, None)
            return Place(kind, value, put)
        if part.data == "name" and isinstance(frame.get(str(part.children[0])), Cell | View | Record):
            return frame[str(part.children[0])]
        if self._kind_in(part, frame)[1] > 0:
            return self._materialise(part, frame)
        return self._freeze(self._evaluate(part, frame))

    def _expand(self, name: str, parts: list[Tree[Any]], frame: dict[str, Any]) -> Any:
        """Evaluate an abbreviation as if it were written in its place."""
        parameters, value = self._abbreviations[name]
        given = dict(zip(parameters, parts, strict=True))

        def put(tree: Any) -> Any:
            if not isinstance(tree, Tree):
                # A record's name stands without a tree around it in `G.ptr`.
                if (
                    isinstance(tree, Token)
                    and tree.type == "NAME"
                    and str(tree) in given
                    and given[str(tree)].data == "name"
                ):
                    return given[str(tree)].children[0]
                return tree
            if tree.data == "name" and str(tree.children[0]) in given:
                return Tree("group", [given[str(tree.children[0])]])
            if tree.data == "field_of":
                return Tree(tree.data, [put(tree.children[0]), tree.children[1]])
            return Tree(tree.data, [put(child) for child in tree.children])

        return self._evaluate(put(value), frame)

    def _reduce(self, name: str, parts: list[Tree[Any]], frame: dict[str, Any]) -> Any:
        symbol = REDUCTIONS[name]
        kind = self._kind_in(parts[0], frame)[0]
        kind = REAL if REAL in (kind, self._kind_in(parts[-1], frame)[0]) else INT
        start = {"+": 0, "min": math.inf, "max": -math.inf}[symbol]
        if parts[0].data in ("range_comprehension", "comprehension_over"):
            total = self._reduce_range(parts[0], symbol, kind, start, frame)
        else:
            if name == "dot":
                product: Any = Tree("binary", [parts[0], Token("TIMES", "*"), parts[1]])
            elif name == "norm":
                if parts[0].data not in ("name", "element", "field_of"):
                    # Its argument is put into an array first; those of the others are used as they are computed.
                    frame = {**frame, "argument of norm": self._materialise(parts[0], frame)}
                    parts = [Tree("name", ["argument of norm"])]
                product = Tree("binary", [parts[0], Token("TIMES", "*"), parts[0]])
            else:
                product = parts[0]
            name = {"norm": "sqrt"}.get(name, "")
            make, shape, _ = self._prepare(product, frame)
            total = self._reduce_elements(make, shape, symbol, kind, start, ())
        return self._apply(name, total) if name == "sqrt" else total

    def _reduce_elements(
        self, make: Any, shape: tuple[int, ...], symbol: str, kind: int, start: Any, at: tuple[int, ...]
    ) -> Any:
        if not shape:
            return make(at)
        total: Any = (kind, start)

        def body(index: int) -> None:
            nonlocal total
            total = self._operate(
                symbol, total, self._reduce_elements(make, shape[1:], symbol, kind, start, (*at, index))
            )

        self._in_parallel(range(shape[0]), body, 2)
        return total

    def _reduce_range(self, over: Tree[Any], symbol: str, kind: int, start: Any, frame: dict[str, Any]) -> Any:
        if over.data == "comprehension_over":
            value, variable, _, range_, condition = over.children
            *starts, high = _trees(range_.children[1].children)
            low, direction, step = starts[0] if starts else Tree("integer", ["0"]), "..", None
        else:
            value, variable, _, low, direction, high, step, condition = over.children
        first, last = (int(self._value(self._evaluate(part, frame))) for part in (low, high))
        assert step is None
        indices = range(first, last + (str(direction) == "..="))
        total: Any = (kind, start)
        counts_conditions = (
            symbol == "+"
            and self._kind_in(value, {**frame, str(variable): (KNOWN, 0)})[0] == BOOL
            and value.data != "name"
        )

        def body(index: int) -> None:
            nonlocal total
            inner = {**frame, str(variable): (KNOWN, index)}
            tested = condition
            if counts_conditions and value.data not in ("name", "element", "call"):
                tested = value if condition is None else Tree("binary", [condition, Token("AND", "and"), value])
            if tested is not None and not self._test(tested, inner):
                return
            new = (KNOWN, 1) if tested is not condition else self._evaluate(value, inner)
            total = self._operate(symbol, total, new)

        self._in_parallel(indices, body, 2)
        return total
