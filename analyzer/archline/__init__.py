"""archline: a small language for algorithm sketches, and a static analyser that derives what they cost.

    >>> import archline as al
    >>> al.algorithm("dense.gemv::gemv").cost()["flops"].status
    'exact'

The names of the Python API are loaded when they are first used, from the modules of `archline.api`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from archline.version import __version__

if TYPE_CHECKING:
    from archline.api.algorithms import Algorithm, algorithm
    from archline.api.changes import Diff, diff
    from archline.api.comparisons import Compared, compare
    from archline.api.costs import CostReport
    from archline.api.energies import Energy, energy
    from archline.api.fitting import FitReport, fit
    from archline.api.growth import order, recurrence
    from archline.api.metrics import Metric
    from archline.api.modules import Module, load, loads
    from archline.api.optimising import optimise
    from archline.api.plots import IoPlot, plot_io
    from archline.api.reports import HtmlReport, report
    from archline.api.running import Run
    from archline.api.scaling import Scaled, scale
    from archline.energy.machine_files import machine, machines
    from archline.energy.machines import Machine
    from archline.execution.externs import register_extern
    from archline.execution.results import Cache
    from archline.language.diagnostics import ArchlineError, Diagnostic
    from archline.report.growth import Order
    from archline.report.recurrences import Solution

# Importing archline costs next to nothing: each name brings in its module when it is first used.
_HOMES = {
    "Algorithm": "archline.api.algorithms",
    "ArchlineError": "archline.language.diagnostics",
    "Cache": "archline.execution.results",
    "Compared": "archline.api.comparisons",
    "CostReport": "archline.api.costs",
    "Diff": "archline.api.changes",
    "Diagnostic": "archline.language.diagnostics",
    "Energy": "archline.api.energies",
    "FitReport": "archline.api.fitting",
    "HtmlReport": "archline.api.reports",
    "IoPlot": "archline.api.plots",
    "Machine": "archline.energy.machines",
    "Metric": "archline.api.metrics",
    "Module": "archline.api.modules",
    "Order": "archline.report.growth",
    "Run": "archline.api.running",
    "Scaled": "archline.api.scaling",
    "Solution": "archline.report.recurrences",
    "algorithm": "archline.api.algorithms",
    "compare": "archline.compare",
    "diff": "archline.api.changes",
    "energy": "archline.energy",
    "fit": "archline.api.fitting",
    "load": "archline.api.modules",
    "loads": "archline.api.modules",
    "machine": "archline.energy.machine_files",
    "machines": "archline.energy.machine_files",
    "optimise": "archline.api.optimising",
    "order": "archline.api.growth",
    "papers": "archline.papers",
    "plot_io": "archline.api.plots",
    "recurrence": "archline.api.growth",
    "register_extern": "archline.execution.externs",
    "report": "archline.report",
    "scale": "archline.api.scaling",
}

__all__ = [
    "Algorithm",
    "ArchlineError",
    "Cache",
    "Compared",
    "CostReport",
    "Diagnostic",
    "Diff",
    "Energy",
    "FitReport",
    "HtmlReport",
    "IoPlot",
    "Machine",
    "Metric",
    "Module",
    "Order",
    "Run",
    "Scaled",
    "Solution",
    "__version__",
    "algorithm",
    "compare",
    "diff",
    "energy",
    "fit",
    "load",
    "loads",
    "machine",
    "machines",
    "optimise",
    "order",
    "papers",
    "plot_io",
    "recurrence",
    "register_extern",
    "report",
    "scale",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'archline' has no attribute '{name}'")
    home = import_module(_HOMES[name])
    # Calling the packages `archline.energy` and `archline.compare` calls the functions of these names.
    return home if name in ("compare", "energy", "papers", "report") else getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
