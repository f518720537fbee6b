"""Make the generated programs callable, as plain Python or compiled by numba, and cache them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from archline.execution import run_rules as rules
from archline.execution.codegen.program import GeneratedProgram, generate_program
from archline.execution.codegen.writer import Options
from archline.execution.externs import find_extern, make_placeholder_function, wrap_extern_function
from archline.execution.jit import jit
from archline.execution.runtime import GRID_FUNCTIONS, make_namespace
from archline.execution.slots import CALL, FIRST_VALUE, OTHER_SITE, SITE
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error
from archline.language.model import Module

_Key = tuple[s.Algorithm, tuple[str, ...], Options]
_CACHE: WeakKeyDictionary[Module, dict[_Key, Engine]]


@dataclass(eq=False)
class Engine:
    """A program that can be called: its global `names`, and the functions that were registered for its externs."""

    program: GeneratedProgram
    names: dict[str, Any]
    externs: dict[str, Callable[..., Any] | None] = field(default_factory=dict)

    def call(self, arguments: tuple[Any, ...]) -> Any:
        return self.names[self.program.entry](*arguments)

    def compile(self, arguments: tuple[Any, ...]) -> float:
        """Compile for the types of `arguments`, if that has not been done; return the seconds that it took."""
        import numba

        started = time.perf_counter()
        typeof: Callable[[Any], Any] = numba.typeof
        self.names[self.program.entry].compile(tuple(map(typeof, arguments)))
        return time.perf_counter() - started


_CACHE = WeakKeyDictionary()


def get_engine(module: Module, algorithm: s.Algorithm, forms: tuple[str, ...], options: Options) -> Engine:
    """Return the engine of an algorithm for arrays of given forms. Raises ArchlineError as `generate_program` does."""
    engines = _CACHE.setdefault(module, {})
    key = (algorithm, forms, options)
    result = engines.get(key)
    if result is None or any(find_extern(name) is not function for name, function in result.externs.items()):
        result = _build_engine(generate_program(module, algorithm, forms, options))
        engines[key] = result
    return result


def _build_engine(program: GeneratedProgram) -> Engine:
    names = make_namespace(program.options.compiled)
    externs: dict[str, Callable[..., Any] | None] = {}
    for name, extern in program.layout.used_externs.items():
        registered_function = externs[name] = find_extern(name)
        function = registered_function or make_placeholder_function(len(extern.parameters), extern.result)
        if program.options.compiled:
            names[f"E_{name}"] = jit(function)
        else:
            names[f"E_{name}"] = wrap_extern_function(name, function, extern.result)
    kernels = [text for name, text in program.functions.items() if name not in program.generators]
    _define_functions(kernels, names)
    if program.options.compiled:
        for name in program.functions.keys() - program.generators:
            # To detect races, code allocates a shadow for registers that parallel iterations share.
            names[name] = jit(names[name], allocates=program.options.races)
    # Processors of a grid are generators in plain Python; if kernels are compiled, they use the memory of these.
    globals_ = names | (GRID_FUNCTIONS if program.options.compiled else {})
    _define_functions([program.functions[name] for name in program.generators], globals_)
    return Engine(program, globals_, externs)


def _define_functions(functions: list[str], names: dict[str, Any]) -> None:
    exec(compile("\n".join(functions), "<generated from a sketch>", "exec"), names)


def make_stop_error(program: GeneratedProgram, state: Any, processor: str = "") -> ArchlineError:
    """Return the error for a run that stopped; it names `processor`.

    The state has the number of the place in the source, and the values that its message shows.
    """
    site = program.get_site(int(state[SITE]))
    values = [int(state[FIRST_VALUE + index]) for index in range(5)]
    if site.rule is rules.RACE:
        second = program.get_site(int(state[OTHER_SITE]))
        other = f"{_describe_location(site.span.source, second.span)}{second.message}"
        message = f"{site.message}, and {other} in a parallel strand"
        hint = "order the two by `sync`, give each strand its own elements, or make both updates `atomic`"
        register = re.match(r"`(\w+)` is (?:read|assigned|updated)", site.message)
        if register is not None:
            # A register has no elements, and takes no `atomic`.
            hint = f"combine what the iterations add by `parallel for ... with + on {register[1]}:`"
            hint += f", or give each a `{register[1]}` of its own"
        return error(rules.RACE, message, span=site.span, hint=hint)
    text = site.variants[values[0]] if site.variants else site.message
    call = int(state[CALL])
    span = program.get_site(call).span if call else site.span
    message = text.format(*values)
    if processor:
        message += f" (on {processor})"
    return error(site.rule, message, span=span, hint=site.hint)


def _describe_location(source: Any, span: Any) -> str:
    return f"on line {span.line} " if span.source is source else f"in {span} "
