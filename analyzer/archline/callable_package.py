"""Packages that share their name with a function of the Python API: calling the package calls the function."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def calls(package: str, home: str) -> None:
    """Make a package callable, as the function of its own last name in the module `home`."""
    function = package.rpartition(".")[2]

    class CallablePackage(ModuleType):
        def __call__(self, *arguments: Any, **options: Any) -> Any:
            return getattr(import_module(home), function)(*arguments, **options)

    sys.modules[package].__class__ = CallablePackage
