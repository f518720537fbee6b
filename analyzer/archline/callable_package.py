"""Makes packages callable that share their name with a function of the Python API."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def make_callable(package: str, home: str) -> None:
    """Make a package callable: a call runs the function of the package's last name that the module `home` defines.

    `help` and `inspect.signature` show that function. The module `home` is imported at the first use.
    """
    name = package.rpartition(".")[2]

    def load_function() -> Any:
        return getattr(import_module(home), name)

    class CallablePackage(ModuleType):
        def __call__(self, *arguments: Any, **options: Any) -> Any:
            return load_function()(*arguments, **options)

        def __getattr__(self, attribute: str) -> Any:
            if attribute == name:
                return load_function()
            raise AttributeError(f"module '{package}' has no attribute '{attribute}'")

        def __dir__(self) -> list[str]:
            return [*super().__dir__(), name]

        @property
        def __signature__(self) -> inspect.Signature:
            return inspect.signature(load_function())

    module = sys.modules[package]
    module.__class__ = CallablePackage
    module.__dict__["__all__"] = [name]
