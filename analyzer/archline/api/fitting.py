"""Parameters of machines fitted from measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from archline.api import rules
from archline.energy.fitting import COLUMNS, Fit, Fitted, fitted
from archline.energy.measurements import measured, read_measurements
from archline.language.diagnostics import did_you_mean, error
from archline.report import fits, json
from archline.report.layout import terminal_width


class FitReport:
    """A fit: `parameters` by name, each with `value`, `standard_error` and `unit`; printed as the command prints it."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit

    @property
    def parameters(self) -> Mapping[str, Fitted]:
        """The parameters, in SI units."""
        return self._fit.parameters

    @property
    def condition(self) -> float:
        """The condition number of the columns, each relative to the energy and of length 1."""
        return self._fit.condition

    @property
    def residuals(self) -> Mapping[str, float]:
        """Relative errors of the energies: `root_mean_square` and `largest`."""
        return self._fit.residuals

    @property
    def document(self) -> dict[str, Any]:
        """What `--format json` prints."""
        return fits.document(self._fit)

    def to_json(self) -> str:
        """The same as text."""
        return json.render(self.document)

    def machine(self, title: str = "a machine fitted from measurements") -> str:
        """The text of a machine file."""
        return fits.machine(self._fit, title)

    def write(self, path: str | Path) -> None:
        """Write the machine to a new file. Raises ArchlineError (AL413) where that cannot be, or there is one."""
        target = Path(path)
        if target.suffix != ".toml":
            raise error(rules.NOT_WRITTEN, f"`{target}` is no `.toml` file", path=str(target))
        try:
            with target.open("x", encoding="utf-8") as stream:
                stream.write(self.machine(target.stem))
        except FileExistsError:
            hint = "remove it, or name another file"
            raise error(rules.NOT_WRITTEN, f"there is a file `{target}`", path=str(target), hint=hint) from None
        except OSError as problem:
            raise error(
                rules.NOT_WRITTEN, f"`{target}` cannot be written: {problem.strerror}", path=str(target)
            ) from None

    def __str__(self) -> str:
        return fits.render(self._fit, terminal_width())


def fit(source: str | Path | Mapping[str, Sequence[Any]], model: str = "roofline") -> FitReport:
    """Fit a model's parameters to a file of CSV, or to columns by name (sequences of one length), in SI units.

    `roofline` takes flops, bytes, seconds and joules, and if there are several a precision; `ice` takes work, span, io
    and joules. Raises ArchlineError: AL459 for another model, AL467 for what is not measurements, AL468 for those
    that do not determine the parameters.
    """
    if model not in COLUMNS:
        from archline.energy.rules import UNKNOWN_MODEL

        hint = did_you_mean(model, COLUMNS) or f"models that are fitted: {', '.join(COLUMNS)}"
        raise error(UNKNOWN_MODEL, f"`{model[:40]}` is not fitted", hint=hint)
    if isinstance(source, Mapping):
        return FitReport(fitted(model, measured(source, model)))
    return FitReport(fitted(model, read_measurements(Path(source), model)))
