"""Generate the arguments of runs: random data of given sizes, and sparse matrices as kernels take them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.execution import run_rules as rules
from archline.execution.memory import available_bytes, require_free_memory
from archline.execution.sparse_matrix import SparseMatrix
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import make_structural_key
from archline.expr.values import evaluate_fact, evaluate_static
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error, suggest_closest
from archline.language.model import BoundBy, Module
from archline.records import record

Sizes = dict[str, int]
Arrays = dict[str, NDArray[Any]]


@record(slots=True)
class _MatrixParameters:
    """The parameters that hold a sparse matrix: offsets, one or two arrays of indices, and the values."""

    name: str
    offsets: s.OffsetsType
    indices: tuple[tuple[str, s.IndexArrayType], ...]
    values: str | None


def convert_matrix(
    module: Module, algorithm: s.Algorithm, matrix: SparseMatrix, block: int | None
) -> tuple[Sizes, Arrays]:
    """Return the sizes that a matrix determines, and the arrays that hold it. Raises ArchlineError (AL527, AL524)."""
    del module
    form = _find_matrix_parameters(algorithm)
    if len(form.indices) == 2:
        return _convert_to_blocks(algorithm, form, matrix, block)
    ((index_name, index_type),) = form.indices
    by_rows = _is_by_rows(algorithm, form, index_type)
    offsets, indices, values = matrix.build_csr() if by_rows else matrix.build_csc()
    count, below, longest = (matrix.n, matrix.m, matrix.nr) if by_rows else (matrix.m, matrix.n, matrix.nc)
    arrays: Arrays = {form.name: offsets, index_name: indices}
    if form.values is not None:
        arrays[form.values] = values
    entries = [(form.offsets.count, count), (index_type.below, below), (form.offsets.into, matrix.nz)]
    return _collect_sizes([*entries, *_list_longest_size(form, longest)]), arrays


def _find_matrix_parameters(algorithm: s.Algorithm) -> _MatrixParameters:
    for parameter in algorithm.parameters:
        if not isinstance(parameter.type, s.OffsetsType):
            continue
        entries = make_structural_key(parameter.type.into)
        indices: list[tuple[str, s.IndexArrayType]] = []
        values = None
        for candidate in algorithm.parameters:
            match candidate.type:
                case s.IndexArrayType(shape=(entry,)) as type_ if make_structural_key(entry) == entries:
                    indices.append((candidate.name, type_))
                case s.ArrayType(element="real", shape=(entry,)) if (
                    make_structural_key(entry) == entries and values is None
                ):
                    values = candidate.name
                case _:
                    pass
        blocks = len(indices) == 2 and make_structural_key(indices[0][1].below) == make_structural_key(
            indices[1][1].below
        )
        if len(indices) == 1 or blocks:
            return _MatrixParameters(parameter.name, parameter.type, tuple(indices), values)
    message = (
        f"`{algorithm.name}` takes no sparse matrix: none is stored in its parameters by rows, by columns or in blocks"
    )
    raise error(rules.NOT_A_KERNEL, message, span=algorithm.name_span)


def _is_by_rows(algorithm: s.Algorithm, form: _MatrixParameters, index: s.IndexArrayType) -> bool:
    """Test whether segments are rows: if a result has an entry for each segment, and not for each index."""
    count, below = make_structural_key(form.offsets.count), make_structural_key(index.below)
    for parameter in algorithm.parameters:
        if parameter.mode != "in" and isinstance(parameter.type, s.ArrayType) and count != below:
            extents = [make_structural_key(entry) for entry in parameter.type.shape]
            if (count in extents) != (below in extents):
                return count in extents
    # For a square matrix the extents do not decide it; the name of the offsets may.
    return not form.name.lower().startswith("col")


def _list_longest_size(form: _MatrixParameters, longest: int) -> list[tuple[s.Expr, int]]:
    return [] if form.offsets.longest is None else [(form.offsets.longest, longest)]


def _collect_sizes(entries: list[tuple[s.Expr, int]]) -> Sizes:
    return {expr.id: value for expr, value in entries if isinstance(expr, s.Name)}


def _convert_to_blocks(
    algorithm: s.Algorithm, form: _MatrixParameters, matrix: SparseMatrix, block: int | None
) -> tuple[Sizes, Arrays]:
    if block is None:
        below = format_expression(form.indices[0][1].below)
        message = f"`{algorithm.name}` takes blocks of {below} x {below}; their size must be given"
        raise error(rules.BAD_SIZE, message, span=algorithm.name_span)
    entries: list[tuple[s.Expr, int]]
    by_quadrants = _is_by_quadrants(algorithm, form)
    match form.offsets.count:
        case s.Binary(op="*", left=s.Name(id=left) as rows, right=s.Name(id=right) as cols) if left != right:
            blocks = matrix.blocks(block, zmorton=by_quadrants)
            entries = [(rows, blocks.block_rows), (cols, blocks.block_cols)]
        case count:
            blocks = matrix.blocks(block, square=True, zmorton=by_quadrants)
            entries = [(_find_blocks_per_side(count), blocks.block_rows)]
            if isinstance(count, s.Name):
                entries = [(count, blocks.block_rows * blocks.block_cols)]
    entries += [
        (form.indices[0][1].below, block),
        (form.offsets.into, matrix.nz),
        *_list_longest_size(form, blocks.longest),
    ]
    (first, _), (second, _) = form.indices
    if first.lower().startswith("col"):
        first, second = second, first
    arrays: Arrays = {form.name: blocks.offsets, first: blocks.row, second: blocks.col}
    if form.values is not None:
        arrays[form.values] = blocks.val
    return _collect_sizes(entries), arrays


def _is_by_quadrants(algorithm: s.Algorithm, form: _MatrixParameters) -> bool:
    """Test whether entries are in Z-Morton order, as kernels need it that require a power of 2 as the block size."""
    side = make_structural_key(form.indices[0][1].below)
    for fact in algorithm.where:
        match fact:
            case s.IsPower(value=value, base=s.Integer(value=2)) if make_structural_key(value) == side:
                return True
            case _:
                pass
    return False


def _find_blocks_per_side(count: s.Expr) -> s.Expr:
    """Return nb of a number of blocks `nb^2` or `nb*nb`, and other expressions unchanged."""
    match count:
        case s.Binary(op="^", left=s.Name() as side, right=s.Integer(value=2)):
            return side
        case s.Binary(op="*", left=s.Name() as side, right=s.Name()):
            return side
        case _:
            return count


Arguments = dict[str, Any]
NO_NUMBERS: Mapping[str, int | float] = {}

_MAX_DRAWS = 1000
_INTEGER_DATA_BOUNDS = {"int": 10, "char": 128, "bool": 2}


def generate_arguments(
    module: Module,
    algorithm: s.Algorithm,
    sizes: Mapping[str, Any],
    seed: int = 0,
    numbers: Mapping[str, int | float] = NO_NUMBERS,
) -> Arguments:
    """Generate random arguments of an algorithm for values of all its sizes and indices.

    Reals are uniform in [0.5, 1.5), `int` data in 0..10, indices uniform below their bound; offsets have the given
    total and no gap above their longest, with one gap of that length if `longest` is a size of its own. Scalars,
    except the given `numbers`, are drawn until the assumptions at the start of the algorithm hold. `out` arrays are
    zero.

    Raises ArchlineError: AL524 for sizes that are missing, extra, fractional or too small, AL506 if a `where` is false,
    AL526 if offsets or indices of such sizes do not exist, AL519 if the arrays would not fit memory.
    """
    point = check_sizes(module, algorithm, sizes)
    return _fill_arguments(module, algorithm, point, {}, np.random.default_rng(seed), numbers, zero_results=False)


def bind_matrix(
    module: Module,
    algorithm: s.Algorithm,
    matrix: SparseMatrix,
    sizes: Mapping[str, Any] | None = None,
    *,
    block: int | None = None,
    seed: int = 0,
    numbers: Mapping[str, int | float] = NO_NUMBERS,
) -> Arguments:
    """Return arguments with a sparse matrix, in the form of a kernel's parameters: CSR, CSC or blocks.

    `sizes` gives values that the matrix does not determine, `block` the size of blocks. Other `in` arrays are random as
    in generated data, `inout` arrays are zero. Raises ArchlineError as `generate_arguments`, and AL527 without a form.
    """
    given_sizes = dict(sizes or {})
    matrix_sizes, arrays = convert_matrix(
        module, algorithm, matrix, block if block is not None else given_sizes.get("b")
    )
    for name, value in matrix_sizes.items():
        if name in given_sizes and given_sizes[name] != value:
            message = f"the matrix has `{name}` = {value}, but {given_sizes[name]} was given"
            raise error(rules.BAD_SIZE, message, span=algorithm.name_span)
    point = check_sizes(module, algorithm, {**given_sizes, **matrix_sizes})
    return _fill_arguments(module, algorithm, point, arrays, np.random.default_rng(seed), numbers, zero_results=True)


def check_sizes(module: Module, algorithm: s.Algorithm, sizes: Mapping[str, Any]) -> dict[str, int]:
    """Check the values of all sizes and indices of an algorithm, and of P on a grid; return them as ints.

    Raises ArchlineError (AL524, AL506, AL530).
    """
    signature = module.signatures[algorithm]
    names = [*signature.size_names, *signature.indices]
    if algorithm.grid:
        sizes = with_processor_count(algorithm, sizes)
        names.append("P")
    span = algorithm.name_span
    for name in sizes:
        if name not in names:
            hint = suggest_closest(name, names) or (f"its sizes are {', '.join(names)}" if names else "it has no sizes")
            raise error(rules.BAD_SIZE, f"`{algorithm.name}` has no size `{name}`", span=span, hint=hint)
    missing = [name for name in names if name not in sizes]
    if missing == ["P"]:
        raise make_processors_error(algorithm)
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        raise error(rules.BAD_SIZE, f"`{algorithm.name}` needs a value for {listed}", span=span)
    point: dict[str, int] = {}
    for name in names:
        value = sizes[name]
        if isinstance(value, bool) or value != int(value):
            raise error(rules.BAD_SIZE, f"`{name}` must be a whole number, not {value}", span=span)
        point[name] = int(value)
        minimum = signature.at_least.get(name)
        if minimum is not None and point[name] < minimum:
            raise error(rules.BAD_SIZE, f"`{name}` is {value}, and must be at least {minimum}", span=span)
    for fact in algorithm.where:
        if evaluate_fact(fact, point) is False:
            raise error(rules.WHERE, f"`where {format_fact(fact)}` is false at these sizes", span=fact.span)
    return point


def with_processor_count(algorithm: s.Algorithm, sizes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add P to the sizes of a run on a grid, if sizes determine the extents of all axes."""
    if "P" in sizes or any("P" in s.find_names(axis.extent) for axis in algorithm.grid):
        return sizes
    try:
        return {**sizes, "P": math.prod(evaluate_static(axis.extent, sizes) for axis in algorithm.grid)}
    except EvaluationError:
        return sizes


def make_processors_error(algorithm: s.Algorithm) -> ArchlineError:
    """Return the error about P without a value."""
    message = f"`{algorithm.name}` runs on P processors, but P has no value"
    return error(rules.GRID, message, span=algorithm.name_span, hint="give it a value, such as `--at P=8`")


def _fill_arguments(
    module: Module,
    algorithm: s.Algorithm,
    point: Mapping[str, int],
    arrays: Mapping[str, NDArray[Any]],
    source: np.random.Generator,
    numbers: Mapping[str, int | float],
    *,
    zero_results: bool,
) -> Arguments:
    _check_memory(algorithm, point)
    exact = {
        algorithm.parameters[binding.parameter].name
        for binding in module.signatures[algorithm].sizes
        if binding.by is BoundBy.LONGEST
    }
    arguments: Arguments = {}
    for parameter in algorithm.parameters:
        name = parameter.name
        if name in arrays:
            arguments[name] = arrays[name]
        elif parameter.local:
            parts = [_generate_value(parameter, point, source, name in exact, zero_results) for _ in range(point["P"])]
            arguments[name] = np.stack(parts)
        else:
            arguments[name] = _generate_value(parameter, point, source, name in exact, zero_results)
    if algorithm.grid:
        arguments["P"] = point["P"]
    else:
        arguments |= _draw_assumed_scalars(algorithm, {**point, **arguments, **numbers}, numbers, source)
    return {**arguments, **numbers}


def _draw_assumed_scalars(
    algorithm: s.Algorithm, values: Mapping[str, Any], numbers: Mapping[str, int | float], source: np.random.Generator
) -> dict[str, Any]:
    """Return scalars that meet the assumptions at the start of the algorithm.

    They are drawn again until they do; after many draws the last ones stay, and the run reports the assumption.
    """
    facts = _list_opening_facts(algorithm)
    names = {name.removesuffix("'") for fact in facts for name in s.find_names(fact)} - numbers.keys()
    scalars = [part for part in algorithm.parameters if isinstance(part.type, s.ScalarType) and part.name in names]
    drawn: dict[str, Any] = {}
    for _ in range(_MAX_DRAWS if scalars else 0):
        if all(_may_hold(fact, {**values, **drawn}) for fact in facts):
            return drawn
        drawn = {part.name: _make_random_value(part, {}, source, exact=False) for part in scalars}
    return {}


def _list_opening_facts(algorithm: s.Algorithm) -> list[s.Fact]:
    """Return the facts about scalars in `assume` at an algorithm's start; n' is the register of a parameter n."""
    facts: list[s.Fact] = []
    for statement in algorithm.body:
        match statement:
            case s.Assume(facts=assumed):
                facts += [fact for fact in assumed if not any(s.find_nodes(fact, s.Element))]
            case s.Local(name=name, value=s.Name(id=parameter)) if name == f"{parameter}'":
                pass
            case _:
                # What follows may change data.
                break
    return facts


def _may_hold(fact: s.Fact, values: Mapping[str, Any]) -> bool:
    numbers = {name: value for name, value in values.items() if isinstance(value, int | float)}
    exact = {name: value if isinstance(value, int) else Fraction(value) for name, value in numbers.items()}
    return evaluate_fact(fact, exact | {f"{name}'": value for name, value in exact.items()}) is not False


def _generate_value(
    parameter: s.Parameter, point: Mapping[str, int], source: np.random.Generator, exact: bool, zero_results: bool
) -> Any:
    if parameter.mode == "out" or (zero_results and parameter.mode == "inout"):
        return _make_zeros(parameter, point)
    return _make_random_value(parameter, point, source, exact)


def _evaluate_size(expr: s.Expr, point: Mapping[str, int]) -> int:
    try:
        return evaluate_static(expr, point)
    except EvaluationError as problem:
        message = f"`{format_expression(expr)}` has no value at these sizes: {problem}"
        raise error(rules.BAD_SIZE, message, span=expr.span) from None


def _evaluate_shape(shape: tuple[s.Expr, ...], point: Mapping[str, int]) -> tuple[int, ...]:
    extents = tuple(_evaluate_size(entry, point) for entry in shape)
    for entry, extent in zip(shape, extents, strict=True):
        if extent < 0:
            message = f"the extent `{format_expression(entry)}` is {extent} at these sizes"
            raise error(rules.BAD_SIZE, message, span=entry.span)
    return extents


def _check_memory(algorithm: s.Algorithm, point: Mapping[str, int]) -> None:
    """Raise ArchlineError (AL519) if the arrays, with the copies that a run makes, would not fit memory."""
    words = 0
    for parameter in algorithm.parameters:
        match parameter.type:
            case s.ArrayType(shape=shape) | s.IndexArrayType(shape=shape):
                words += math.prod(_evaluate_shape(shape, point))
            case s.OffsetsType(count=count):
                words += _evaluate_size(count, point) + 1
            case s.SizeType() | s.IndexType() | s.ScalarType() | s.OperatorType():
                pass
    require_free_memory(3 * 8 * words, available_bytes())


def _make_zeros(parameter: s.Parameter, point: Mapping[str, int]) -> NDArray[Any]:
    assert isinstance(parameter.type, s.ArrayType)
    dtype = np.float64 if parameter.type.element in ("real", "any") else np.int64
    return np.zeros(_evaluate_shape(parameter.type.shape, point), dtype)


def _make_random_value(
    parameter: s.Parameter, point: Mapping[str, int], source: np.random.Generator, exact: bool
) -> Any:
    match parameter.type:
        case s.SizeType() | s.IndexType():
            return point[parameter.name]
        case s.ScalarType(element="real"):
            return float(source.uniform(0.5, 1.5))
        case s.OperatorType():
            return "+"
        case s.ScalarType(element=element):
            return int(source.integers(_INTEGER_DATA_BOUNDS[element]))
        case s.ArrayType(element="real" | "any", shape=shape):
            return source.uniform(0.5, 1.5, _evaluate_shape(shape, point))
        case s.ArrayType(element=element, shape=shape):
            return source.integers(_INTEGER_DATA_BOUNDS[element], size=_evaluate_shape(shape, point))
        case s.IndexArrayType(shape=shape, below=below):
            return _make_indices(parameter, _evaluate_shape(shape, point), _evaluate_size(below, point), source)
        case s.OffsetsType(count=count, into=into, longest=longest):
            limit = None if longest is None else _evaluate_size(longest, point)
            return _make_offsets(
                parameter, _evaluate_size(count, point), _evaluate_size(into, point), limit, exact, source
            )


def _make_indices(
    parameter: s.Parameter, shape: tuple[int, ...], below: int, source: np.random.Generator
) -> NDArray[Any]:
    if below < 1:
        if math.prod(shape) == 0:
            return np.zeros(shape, np.int64)
        message = f"`{parameter.name}` has entries, but no index is below {below}"
        raise error(rules.IMPOSSIBLE_DATA, message, span=parameter.span)
    return source.integers(below, size=shape)


def _make_offsets(
    parameter: s.Parameter, count: int, total: int, longest: int | None, exact: bool, source: np.random.Generator
) -> NDArray[Any]:
    """Return random offsets of `count` segments up to `total`; if `exact`, the longest gap is `longest`."""
    limit = total if longest is None else longest
    impossible = total < 0 or count < 0 or total > count * limit or (exact and (limit > total or count == 0 < limit))
    if impossible:
        cap = f" and longest gap {limit}" if exact else f" and no gap above {limit}"
        limits = "" if longest is None else cap
        message = f"there are no offsets of {count} segments with total {total}{limits}"
        raise error(rules.IMPOSSIBLE_DATA, message, span=parameter.span)
    gaps = np.zeros(count, np.int64)
    if exact and count:
        gaps[source.integers(count)] = limit
    gaps += _split_at_random(total - int(gaps.sum()), limit - gaps, source)
    return np.concatenate(([0], np.cumsum(gaps))).astype(np.int64)


def _split_at_random(amount: int, room: NDArray[np.int64], source: np.random.Generator) -> NDArray[np.int64]:
    """Split `amount` in random parts, each at most its entry of `room`, which has at least `amount` in all."""
    if amount == 0:
        return np.zeros(len(room), np.int64)
    capped = np.minimum(room, amount)
    # The generator accepts totals below 10^9 only.
    if int(capped.sum()) < 10**9:
        return source.multivariate_hypergeometric(capped, amount, method="marginals")
    parts = np.zeros(len(room), np.int64)
    while amount:
        unfilled = np.flatnonzero(capped > parts)
        share = max(amount // len(unfilled), 1)
        chosen = unfilled if amount >= len(unfilled) else source.permutation(unfilled)[:amount]
        added = np.minimum(capped[chosen] - parts[chosen], share)
        parts[chosen] += added
        amount -= int(added.sum())
    return parts
