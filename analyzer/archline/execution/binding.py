"""Check the arguments of a run against an algorithm's parameters, and assign them addresses in memory."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.execution import run_rules as rules
from archline.execution.arithmetic import to_nearest_real
from archline.execution.placement import Placement, place_array
from archline.execution.slots import INT_LIMIT
from archline.language import syntax as s
from archline.language.diagnostics import error, format_count, suggest_closest
from archline.language.format_statements import format_parameter, format_type
from archline.language.model import Module
from archline.records import record


@record(eq=False)
class BoundArguments:
    """Arguments of a run, checked and placed in memory.

    `scalars`, `arrays` and `placements` are by parameter; `facts` has (total, longest gap) of offsets arrays and
    (maximum + 1,) of index arrays; `symbols` are the values of cost symbols. On a grid the arrays of `local` parameters
    have a first axis of P, and their placements are in the private memory of each processor, which begins with
    `own_words` words for these; all other arrays share a memory of `words`.
    """

    scalars: Mapping[str, int | float | str]
    arrays: Mapping[str, NDArray[Any]]
    facts: Mapping[str, tuple[int, ...]]
    symbols: Mapping[str, int | Fraction]
    placements: Mapping[str, Placement]
    words: int
    own_words: int = 0
    local: frozenset[str] = frozenset()

    def select_arrays(self, rank: int | None = None) -> dict[str, NDArray[Any]]:
        """Return the arrays in the shared memory, or with a rank the local arrays of that processor."""
        if rank is None:
            return {name: array for name, array in self.arrays.items() if name not in self.local}
        return {name: self.arrays[name][rank] for name in self.local}


def bind_arguments(
    module: Module, algorithm: s.Algorithm, arguments: Mapping[str, Any], symbols: frozenset[str], line: int
) -> BoundArguments:
    """Check arguments, and lay their arrays out in memory. Raises ArchlineError (AL512, AL513, AL520 to AL524)."""
    _check_names(module, algorithm, arguments, symbols)
    scalars: dict[str, int | float | str] = {}
    arrays: dict[str, NDArray[Any]] = {}
    facts: dict[str, tuple[int, ...]] = {}
    placements: dict[str, Placement] = {}
    words = own_words = 0
    for parameter in algorithm.parameters:
        value = arguments[parameter.name]
        lead = 1 if parameter.local else 0
        match parameter.type:
            case s.OperatorType():
                scalars[parameter.name] = _check_operator(parameter, value)
                continue
            case s.SizeType() | s.IndexType() | s.ScalarType():
                scalars[parameter.name] = _convert_scalar(parameter, value)
                continue
            case s.ArrayType(element=element, shape=shape, layout=layout):
                array = _convert_array(parameter, value, element, len(shape) + lead)
            case s.OffsetsType():
                array, layout = _convert_array(parameter, value, "int", 1 + lead), "rowmajor"
                facts[parameter.name] = _check_offsets(parameter, array)
            case s.IndexArrayType(shape=shape):
                array, layout = _convert_array(parameter, value, "int", len(shape) + lead), "rowmajor"
                facts[parameter.name] = _check_indices(parameter, array)
        arrays[parameter.name] = array
        placed = place_array(own_words if lead else words, array.shape[lead:], layout, line)
        placements[parameter.name] = placed
        if lead:
            own_words += placed.words
        else:
            words += placed.words
    values = {
        name: _convert_symbol(name, arguments[name]) for name in symbols - {*scalars, *arrays} if name in arguments
    }
    local = frozenset(parameter.name for parameter in algorithm.parameters if parameter.local)
    return BoundArguments(scalars, arrays, facts, values, placements, words, own_words, local)


def _check_names(module: Module, algorithm: s.Algorithm, arguments: Mapping[str, Any], symbols: frozenset[str]) -> None:
    parameters = {parameter.name: parameter for parameter in algorithm.parameters}
    sizes = module.signatures[algorithm].size_names
    for name in arguments:
        if name in parameters or name in symbols:
            continue
        if algorithm.takes_no_value(name):
            message, hint = describe_output(algorithm, name)
            raise error(rules.UNKNOWN_ARGUMENT, message, hint=hint)
        if name in sizes:
            hint = f"`{name}` is determined by the arrays"
        else:
            hint = suggest_closest(str(name), [*parameters, *symbols]) or _describe_parameters(algorithm)
        raise error(rules.UNKNOWN_ARGUMENT, f"`{algorithm.name}` has no parameter `{name}`", hint=hint)
    missing = [parameter for name, parameter in parameters.items() if name not in arguments]
    if missing:
        listed = ", ".join(f"`{format_parameter(parameter)}`" for parameter in missing)
        raise error(
            rules.MISSING_ARGUMENT,
            f"`{algorithm.name}` needs {listed}",
            span=missing[0].span,
            hint=_describe_parameters(algorithm),
        )


def describe_output(algorithm: s.Algorithm, name: str) -> tuple[str, str]:
    """Return the message and the hint for a value that is given for a number which a run hands back."""
    return f"`{name}` of `{algorithm.name}` is an output, which takes no value", f"leave out `{name}`: the run sets it"


def _describe_parameters(algorithm: s.Algorithm) -> str:
    return f"its parameters are {', '.join(parameter.name for parameter in algorithm.parameters)}"


def _make_type_error(parameter: s.Parameter, what: str) -> Exception:
    message = f"`{parameter.name}` is `{format_type(parameter.type)}`, but was given {what}"
    return error(rules.ARGUMENT_TYPE, message, span=parameter.span)


def _convert_scalar(parameter: s.Parameter, value: Any) -> int | float:
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    real = isinstance(parameter.type, s.ScalarType) and parameter.type.element == "real"
    logical = isinstance(parameter.type, s.ScalarType) and parameter.type.element == "bool"
    if (isinstance(value, bool) and not logical) or not isinstance(value, int | float if real else int):
        what = f"{value!r}" if isinstance(value, int | float | complex | str) else f"a {type(value).__name__}"
        if isinstance(parameter.type, s.SizeType | s.IndexType):
            message = f"`{parameter.name}` is a whole number, but was given {what}"
            raise error(rules.BAD_SIZE, message, span=parameter.span)
        raise _make_type_error(parameter, what)
    if real:
        return to_nearest_real(value)
    if abs(value) > INT_LIMIT:
        raise error(rules.BAD_SIZE, f"`{parameter.name}` is {value}, beyond 64 bits", span=parameter.span)
    return int(value)


def _check_operator(parameter: s.Parameter, value: Any) -> str:
    if value not in ("+", "*", "min", "max"):
        raise _make_type_error(parameter, f"{value!r}; an operator is one of + * min max")
    return str(value)


def _convert_symbol(name: str, value: Any) -> int | Fraction:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or value < 0:
        raise error(rules.BAD_SIZE, f"the cost symbol `{name}` must be a number >= 0, not {value!r}")
    return value


def _convert_array(parameter: s.Parameter, value: Any, element: str, rank: int) -> NDArray[Any]:
    """Return a copy that the run may change: reals as float64 with one kind of NaN, others as int64."""
    try:
        source = np.asarray(value)
    except ValueError:
        raise _make_type_error(parameter, "rows of different lengths") from None
    kinds = "iuf" if element in ("real", "any") else "iub"
    if source.dtype.kind not in kinds and source.size:
        raise _make_type_error(parameter, f"an array of {source.dtype}")
    if source.ndim != rank:
        message = f"`{parameter.name}` has {format_count(rank, 'dimension')}, but was given {source.ndim}"
        raise error(rules.ARGUMENT_SHAPE, message, span=parameter.span)
    if element in ("real", "any"):
        array = source.astype(np.float64)
        # A NaN in the data may have the pattern that marks unset elements, which arithmetic never produces.
        array[np.isnan(array)] = np.nan
        return array
    if source.size and (int(source.max()) > INT_LIMIT or int(source.min()) < -INT_LIMIT):
        raise _make_type_error(parameter, "an integer beyond 64 bits")
    return source.astype(np.int64)


def _check_offsets(parameter: s.Parameter, array: NDArray[Any]) -> tuple[int, int]:
    """Return the total and longest gap of offsets, which start at 0 and do not decrease."""
    name = parameter.name
    if len(array) < 1:
        problem = f"`{name}` is empty; offsets have one entry more than there are segments"
    elif array[0] != 0:
        problem = f"`{name}` starts at {array[0]}, not at 0"
    else:
        gaps = np.diff(array)
        if not (gaps < 0).any():
            return int(array[-1]), int(gaps.max(initial=0))
        at = int(np.argmax(gaps < 0)) + 1
        problem = f"`{name}` decreases at entry {at}: from {array[at - 1]} to {array[at]}"
    raise error(rules.OFFSETS, problem, span=parameter.span)


def _check_indices(parameter: s.Parameter, array: NDArray[Any]) -> tuple[int]:
    if array.size and int(array.min()) < 0:
        at = np.unravel_index(int(np.argmin(array)), array.shape)
        subscripts = ", ".join(map(str, at))
        message = f"`{parameter.name}[{subscripts}]` is {array.min()}, below 0"
        raise error(rules.INDICES, message, span=parameter.span)
    return (int(array.max()) + 1 if array.size else 0,)
