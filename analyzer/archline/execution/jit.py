"""Run the kernels, plain Python functions over flat arrays, compiled by numba if that is installed.

numba is imported late: importing this module costs nothing, and the first call of a kernel takes the time of the import
and the compilation. A kernel runs uncompiled if numba (the extra `fast`) is missing, or inside `run_interpreted`. So
that results are the same, kernels keep to a small common language: integers, `while` and `for` over `range` or a
buffer, indexing, and the helpers below for bits. Buffers are numpy arrays for compiled code and lists for plain Python,
which indexes lists several times faster and whose integers do not overflow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, MutableSequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray

    Integer = TypeVar("Integer", bound=np.integer[Any])

Function = TypeVar("Function", bound=Callable[..., Any])
Buffer: TypeAlias = MutableSequence[int]

_JIT_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Kernels and most generated code allocate nothing, so their buffers need no reference counts (numba's runtime, "nrt"),
# which a call of a helper would update atomically for each buffer. They would take a sixth of the time of stack
# distances, and a third of that of LRU simulated during a run.
_KERNEL: dict[str, Any] = {**_JIT_OPTIONS, "_nrt": False}

_interpreted: ContextVar[bool] = ContextVar("archline_interpreted", default=False)
_helpers: list[Callable[..., Any]] = []


@functools.cache
def _numba_installed() -> bool:
    return find_spec("numba") is not None


def are_kernels_compiled() -> bool:
    """Test whether kernels called now run compiled: numba is installed, and no `run_interpreted` is active."""
    return _numba_installed() and not _interpreted.get()


@contextmanager
def run_interpreted() -> Iterator[None]:
    """Run every kernel inside the `with` block as plain Python, whether or not numba is installed."""
    token = _interpreted.set(True)
    try:
        yield
    finally:
        _interpreted.reset(token)


def jit(function: Function, *, allocates: bool = True) -> Function:
    """Return a function compiled by numba (it releases the GIL and divides as numpy does), or unchanged if that is off.

    Nothing is compiled until the first call with given argument types. The result is not cached on disk, as generated
    code has no file. `allocates` allows arrays to be created in it.
    """
    return _compile(function, on_disk=False, allocates=allocates) if are_kernels_compiled() else function


def kernel(function: Function) -> Function:
    """Decorate a kernel of a module: it is compiled on its first call, except inside `run_interpreted`.

    A kernel allocates nothing. The machine code is cached on disk if numba finds a place for it, and is stale once the
    kernel's file changes; so helpers and constants that a kernel uses are in the file of the kernel.
    """

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return (_compile(function, on_disk=True) if are_kernels_compiled() else function)(*arguments)

    return cast(Function, call)


def helper(function: Function) -> Function:
    """Decorate a plain function that kernels call; compiled code inlines it."""
    _helpers.append(function)
    return function


@functools.cache
def _compile(function: Function, *, on_disk: bool, allocates: bool = False) -> Function:
    numba = import_module("numba")
    _register_bit_functions()
    while _helpers:
        numba.extending.register_jitable(_helpers.pop())
    if on_disk:
        # RuntimeError: neither the package's folder nor the user's cache folder can be written.
        with suppress(RuntimeError):
            return cast(Function, numba.njit(cache=True, **_KERNEL)(function))
        return cast(Function, numba.njit(**_KERNEL)(function))
    return cast(Function, numba.njit(**(_JIT_OPTIONS if allocates else _KERNEL))(function))


def popcount(word: int) -> int:
    """Return the number of set bits of a 64-bit word (in plain Python: of an integer >= 0)."""
    return word.bit_count()


def highest_bit(word: int) -> int:
    """Return the index of the highest set bit of a nonzero 64-bit word (in plain Python: of an integer > 0)."""
    return word.bit_length() - 1


def read_now(words: Buffer, index: int) -> int:
    """Return an element that another thread may have changed: compiled code reads it from memory at each call."""
    return words[index]


@functools.cache
def _register_bit_functions() -> None:
    """Register `popcount`, `highest_bit` and `read_now` with numba, which has no builtins for them."""
    extending = import_module("numba.extending")
    types = import_module("numba.core.types")

    def count_set_bits(_typing: Any, word: Any) -> Any:
        def emit_population(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.int64), emit_population

    def leading_zeros(_typing: Any, word: Any) -> Any:
        def emit_leading_zeros(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.ctlz(arguments[0], context.get_constant(types.boolean, False))

        return types.int64(types.int64), emit_leading_zeros

    def element_now(_typing: Any, words: Any, index: Any) -> Any:
        def emit_atomic_load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(array.data, [arguments[1]])
            # No optimisation moves an atomic read out of a loop.
            return builder.load_atomic(place, "monotonic", 8)

        return types.int64(words, index), emit_atomic_load

    read_element = extending.intrinsic(element_now)

    def read_now_of(words: Any, index: Any) -> Any:
        def read_compiled(words: Any, index: Any) -> Any:
            return read_element(words, index)

        return read_compiled

    extending.overload(read_now)(read_now_of)
    count_ones = extending.intrinsic(count_set_bits)
    count_zeros = extending.intrinsic(leading_zeros)

    def popcount_of(word: Any) -> Any:
        def count_set_bits(word: Any) -> Any:
            return count_ones(word)

        return count_set_bits

    def highest_bit_of(word: Any) -> Any:
        def find_highest_bit(word: Any) -> Any:
            return 63 - count_zeros(word)

        return find_highest_bit

    extending.overload(popcount)(popcount_of)
    extending.overload(highest_bit)(highest_bit_of)


def make_buffer(length: int, value: int, dtype: DTypeLike) -> Buffer:
    """Return a buffer of `length` elements, all `value`; `dtype` matters to compiled code only."""
    if not are_kernels_compiled():
        return [value] * length
    import numpy as np

    return cast(Buffer, np.full(length, value, dtype) if value else np.zeros(length, dtype))


def to_buffer(array: NDArray[Any]) -> Buffer:
    """Return a 1-D array as a buffer for kernels: itself if they are compiled, else its elements as a list."""
    return cast(Buffer, array if are_kernels_compiled() else array.tolist())


def to_array(buffer: Buffer, dtype: type[Integer]) -> NDArray[Integer]:
    """Return a buffer as a numpy array: itself if kernels are compiled, else a copy of the list."""
    import numpy as np

    return np.asarray(buffer, dtype)
