"""Algorithms compared: which takes less, where, how sure that is, and how the difference grows."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """The package shares its name with the function of the Python API; calling it calls that function."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return import_module("archline.api.comparisons").compare(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
