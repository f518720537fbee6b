"""Which form of a sparse matrix an algorithm's parameters are: by rows, by columns, or by blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from archline.execution import run_rules as rules
from archline.execution.sparse_matrix import SparseMatrix
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.format_expressions import format_expression
from archline.language.model import Module
from archline.language.structure import structure

Sizes = dict[str, int]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class _Form:
    """The parameters that take the matrix: offsets, one array of indices or two, the values."""

    name: str
    offsets: s.OffsetsType
    indices: tuple[tuple[str, s.IndexArrayType], ...]
    values: str | None


def arguments_of(
    module: Module, algorithm: s.Algorithm, matrix: SparseMatrix, block: int | None
) -> tuple[Sizes, Arrays]:
    """The sizes that a matrix tells, and the arrays that hold it. Raises ArchlineError (AL527, AL524)."""
    del module
    form = _form(algorithm)
    if len(form.indices) == 2:
        return _blocked(algorithm, form, matrix, block)
    ((index_name, index_type),) = form.indices
    by_rows = _by_rows(algorithm, form, index_type)
    offsets, indices, values = matrix.csr() if by_rows else matrix.csc()
    count, below, longest = (matrix.n, matrix.m, matrix.nr) if by_rows else (matrix.m, matrix.n, matrix.nc)
    arrays: Arrays = {form.name: offsets, index_name: indices}
    if form.values is not None:
        arrays[form.values] = values
    told = [(form.offsets.count, count), (index_type.below, below), (form.offsets.into, matrix.nz)]
    return _sizes([*told, *_longest(form, longest)]), arrays


def _form(algorithm: s.Algorithm) -> _Form:
    for parameter in algorithm.parameters:
        if not isinstance(parameter.type, s.OffsetsType):
            continue
        entries = structure(parameter.type.into)
        indices: list[tuple[str, s.IndexArrayType]] = []
        values = None
        for other in algorithm.parameters:
            match other.type:
                case s.IndexArrayType(shape=(entry,)) as type_ if structure(entry) == entries:
                    indices.append((other.name, type_))
                case s.ArrayType(element="real", shape=(entry,)) if structure(entry) == entries and values is None:
                    values = other.name
                case _:
                    pass
        blocks = len(indices) == 2 and structure(indices[0][1].below) == structure(indices[1][1].below)
        if len(indices) == 1 or blocks:
            return _Form(parameter.name, parameter.type, tuple(indices), values)
    message = (
        f"`{algorithm.name}` takes no sparse matrix: its parameters are none of the forms by rows, columns, blocks"
    )
    raise error(rules.NOT_A_KERNEL, message, span=algorithm.name_span)


def _by_rows(algorithm: s.Algorithm, form: _Form, index: s.IndexArrayType) -> bool:
    """The result has an entry for each segment if these are rows, and one for each index if they are columns."""
    count, below = structure(form.offsets.count), structure(index.below)
    for parameter in algorithm.parameters:
        if parameter.mode != "in" and isinstance(parameter.type, s.ArrayType) and count != below:
            extents = [structure(entry) for entry in parameter.type.shape]
            if (count in extents) != (below in extents):
                return count in extents
    # A square matrix does not tell; the name of the offsets may.
    return not form.name.lower().startswith("col")


def _longest(form: _Form, longest: int) -> list[tuple[s.Expr, int]]:
    return [] if form.offsets.longest is None else [(form.offsets.longest, longest)]


def _sizes(told: list[tuple[s.Expr, int]]) -> Sizes:
    return {expr.id: value for expr, value in told if isinstance(expr, s.Name)}


def _blocked(algorithm: s.Algorithm, form: _Form, matrix: SparseMatrix, block: int | None) -> tuple[Sizes, Arrays]:
    if block is None:
        below = format_expression(form.indices[0][1].below)
        message = f"`{algorithm.name}` takes blocks of {below} x {below}; their size must be given"
        raise error(rules.BAD_SIZE, message, span=algorithm.name_span)
    told: list[tuple[s.Expr, int]]
    by_quadrants = _by_quadrants(algorithm, form)
    match form.offsets.count:
        case s.Binary(op="*", left=s.Name(id=left) as rows, right=s.Name(id=right) as cols) if left != right:
            blocks = matrix.blocks(block, zmorton=by_quadrants)
            told = [(rows, blocks.block_rows), (cols, blocks.block_cols)]
        case count:
            blocks = matrix.blocks(block, square=True, zmorton=by_quadrants)
            told = [(_side(count), blocks.block_rows)]
            if isinstance(count, s.Name):
                told = [(count, blocks.block_rows * blocks.block_cols)]
    told += [(form.indices[0][1].below, block), (form.offsets.into, matrix.nz), *_longest(form, blocks.longest)]
    (first, _), (second, _) = form.indices
    if first.lower().startswith("col"):
        first, second = second, first
    arrays: Arrays = {form.name: blocks.offsets, first: blocks.row, second: blocks.col}
    if form.values is not None:
        arrays[form.values] = blocks.val
    return _sizes(told), arrays


def _by_quadrants(algorithm: s.Algorithm, form: _Form) -> bool:
    """Whether entries come in Z-Morton order: where the side of a block is a power of 2, since the kernel halves it."""
    side = structure(form.indices[0][1].below)
    for fact in algorithm.where:
        match fact:
            case s.IsPower(value=value, base=s.Integer(value=2)) if structure(value) == side:
                return True
            case _:
                pass
    return False


def _side(count: s.Expr) -> s.Expr:
    """The name of the side of a square number of blocks, nb in `nb^2` and `nb*nb`."""
    match count:
        case s.Binary(op="^", left=s.Name() as side, right=s.Integer(value=2)):
            return side
        case s.Binary(op="*", left=s.Name() as side, right=s.Name()):
            return side
        case _:
            return count
