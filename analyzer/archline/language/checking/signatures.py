"""Signatures of algorithms have their sizes, what binds each, and the names that parameters put in scope."""

from __future__ import annotations

from collections.abc import Iterator

from archline.expr.tree import Span, find_stated_minima
from archline.language import call_rules, name_rules, type_rules
from archline.language import syntax as s
from archline.language.checking.context import BodyContext, Findings, iterate_leaves
from archline.language.checking.extents import combine_extents, make_integer
from archline.language.checking.points import FreeVariable
from archline.language.checking.scopes import MACHINE_SYMBOLS, Role, SymbolEntry
from archline.language.model import BoundBy, Kind, Signature, SizeBinding, ViewType

_PRIORITY = (BoundBy.VALUE, BoundBy.EXTENT, BoundBy.COUNT, BoundBy.TOTAL, BoundBy.LONGEST)


def make_signature(algorithm: s.Algorithm, findings: Findings) -> Signature:
    """Return the signature of an algorithm; report parameters of the same name and sizes that nothing binds."""
    declared: dict[str, s.Parameter] = {}
    for parameter in algorithm.parameters:
        if parameter.name in declared:
            message = f"`{algorithm.name}` has two parameters called `{parameter.name}`"
            findings.add(name_rules.DUPLICATE, message, parameter.span)
        declared.setdefault(parameter.name, parameter)
    bound = _derive_bindings(algorithm)
    sizes: dict[str, SizeBinding] = {}
    unbound: set[str] = set()
    for name, span in _iterate_header_names(algorithm):
        # On a grid P is always the machine's.
        if name in sizes or name in unbound or (name in MACHINE_SYMBOLS and (algorithm.grid or name not in bound)):
            continue
        if name in declared and not isinstance(declared[name].type, s.SizeType):
            continue
        if name in bound:
            sizes[name] = bound[name]
        else:
            message = f"no argument binds `{name}`"
            hint = f"declare it, `{name}: size`, or use it alone as an extent of an array: `x: real[{name}]`"
            findings.add(name_rules.UNBOUND_SIZE, message, span, hint)
            unbound.add(name)
    indices = tuple(parameter.name for parameter in algorithm.parameters if isinstance(parameter.type, s.IndexType))
    return Signature(tuple(sizes.values()), indices, algorithm.parameters, _find_lower_limits(algorithm, sizes))


def list_type_expressions(parameter: s.Parameter) -> tuple[s.Expr, ...]:
    """Return the expressions in a parameter's type, in the order they are written."""
    match parameter.type:
        case s.ArrayType(shape=shape):
            return shape
        case s.OffsetsType(count=count, into=into, longest=longest):
            return (count, into) if longest is None else (count, into, longest)
        case s.IndexArrayType(shape=shape, below=below):
            return (*shape, below)
        case s.SizeType() | s.IndexType() | s.ScalarType() | s.OperatorType():
            return ()


def _iterate_header_names(algorithm: s.Algorithm) -> Iterator[tuple[str, Span]]:
    """Yield the names in the header that may be sizes, in order of appearance."""
    for parameter in algorithm.parameters:
        if isinstance(parameter.type, s.SizeType):
            yield parameter.name, parameter.span
        for entry in list_type_expressions(parameter):
            yield from _iterate_names(entry)
    for axis in algorithm.grid:
        yield from _iterate_names(axis.extent)


def _iterate_names(expr: s.Expr) -> Iterator[tuple[str, Span]]:
    for leaf in iterate_leaves(expr):
        if isinstance(leaf, s.Name) and leaf.id != "pi":
            yield leaf.id, leaf.span


def _derive_bindings(algorithm: s.Algorithm) -> dict[str, SizeBinding]:
    """Return the preferred binding of each size: `n` before `n + 1`, then in the order of `BoundBy`."""
    candidates: list[SizeBinding] = []
    for number, parameter in enumerate(algorithm.parameters):
        match parameter.type:
            case s.SizeType():
                candidates.append(SizeBinding(parameter.name, BoundBy.VALUE, number))
            case s.ArrayType(shape=shape) | s.IndexArrayType(shape=shape):
                for dimension, entry in enumerate(shape):
                    match entry:
                        case s.Name(id=name):
                            candidates.append(SizeBinding(name, BoundBy.EXTENT, number, dimension))
                        case s.Binary(op="+" | "-" as op, left=s.Name(id=name), right=s.Integer(value=value)):
                            offset = value if op == "+" else -value
                            candidates.append(SizeBinding(name, BoundBy.EXTENT, number, dimension, offset))
                        case _:
                            # Other expressions do not determine a size.
                            pass
            case s.OffsetsType(count=count, into=into, longest=longest):
                for by, part in ((BoundBy.COUNT, count), (BoundBy.TOTAL, into), (BoundBy.LONGEST, longest)):
                    if isinstance(part, s.Name):
                        candidates.append(SizeBinding(part.id, by, number))
            case s.IndexType() | s.ScalarType() | s.OperatorType():
                pass
    best: dict[str, SizeBinding] = {}
    for binding in sorted(candidates, key=lambda candidate: (candidate.offset != 0, _PRIORITY.index(candidate.by))):
        best.setdefault(binding.name, binding)
    return best


def _find_lower_limits(algorithm: s.Algorithm, sizes: dict[str, SizeBinding]) -> dict[str, int]:
    """Return each size's lower limit, from the facts that compare it with a number."""
    stated = find_stated_minima(algorithm.where)
    least = {name: stated.get(name, 1) for name in sizes}
    for binding in sizes.values():
        # The longest gap of offsets that may be empty may be 0.
        type_ = algorithm.parameters[binding.parameter].type if binding.by is BoundBy.LONGEST else None
        if isinstance(type_, s.OffsetsType) and isinstance(type_.into, s.Name) and binding.name not in stated:
            least[binding.name] = min(1, least.get(type_.into.id, 1))
    return least


def define_parameters(body: BodyContext, signature: Signature) -> None:
    """Put an algorithm's parameters and sizes in scope."""
    for binding in signature.sizes:
        span = next(
            (at for name, at in _iterate_header_names(body.algorithm) if name == binding.name), body.algorithm.name_span
        )
        if body.scope.find(binding.name) is None:
            body.define(SymbolEntry(binding.name, Role.SIZE, Kind.STATIC, span))
            body.path.append(FreeVariable(binding.name, signature.at_least[binding.name]))
    for parameter in signature.parameters:
        if body.scope.find(parameter.name) is None:
            body.define(_make_symbol(body, parameter))
        if isinstance(parameter.type, s.IndexType):
            body.path.append(FreeVariable(parameter.name, None))
        if parameter.local and not body.distributed:
            message = "`local` parameters belong to algorithms `on grid`"
            body.report(call_rules.NOT_ON_GRID, message, parameter.span)
        _check_mode(body, parameter)
    for name, span in _iterate_header_names(body.algorithm):
        # A size that nothing binds has been reported; one report is enough.
        if body.scope.find(name) is None and name not in MACHINE_SYMBOLS:
            body.define(SymbolEntry(name, Role.SIZE, Kind.STATIC, span))


def _check_mode(body: BodyContext, parameter: s.Parameter) -> None:
    array = isinstance(parameter.type, s.ArrayType | s.OffsetsType | s.IndexArrayType)
    if parameter.mode != "in" and not array and not isinstance(parameter.type, s.ScalarType):
        message = f"`{parameter.name}` is passed by value, so it cannot be `{parameter.mode}`"
        number = isinstance(parameter.type, s.SizeType | s.IndexType)
        hint = f"declare `{parameter.name}: {parameter.mode} int`, or return the number" if number else None
        body.report(type_rules.WRONG_MODE, message, parameter.span, hint)
    if parameter.mode != "in" and isinstance(parameter.type, s.OffsetsType | s.IndexArrayType):
        message = f"`{parameter.name}` cannot be `{parameter.mode}`: its facts are those of the data it is given"
        body.report(type_rules.WRONG_MODE, message, parameter.span, "use an `int` array for what is written")
    if parameter.local and not array:
        message = f"`{parameter.name}` is not an array, so it cannot be `local`"
        body.report(type_rules.WRONG_MODE, message, parameter.span)


def _make_symbol(body: BodyContext, parameter: s.Parameter) -> SymbolEntry:
    name, span = parameter.name, parameter.span
    writable = parameter.mode != "in"
    shared = body.distributed and not parameter.local
    match parameter.type:
        case s.SizeType():
            return SymbolEntry(name, Role.SIZE, Kind.STATIC, span)
        case s.IndexType():
            return SymbolEntry(name, Role.INDEX, Kind.STATIC, span)
        case s.ScalarType(element=element):
            return SymbolEntry(name, Role.SCALAR, parse_element_kind(element), span, logical=element == "bool")
        case s.OperatorType():
            return SymbolEntry(name, Role.SCALAR, Kind.OPERATOR, span)
        case s.ArrayType() as type_:
            view = make_array_type(body, type_)
            logical = type_.element == "bool"
            return SymbolEntry(name, Role.ARRAY, view, span, type_.shape, writable, shared, logical=logical)
        case s.IndexArrayType(shape=shape):
            view = ViewType(Kind.INT, len(shape))
            return SymbolEntry(name, Role.ARRAY, view, span, shape, writable, shared)
        case s.OffsetsType(count=count) as offsets:
            shape = (combine_extents(body.facts, "+", count, make_integer(body.facts, 1, count.span), count.span),)
            return SymbolEntry(name, Role.ARRAY, ViewType(Kind.INT, 1), span, shape, writable, shared, offsets)


def parse_element_kind(element: str) -> Kind:
    """Return the kind of an element type: INT for `int`, `bool` and `char`."""
    return {"real": Kind.REAL, "any": Kind.ANY}.get(element, Kind.INT)


def make_array_type(body: BodyContext, type_: s.ArrayType) -> ViewType:
    """Return the type of an array as declared."""
    if type_.layout == "zmorton" and len(type_.shape) != 2:
        message = f"`zmorton` is a layout of two dimensions, not {len(type_.shape)}"
        body.report(type_rules.LAYOUT, message, type_.span)
    if type_.element == "any" and not body.distributed:
        message = "arrays of `any` belong to algorithms `on grid`"
        body.report(call_rules.NOT_ON_GRID, message, type_.span, "write `real` or `int`")
    layout = type_.layout if len(type_.shape) > 1 else "rowmajor"
    return ViewType(parse_element_kind(type_.element), len(type_.shape), layout)
