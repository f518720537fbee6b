"""Fit the parameters of machines to measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from archline.costs import rules
from archline.energy.fitting import COLUMNS, Fit, fit_model
from archline.energy.measurements import collect_measurements, read_measurements
from archline.energy.rules import UNKNOWN_MODEL
from archline.language.diagnostics import error, suggest_closest
from archline.records import record
from archline.report import machines as report
from archline.report.layout import terminal_width


@record(eq=False)
class FitReport(Fit):
    """A fit: `parameters` by name, each with `value`, `standard_error` and `unit`; `str()` is the command's output."""

    def machine(self, title: str = "a machine fitted from measurements") -> str:
        """Return the text of a machine file."""
        return report.render_fitted_machine(self, title)

    def write(self, path: str | Path) -> None:
        """Write the machine to a new file. Raises ArchlineError (AL413) if the file exists or cannot be written."""
        write_machine(path, self.machine(Path(path).stem))

    def __str__(self) -> str:
        return report.render_fit(self, terminal_width())


def fit(source: str | Path | Mapping[str, Sequence[Any]], model: str = "roofline") -> FitReport:
    """Fit a model's parameters to measurements in SI units: a CSV file, or columns by name, sequences of one length.

    `roofline` takes flops, bytes, seconds and joules, and a precision if there are several; `ice` takes work, span, io
    and joules. Raises ArchlineError: AL459 for another model, AL467 for invalid measurements, AL468 for measurements
    that do not determine the parameters.
    """
    if model not in COLUMNS:
        hint = suggest_closest(model, COLUMNS) or f"these models can be fitted: {', '.join(COLUMNS)}"
        raise error(UNKNOWN_MODEL, f"model `{model[:40]}` cannot be fitted", hint=hint)
    if isinstance(source, str | Path):
        return FitReport(**vars(fit_model(model, read_measurements(Path(source), model))))
    return FitReport(**vars(fit_model(model, collect_measurements(source, model))))


def write_machine(path: str | Path, text: str) -> None:
    """Write the text of a machine to a new file. Raises ArchlineError (AL413) if it exists or cannot be written."""
    target = Path(path)
    reason = "" if target.suffix == ".toml" else "the machine's file name must end in `.toml`"
    try:
        if not reason:
            with target.open("x", encoding="utf-8") as stream:
                stream.write(text)
    except FileExistsError:
        reason = "the file exists; remove it, or name another file"
    except OSError as problem:
        reason = problem.strerror or str(problem)
    if reason:
        raise error(rules.NOT_WRITTEN, f"`{target}` cannot be written: {reason}", path=str(target))
