"""From costs and a machine to time, energy and power.

The package shares its name with the function `archline.energy` of the Python API, so calling it calls that function.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return import_module("archline.api.energies").energy(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
