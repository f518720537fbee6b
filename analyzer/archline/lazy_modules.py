"""Load the modules of a package when they are first used: a command loads what it runs.

After `load_on_use(__name__)` in a package's `__init__`, `from archline.execution import run` binds a module whose file
is executed when one of its names is first read. `from archline.execution.run import execute` executes it at once.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

_LOCK = RLock()


class UnloadedModule(ModuleType):
    """A module whose file has not been executed yet.

    `importlib.util.LazyLoader` executes the file when any attribute is read, so also when a tool asks each module in
    `sys.modules` for its file.
    """

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            _execute(self)
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None


def _execute(module: ModuleType) -> None:
    """Execute the file of a module, unless it was or is being executed; after an error the next call tries again."""
    spec = module.__spec__
    with _LOCK:
        if type(module) is UnloadedModule and spec is not None and spec.loader is not None:
            module.__class__ = ModuleType  # type: ignore[assignment]
            try:
                spec.loader.exec_module(module)
            except BaseException:
                module.__class__ = UnloadedModule
                raise


def load_module(name: str) -> ModuleType:
    """Import a module and execute its file now, for side effects of the file such as defining rules."""
    module = import_module(name)
    _execute(module)
    return module


def load_on_use(package: str) -> None:
    """Give a package a `__getattr__` that imports its modules lazily: a file is executed when a name in it is read."""
    parent = sys.modules[package]

    def find_module(name: str) -> ModuleType:
        full_name = f"{package}.{name}"
        spec = None if name.startswith("__") else find_spec(full_name)
        if spec is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = sys.modules[full_name] = module_from_spec(spec)
        module.__class__ = UnloadedModule
        setattr(parent, name, module)
        return module

    parent.__dict__["__getattr__"] = find_module
