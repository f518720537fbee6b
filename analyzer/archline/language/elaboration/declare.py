"""Names that are assigned without a declaration get one, in the innermost block that contains all their uses.

A name that is set once, from sizes, is a `let`; a view that nobody writes to is one too; any other name is a register
or a local array of the type of its values. Names whose type cannot be told are left to the checker, which reports them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from archline.expr.tree import Comprehension, Node
from archline.language import surface
from archline.language import syntax as s
from archline.language.elaboration.environment import (
    SIZE,
    Environment,
    NameType,
    collect_header_types,
    group_parts,
    join_types,
)
from archline.records import replace

Block = tuple[Any, ...]
_DATA = ("real", "int", "bool", "char")
MAX_ROUNDS = 5
"""Types of names that are set from each other settle in few rounds."""


class _Undeclared:
    """An undeclared name, and the types of the values that it is set to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stored: list[NameType | None] = []
        self.set_inside = False
        """Whether a block inside that of its declaration sets it: no `let` can."""
        self.settled: NameType | None = None

    def settle_type(self) -> bool:
        """Infer the type of the name from the types stored in it; return whether it has changed."""
        before = self.settled
        joined = join_types(self.stored)
        if joined is not None and (
            joined.element == "inf" or (joined.element == SIZE and (len(self.stored) > 1 or self.set_inside))
        ):
            # Several values of a name are data, even if each is a size, and so is one that may be set.
            joined = NameType("int", joined.shape)
        self.settled = joined
        return _get_element_and_rank(before) != _get_element_and_rank(joined)


def _get_element_and_rank(type_: NameType | None) -> tuple[str, int] | None:
    return None if type_ is None else (type_.element, len(type_.shape or ()))


def declare_names(algorithm: s.Algorithm, environment: Environment) -> tuple[s.Algorithm, Environment]:
    """Return an algorithm with a declaration of each name that it sets, and the types of the names in its header.

    `environment` has the algorithms in scope.
    """
    environment = environment.with_names(collect_header_types(algorithm, environment.records))
    declarer = _Declarer(algorithm, environment)
    return replace(algorithm, body=declarer.run()), environment


class _Declarer:
    def __init__(self, algorithm: s.Algorithm, environment: Environment) -> None:
        self._body: Block = algorithm.body
        self._environment = environment
        self._declared: dict[int, dict[str, _Undeclared]] = {}
        """The undeclared names of each block, by the identity of the block."""
        self._names: set[str] = set()
        self._writes = Counter(iterate_written_names(algorithm.body, environment, elements=True))
        self._sizes = _find_names_of_sizes(algorithm.body, environment)
        """The names that stand in extents, or are passed as sizes."""

    def run(self) -> Block:
        """Return the body with its declarations."""
        self._choose_declaring_blocks(self._body, frozenset(self._environment.names))
        undeclared = [name for names in self._declared.values() for name in names.values()]
        self._names = {name.name for name in undeclared}
        if not undeclared and not self._sizes and not any(s.find_nodes(self._body, s.Let)):
            return self._body
        for _ in range(MAX_ROUNDS):
            for name in undeclared:
                name.stored.clear()
            self._collect_stored_types(self._body, self._environment, {})
            changed = [name for name in undeclared if name.settle_type()]
            if not changed:
                break
        for name in undeclared:
            name.settled = name.settled or self._guess_type(name.name)
        return self._declare_in_block(self._body, self._environment)

    def _guess_type(self, name: str) -> NameType | None:
        """Guess the type of a name that is set to the result of an undefined function; None for other names.

        Then only the function is reported, and no consequences of its unknown type.
        """
        known = {*self._environment.algorithms, *self._environment.abbreviations, *self._environment.externs}
        values = [item.value for item in s.find_nodes(self._body, s.Assign) if _find_set_name(item) == name]
        calls = s.find_nodes(tuple(values), s.Call)
        if not any(call.function not in known and self._environment.infer(call) is None for call in calls):
            return None
        whole = any(operation.op in ("//", "%") for operation in s.find_nodes(tuple(values), s.Binary))
        places = tuple(element.subscripts for element in s.find_nodes(self._body, s.Element))
        return NameType("int" if whole or name in s.find_names(places) else "real")

    def _choose_declaring_blocks(self, block: Block, visible: frozenset[str]) -> None:
        """Choose the block that declares each undeclared name; `visible` are the names declared around `block`."""
        own = frozenset(name for statement in block for name in _list_declarations(statement))
        for name in dict.fromkeys(_iterate_free_names(block, self._environment)):
            if name not in visible and not _can_be_declared_inside(block, name):
                self._declared.setdefault(id(block), {})[name] = _Undeclared(name)
        visible |= own | self._declared.get(id(block), {}).keys()
        for statement in block:
            for inner in list_surface_blocks(statement):
                self._choose_declaring_blocks(inner, visible | _list_bound_names(statement))

    def _collect_stored_types(
        self, block: Block, environment: Environment, undeclared: Mapping[str, _Undeclared]
    ) -> None:
        """Collect the types of the values that a block stores in undeclared names."""
        here = self._declared.get(id(block), {})
        environment = environment.with_names({name: item.settled for name, item in here.items()})
        undeclared = {**undeclared, **here}
        for statement in block:
            for name, type_ in _iterate_stores(statement, environment):
                if name in undeclared:
                    undeclared[name].stored.append(type_)
                    undeclared[name].set_inside |= name not in here
            hidden = _list_bound_names(statement)
            inside = {name: item for name, item in undeclared.items() if name not in hidden}
            for inner in list_surface_blocks(statement):
                self._collect_stored_types(inner, environment.enter_body(statement), inside)
            environment = environment.add_declared(statement)

    def _declare_in_block(self, block: Block, environment: Environment) -> Block:
        here = self._declared.get(id(block), {})
        environment = environment.with_names({name: item.settled for name, item in here.items()})
        waiting = {name: item for name, item in here.items() if item.settled is not None}
        statements: list[Any] = []
        for statement in block:
            first = [item for name, item in waiting.items() if _mentions_name(statement, name)]
            for item in first:
                del waiting[item.name]
            inside = environment.enter_body(statement)
            changed = replace_blocks(statement, lambda inner, inside=inside: self._declare_in_block(inner, inside))
            match statement, first:
                case s.Assign(op="=", value=value, atomic=False), [item] if item.name == _find_set_name(
                    statement
                ) and item.name not in find_mentioned_names(value):
                    statements.append(self._make_declaration(item, statement, value))
                case s.Local(name=name, type=s.ScalarType(element="int"), value=s.Node() as value, when=None), [] if (
                    name in self._sizes and not self._writes[name] and environment.infer(value) == NameType(SIZE)
                ):
                    # An author who takes its value as a size means a `let`.
                    statements.append(s.Let(name, value, span=statement.span))
                case s.Let(name=name, value=value), [] if (type_ := environment.infer(value)) is not None and (
                    type_.shape is None and type_.element in _DATA
                ):
                    # Other languages name data by `let` too.
                    statements.append(
                        s.Local(
                            name, s.ScalarType(type_.element, span=statement.span), value, None, span=statement.span
                        )
                    )
                case _:
                    statements += [_make_empty_local(item, statement) for item in first]
                    statements.append(changed)
            environment = environment.add_declared(statement)
        return tuple(statements)

    def _make_declaration(self, item: _Undeclared, statement: s.Assign, value: s.Expr) -> s.Let | s.Local:
        assert item.settled is not None
        if item.settled.record is not None:
            made = isinstance(value, s.Call) and value.function in self._environment.records
            return replace(_make_empty_local(item, statement), value=None if made else value)
        if item.settled.is_array:
            base = _find_viewed_array(value)
            if base is not None and self._writes[item.name] == 1 and self._writes[base] <= (base in self._names):
                return s.Let(item.name, value, span=statement.span)
        elif item.settled.element == SIZE:
            return s.Let(item.name, value, span=statement.span)
        return replace(_make_empty_local(item, statement), value=value)


def _find_names_of_sizes(body: Block, environment: Environment) -> frozenset[str]:
    """Return the names in the extents of local arrays, and in the arguments that calls pass as sizes."""
    sized: list[Any] = [local.type for local in s.find_nodes(body, s.Local)]
    for call in s.find_nodes(body, s.Call):
        called = environment.algorithms.get(call.function)
        parameters = () if called is None else called.parameters
        pairs = zip(parameters, call.arguments, strict=False)
        sized += [argument for parameter, argument in pairs if isinstance(parameter.type, s.SizeType)]
    return s.find_names(tuple(sized))


def _make_empty_local(item: _Undeclared, statement: s.Statement) -> s.Local:
    """Return the declaration of an undeclared register or array, without a value, at the position of a statement."""
    assert item.settled is not None
    span = statement.head
    if item.settled.record is not None:
        record: Any = item.settled.record
        return s.Local(item.name, record, None, None, span=span)
    element = "int" if item.settled.element == SIZE else item.settled.element
    if item.settled.shape is not None:
        array = s.ArrayType(element, item.settled.shape, "rowmajor", span=span)
        return s.Local(item.name, array, None, None, span=span)
    return s.Local(item.name, s.ScalarType(element, span=span), None, None, span=span)


def _find_viewed_array(value: Node) -> str | None:
    """Return the array that an expression views; None if it is not a view."""
    match value:
        case s.Name(id=name):
            return name
        case s.Element(array=array):
            return array
        case s.Reshape(base=base):
            return _find_viewed_array(base)
        case _:
            return None


# What statements do with names
def _find_set_name(statement: Node) -> str | None:
    """Return the name that an assignment sets: of a register, or of the array that `d[:] = x` sets as a whole."""
    match statement:
        case s.Assign(target=s.Name(id=name), op="="):
            return name
        case s.Assign(target=s.Element(array=name, subscripts=subscripts), op="=") if all(
            isinstance(part, s.Slice) and part.lo is None and part.hi is None and part.step is None
            for part in subscripts
        ):
            return name
        case _:
            # Other statements do not name a new local.
            return None


def list_surface_blocks(statement: Node) -> tuple[Block, ...]:
    """Return the blocks inside a statement."""
    return (statement.body,) if isinstance(statement, surface.LoopOver) else s.list_blocks(statement)  # type: ignore[arg-type]


def replace_blocks(statement: Any, change: Any) -> Any:
    """Return a statement with each of its blocks replaced by what `change` returns."""
    match statement:
        case s.If(branches=branches):
            changed = tuple(replace(branch, body=change(branch.body)) for branch in branches)
            return replace(statement, branches=changed)
        case s.Loop(body=body) | surface.LoopOver(body=body) | s.While(body=body) | s.Split(body=body):
            return replace(statement, body=change(body))
        case _:
            return statement


def rewrite_block(
    block: Block, environment: Environment, rewrite: Callable[[Any, Environment], tuple[Any, ...]]
) -> Block:
    """Return a block in which `rewrite` replaces each statement, after the inner blocks of the statement.

    The environment has the names that are declared before the statement, which its inner blocks know too.
    """
    statements: list[Any] = []
    for statement in block:
        inside = environment.enter_body(statement)
        changed = replace_blocks(statement, lambda inner, inside=inside: rewrite_block(inner, inside, rewrite))
        statements += rewrite(changed, environment)
        environment = environment.add_declared(statement)
    return tuple(statements)


def find_mentioned_names(value: object) -> frozenset[str]:
    """Return the names, also of arrays in `x[i]`, that a part of a program uses."""
    arrays = (node.array for node in s.iterate_nodes(value) if isinstance(node, s.Element))
    bound = {
        name
        for over in s.find_nodes(value, Comprehension)
        for name in s.find_nodes((over.value, over.condition), s.Name)
        if name.id == over.variable
    }
    return frozenset((*arrays, *(name.id for name in s.find_nodes(value, s.Name) if name not in bound)))


def _list_declarations(statement: Node) -> tuple[str, ...]:
    return statement.defines if isinstance(statement, s.Simple) else ()


def _list_bound_names(statement: Node) -> frozenset[str]:
    """Return the names that a statement binds in its body: the variable of a loop, or the group of a split."""
    match statement:
        case s.Loop(variable=name) | surface.LoopOver(variable=name) | s.Split(group=name):
            return frozenset((name,))
        case _:
            return frozenset()


def _iterate_free_names(block: Block, environment: Environment) -> Iterator[str]:
    """Yield the names that a block and its inner blocks set without a declaration."""
    declared = frozenset(name for statement in block for name in _list_declarations(statement))
    for statement in block:
        inner = list_surface_blocks(statement)
        hidden = declared | _list_bound_names(statement)
        names = _iterate_own_written_names(statement, environment)
        # Fields of records come with their record.
        yield from (name for name in names if name not in declared and "." not in name)
        for part in inner:
            yield from (name for name in _iterate_free_names(part, environment) if name not in hidden)


def iterate_written_names(block: Block, environment: Environment, elements: bool = False) -> Iterator[str]:
    """Yield the names that statements set; with `elements`, also the arrays that they write to."""
    for statement in s.iterate_nodes(block):
        if isinstance(statement, s.Statement):
            yield from _iterate_own_written_names(statement, environment, elements)


def _iterate_own_written_names(statement: Node, environment: Environment, elements: bool = False) -> Iterator[str]:
    """Yield the names that a statement sets, without the blocks inside it."""
    for place in _list_written_places(statement, environment):
        match place:
            case s.Name(id=name):
                yield name
            case s.Element(array=name) if name == _find_set_name(statement):
                yield name
            case s.Element(array=name) if elements:
                yield name
            case _:
                pass
    if elements and isinstance(statement, s.Communication):
        yield from find_mentioned_names(statement)


def _find_own_calls(statement: Node) -> Iterable[s.Call]:
    """Return the calls in a statement, without those of the blocks inside it."""
    return s.find_nodes(statement.reads if isinstance(statement, s.Simple) else tuple(_list_headers(statement)), s.Call)


def _list_written_places(statement: Node, environment: Environment) -> tuple[Node, ...]:
    """Return the registers and elements that a statement writes to, also as `out` or `inout` arguments of calls."""
    places: list[Node] = list(statement.writes) if isinstance(statement, s.Simple) else []
    for call in _find_own_calls(statement):
        if call.function == "swap" and "swap" not in environment.algorithms:
            places += call.arguments
        called = environment.algorithms.get(environment.find_called_name(call))
        if called is not None:
            pairs = zip(group_parts(called.header), call.arguments, strict=False)
            places += [argument for parts, argument in pairs if any(part.mode != "in" for part in parts)]
    return tuple(places)


def _iterate_stores(statement: Node, environment: Environment) -> Iterator[tuple[str, NameType | None]]:
    """Yield each name that a statement sets and the type of its value; an update adds the type None to the name."""
    match statement:
        case s.Assign(target=s.Name(id=name), op="=", value=value):
            yield name, environment.infer(value)
        case s.Assign(target=s.Element(array=name), value=value) if name == _find_set_name(statement):
            # A fill with a number tells no shape.
            type_ = environment.infer(value)
            yield name, type_ if type_ is not None and type_.is_array else None
        case s.Assign(target=s.Name(id=name), value=value):
            yield name, environment.infer(value)
            yield name, None
        case surface.Multiple(targets=targets, values=values):
            for target, value in zip(targets, values, strict=True):
                if isinstance(target, s.Name):
                    yield target.id, environment.infer(value)
                    yield target.id, None
        case _:
            pass
    for call in _find_own_calls(statement):
        yield from _iterate_argument_stores(call, environment)


def _iterate_argument_stores(call: s.Call, environment: Environment) -> Iterator[tuple[str, NameType | None]]:
    """Yield the names that a call sets through its arguments, and their types as `_iterate_stores` does."""
    called = environment.algorithms.get(environment.find_called_name(call))
    header = [] if called is None else group_parts(called.header)
    for number, argument in enumerate(call.arguments):
        if not isinstance(argument, s.Name):
            continue
        if called is None:
            if call.function == "swap" and len(call.arguments) == 2:
                yield argument.id, environment.infer(call.arguments[1 - number])
                yield argument.id, None
        elif number < len(header) and header[number][0].mode != "in":
            type_ = header[number][0].type
            yield argument.id, NameType(type_.element) if isinstance(type_, s.ScalarType) else None
            yield argument.id, None


def _mentions_name(statement: Node, name: str) -> bool:
    """Whether a statement uses a name; in the body of a loop over the name, it is another one."""
    if name in _list_bound_names(statement):
        return name in find_mentioned_names(_list_headers(statement))
    return name in find_mentioned_names(statement)


def _can_be_declared_inside(block: Block, name: str) -> bool:
    """Whether each statement of a block that uses a name sets it first in inner blocks, which can declare it."""
    uses = [statement for statement in block if _mentions_name(statement, name)]
    return bool(uses) and all(_sets_inside(statement, name) for statement in uses)


def _sets_inside(statement: Node, name: str) -> bool:
    """Whether the blocks of a statement set a name before they read it, and the statement itself does not use it."""
    blocks = list_surface_blocks(statement)
    if not blocks or name in find_mentioned_names(_list_headers(statement)):
        return False
    if name in _list_bound_names(statement):
        return True
    return all(_sets_before_reading(block, name) for block in blocks)


def _sets_in_each_branch(statement: s.If, name: str) -> bool:
    """Whether every branch sets a name before it reads it, and no condition reads it."""
    conditions = tuple(branch.condition for branch in statement.branches if branch.condition is not None)
    if name in find_mentioned_names(conditions):
        return False
    for branch in statement.branches:
        match next((part for part in branch.body if _mentions_name(part, name)), None):
            case s.Assign(op="=", value=value) as part if _find_set_name(part) == name:
                if name in find_mentioned_names(value):
                    return False
            case s.If(branches=(*_, s.Branch(condition=None))) as inner if _sets_in_each_branch(inner, name):
                pass
            case _:
                # A loop may run no iteration, and any other statement reads the name.
                return False
    return True


def _list_headers(statement: Node) -> Iterable[Node]:
    match statement:
        case surface.LoopOver(over=over):
            return (over,)
        case s.While(condition=condition):
            # The test of a `repeat` reads what its body sets.
            return (condition,)
        case _:
            pass
    return s.list_evaluated(statement)  # type: ignore[arg-type]


def _sets_before_reading(block: Block, name: str) -> bool:
    for statement in block:
        if not _mentions_name(statement, name):
            continue
        match statement:
            case s.Assign(op="=", value=value) if _find_set_name(statement) == name:
                return name not in find_mentioned_names(value)
            case s.If(branches=(*_, s.Branch(condition=None))) if _sets_in_each_branch(statement, name):
                return True
            case surface.Multiple(targets=targets, values=values):
                return name in s.find_names(targets) and name not in find_mentioned_names(values)
            case s.Let() | s.Local():
                return name in statement.defines
            case _:
                return _can_be_declared_inside(block, name)
    return True
