"""Classes of values that are never changed, dataclasses that cost less when the program starts; memoised methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
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
    """A frozen dataclass, compared by its fields, or with `eq=False` by identity.

    That nothing is assigned is for the type checker to see. Only `__init__` is written and compiled for each class; the
    library's own decorator does that with six methods, which takes half the time of importing this package.
    """

    def made(cls: type[T]) -> type[T]:
        cls = dataclass(repr=False, eq=False, slots=slots)(cls)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = _shown  # type: ignore[method-assign]
        if eq:
            names = [each.name for each in fields(cls) if each.compare]  # type: ignore[arg-type]
            _compare(cls, attrgetter(*names) if names else lambda _: ())
        return cls

    return made if cls is None else made(cls)


def _compare(cls: type[Any], values: Callable[[Any], Any]) -> None:
    """Equality and hash by values, unless a class has its own."""

    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    for name, method in (("__eq__", equal), ("__hash__", hashed)):
        # A class that defines __eq__ alone has None for its hash.
        if cls.__dict__.get(name) is None:
            setattr(cls, name, method)


def _shown(self: Any) -> str:
    parts = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(parts)})"


def memoised(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A method that is run once for each object and arguments: its results are kept as long as the object is."""
    name = f"{method.__name__} results"

    @wraps(method)
    def found(self: S, *arguments: P.args, **options: P.kwargs) -> T:
        results = self.__dict__.get(name)
        if results is None:
            results = self.__dict__[name] = {}
        key = (*arguments, *options.items())
        if key not in results:
            results[key] = method(self, *arguments, **options)
        return results[key]  # type: ignore[no-any-return]

    return found  # type: ignore[return-value]
