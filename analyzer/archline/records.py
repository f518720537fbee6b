"""Provides `record`, for immutable dataclasses that are created quickly at start-up, and `memoised` for methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import wraps
from operator import attrgetter
from typing import Any, Concatenate, ParamSpec, TypeVar, dataclass_transform, overload

__all__ = ["field", "memoised", "record", "replace"]
P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


@overload
def record(cls: type[T]) -> type[T]: ...
@overload
def record(*, eq: bool = True, slots: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: Any = None, *, eq: bool = True, slots: bool = False) -> Any:
    """Make a class a frozen dataclass, compared by its fields, or with `eq=False` by identity.

    With `slots`, instances have no `__dict__`. Only type checkers prevent assignments. Only `__init__` is generated and
    compiled, for the first object of a class; the standard decorator generates six methods of each class, which would
    take half of the time that importing this package takes.
    """

    def decorate(cls: type[T]) -> type[T]:
        cls = dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
        if "__init__" not in cls.__dict__:
            cls.__init__ = _InitOnUse(cls)  # type: ignore[assignment]
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = _format_record  # type: ignore[method-assign]
        if eq:
            names = [declared.name for declared in fields(cls) if declared.compare]  # type: ignore[arg-type]
            _add_equality(cls, attrgetter(*names) if names else lambda _: ())
        return cls

    return decorate if cls is None else decorate(cls)


class _InitOnUse:
    """Stands for the `__init__` of a class until it is first looked up: then it is compiled, and replaces this."""

    def __init__(self, cls: type[Any]) -> None:
        self._cls = cls

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        init = self._cls.__init__ = _compile_init(self._cls)
        return init.__get__(instance, owner)


class _Factory:
    """The default of a parameter whose field has a factory."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _compile_init(cls: type[Any]) -> Callable[..., None]:
    """Return an `__init__` with the parameters and the effects of the one that `dataclass` generates."""
    scope: dict[str, Any] = {"_factory": _FACTORY}
    parameters, keywords, lines = ["self"], ["*"], ["pass"]
    for item in fields(cls):
        name = value = item.name
        default = ""
        if item.default is not MISSING:
            scope[f"_default_{name}"] = item.default
            default = f"=_default_{name}"
        elif item.default_factory is not MISSING:
            scope[f"_make_{name}"] = item.default_factory
            default = "=_factory"
            value = f"_make_{name}() if {name} is _factory else {name}" if item.init else f"_make_{name}()"
        if item.init:
            (keywords if item.kw_only else parameters).append(name + default)
        if item.init or item.default_factory is not MISSING:
            lines.append(f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    named = keywords if len(keywords) > 1 else []
    exec(f"def __init__({', '.join(parameters + named)}):\n " + "\n ".join(lines), scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {item.name: item.type for item in fields(cls) if item.init} | {"return": None}
    return init


def _add_equality(cls: type[Any], values: Callable[[Any], Any]) -> None:
    """Add `__eq__` and `__hash__` that compare `values(object)`, unless the class defines them."""

    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_values(self: Any) -> int:
        return hash(values(self))

    for name, method in (("__eq__", equal), ("__hash__", hash_values)):
        # A class that defines __eq__ alone has None for its hash.
        if cls.__dict__.get(name) is None:
            setattr(cls, name, method)


def _format_record(self: Any) -> str:
    parts = (f"{declared.name}={getattr(self, declared.name)!r}" for declared in fields(self) if declared.repr)
    return f"{type(self).__qualname__}({', '.join(parts)})"


def memoised(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Cache the results of a method for each object and arguments, as long as the object lives."""
    name = f"{method.__name__} results"

    @wraps(method)
    def run_once(self: S, *arguments: P.args, **options: P.kwargs) -> T:
        results = self.__dict__.get(name)
        if results is None:
            results = self.__dict__[name] = {}
        key = (*arguments, *options.items())
        if key not in results:
            results[key] = method(self, *arguments, **options)
        return results[key]  # type: ignore[no-any-return]

    return run_once  # type: ignore[return-value]
