"""Parameters of machines are fitted to measured energies, by least squares on relative errors.

* roofline: E = eps_flop*W + eps_mem*Q + pi0*T, Choi et al. 2013, equation (9), with T as it was measured; each
  precision has its own eps_flop, which is their Delta_d written out.
* ice: E = eps_op*W + eps_io*Q + max(pi_op*S, pi_io*Q*S/W), Tran and Ha 2016, (6) to (14). Which side of the maximum
  binds depends on Q/W alone: the runs, ordered by it, are split at each position, and of the splits that agree with
  the parameters fitted to them the one with the smallest residual is taken.

Each row is divided by the energy of the fit, so that errors are relative. Standard errors are HC3 (MacKinnon and White
1985): residuals over one minus leverage, in a covariance that is valid where the noise differs from run to run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from archline.energy import rules
from archline.energy.quantities import QUANTITIES, QuantityDefinition
from archline.language.diagnostics import ArchlineError, error, format_count
from archline.records import record

Array = npt.NDArray[np.float64]
MAX_CONDITION = 30.0
"""Limit of the condition number of the columns in relative terms, each of length 1 (Belsley, Kuh and Welsch 1980):
12 for good data with noise of 1 to 5 %, 91 for intensities of 1 and more, 222 for runs that are all bound by
computation.
"""
INTERVAL_ERRORS = 1.96
"""Standard errors on either side of a 95 % interval."""
FIT_ITERATIONS = 4
"""The number of fits: rows are divided by the measured energies at first, then by those of the last fit."""
MIN_SIDE_RUNS = 3
"""The minimum number of runs on either side of ICE's maximum."""
WHAT_TO_MEASURE = {
    frozenset(("eps_flop", "pi0")): "memory-bound runs (few flops per byte): their time does not depend on flops",
    frozenset(("eps_mem", "pi0")): "compute-bound runs (many flops per byte): their time does not depend on bytes",
    frozenset(("eps_flop", "eps_mem")): "runs whose flops per byte differ by a factor of 10 or more",
    frozenset(("eps_op", "eps_io")): "runs whose operations per line differ by a factor of 10 or more",
    frozenset(("eps_op", "pi_op")): "runs with many operations per line and little parallelism (work/span)",
    frozenset(("eps_io", "pi_io")): "runs with few operations per line and little parallelism (work/span)",
    frozenset(("pi_op", "pi_io")): "runs with more and with fewer operations per line than the balance pi_io/pi_op",
}  # fmt: skip
COLUMNS = {"roofline": ("flops", "bytes", "seconds", "joules"), "ice": ("work", "span", "io", "joules")}
"""The columns of each model's measurements."""


@record
class FittedParameter:
    """The fitted value of a parameter in its unit, with its standard error."""

    value: float
    standard_error: float
    unit: str


@record(eq=False)
class Measurements:
    """Measured runs: for each column an array with one entry per run, and the precision of each run, if given.

    `repeated` is the number of runs that were left out as copies.
    """

    columns: Mapping[str, Array]
    precision: Sequence[str]
    source: str
    repeated: int

    @property
    def runs(self) -> int:
        return len(self.columns["joules"])


@record(eq=False)
class Fit:
    """Fitted parameters by name, as `eps_flop@double` for a precision; `condition` is the columns' condition number.

    `residuals` has the `root_mean_square` and the `largest` relative error. `rates` are the largest measured values of
    `peak_sustained` (by precision) and `bandwidth_sustained`, in flop/s and B/s.
    """

    model: str
    data: Measurements
    parameters: Mapping[str, FittedParameter]
    condition: float
    residuals: Mapping[str, float]
    rates: Mapping[str, float]


def get_quantity_definition(name: str) -> QuantityDefinition:
    """Return the definition of a parameter or a rate, in any precision."""
    return QUANTITIES[name.partition("@")[0]]


def fit_model(model: str, data: Measurements) -> Fit:
    """Return the fitted parameters of a model of `COLUMNS`.

    Raises ArchlineError (AL468) for columns that cannot be distinguished, and for too few runs.
    """
    joules, parts = data.columns["joules"], _build_columns(model, data)
    if data.runs <= len(parts):
        message = f"{format_count(data.runs, 'run')} cannot determine {len(parts)} parameters and their errors"
        raise error(rules.NOT_DETERMINED, message, hint=f"measure at least {len(parts) + 1} runs, better several dozen")
    if absent := [name for name, part in parts.items() if not np.any(part)]:
        raise _make_undetermined_error("it does not contribute to any of the runs", absent[0])
    rates = {
        rate + name.removeprefix(energy): float(np.max(part / parts["pi0"]))
        for name, part in parts.items()
        for energy, rate in (("eps_flop", "peak_sustained"), ("eps_mem", "bandwidth_sustained"))
        if name.startswith(energy)
    }
    solution = _solve_least_squares(_split_sides(parts, joules) if model == "ice" else parts, joules)
    condition, errors = _examine_solution(solution)
    numbers = zip(
        solution.estimates.tolist(),
        errors.tolist(),
        (get_quantity_definition(name).unit for name in parts),
        strict=True,
    )
    parameters = {name: FittedParameter(*pair) for name, pair in zip(parts, numbers, strict=True)}
    mean, largest = np.sqrt(np.mean(solution.residuals**2)), np.max(np.abs(solution.residuals))
    residuals = {"root_mean_square": float(mean), "largest": float(largest)}
    return Fit(model, data, parameters, condition, residuals, rates)


def _build_columns(model: str, data: Measurements) -> dict[str, Array]:
    """Return for each parameter the column of amounts that it multiplies, by run; for ICE both arguments of its max."""
    first, second, third = (data.columns[name] for name in COLUMNS[model][:3])
    if model == "ice":
        return {"eps_op": first, "eps_io": third, "pi_op": second, "pi_io": third * second / first}
    which = {f"eps_flop@{kind}": np.array(data.precision) == kind for kind in sorted({*data.precision})}
    flops = {name: first * runs for name, runs in which.items()} or {"eps_flop": first}
    return {**flops, "eps_mem": second, "pi0": third}


def _split_sides(whole: Mapping[str, Array], joules: Array) -> Mapping[str, Array]:
    """Restrict each side of ICE's maximum to the runs in which it is the larger one.

    Raises ArchlineError (AL468) if two sides cannot be distinguished from one.
    """
    memory = whole["eps_io"] / whole["eps_op"]
    order = np.argsort(memory)
    rows = np.column_stack(list(whole.values())) / joules[:, None]
    lengths = np.linalg.norm(rows, axis=0)
    rows = rows[order] / lengths
    low, high = rows * (1, 1, 1, 0), rows * (1, 1, 0, 1)
    splits = np.arange(1, len(rows))
    # The normal equations of a split are sums over the runs below it and those above it.
    right, matrix = (
        np.sum(above, axis=0) + np.cumsum(under - above, axis=0)[splits - 1]
        for under, above in ((low, high), (low[:, :, None] * low[:, None], high[:, :, None] * high[:, None]))
    )
    estimates = np.einsum("sij,sj->si", np.linalg.pinv(matrix, hermitian=True), right)
    squares = len(rows) - np.sum(estimates * right, axis=1)
    op, io = (estimates / lengths).T[2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        computed = np.searchsorted(memory[order], op / io, side="right")
    # Within the noise a run near the balance may be on either side.
    agreeing = np.flatnonzero(np.abs(computed - splits) <= 1)
    if len(agreeing):
        split = int(splits[min(agreeing, key=squares.__getitem__)])
        if few := [name for name, runs in (("pi_op", split), ("pi_io", len(rows) - split)) if runs < MIN_SIDE_RUNS]:
            raise _make_undetermined_error("too few runs are on its side of the maximum", *few)
        below = np.argsort(order) < split
        parts = {**whole, "pi_op": whole["pi_op"] * below, "pi_io": whole["pi_io"] * ~below}
        sides = ({name: part for name, part in whole.items() if name != left_out} for left_out in ("pi_op", "pi_io"))
        one_sided = min(_solve_least_squares(side, joules).squares for side in sides)
        # A further parameter and the split are justified by Schwarz's criterion, with a margin of half of it.
        if one_sided >= _solve_least_squares(parts, joules).squares * len(rows) ** (3 / len(rows)):
            return parts
    raise _make_undetermined_error("one branch of the maximum explains all runs as well as both do", "pi_op", "pi_io")


@record(eq=False)
class _Solution:
    """A least-squares fit: estimates in the order of `names`, `rows` divided by the energies, relative residuals."""

    names: tuple[str, ...]
    estimates: Array
    rows: Array
    residuals: Array

    @property
    def squares(self) -> float:
        """The sum of the squared residuals, which is minimised."""
        return float(np.sum(self.residuals**2))


def _solve_least_squares(parts: Mapping[str, Array], joules: Array) -> _Solution:
    matrix = np.column_stack(list(parts.values()))
    # Columns differ by many orders of magnitude.
    lengths = np.linalg.norm(matrix / joules[:, None], axis=0)
    matrix, energies = matrix / lengths, joules
    for _ in range(FIT_ITERATIONS):
        estimates, *_ = np.linalg.lstsq(matrix / energies[:, None], joules / energies, rcond=None)
        predicted = matrix @ estimates
        if not np.all(predicted > 0):
            break
        energies = predicted
    rows = matrix / energies[:, None]
    return _Solution(tuple(parts), estimates / lengths, rows * lengths, joules / energies - rows @ estimates)


def _examine_solution(solution: _Solution) -> tuple[float, Array]:
    """Return the condition number and the HC3 standard errors.

    Raises ArchlineError (AL468) if the parameters cannot be distinguished, or are below 0.
    """
    lengths = np.linalg.norm(solution.rows, axis=0)
    rows = solution.rows / lengths
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    condition = float(values[0] / max(values[-1], 1e-99))
    # A change along the last direction changes the energies least: parameters with large parts in it are alike.
    alike = dict(zip(solution.names, np.abs(directions[-1]), strict=True))
    if condition > MAX_CONDITION:
        pair = sorted(sorted(alike, key=alike.__getitem__)[-2:], key=solution.names.index)
        reason = f"in these runs their parts are nearly proportional (condition number {condition:.3g}"
        raise _make_undetermined_error(f"{reason}, at most {MAX_CONDITION:g})", *pair)
    inverse = directions.T / values**2 @ directions
    leverage = np.sum(rows @ inverse * rows, axis=1)
    scaled = solution.residuals / np.maximum(1 - leverage, 1e-12)
    errors: Array = np.linalg.norm(inverse @ rows.T * scaled, axis=1) / lengths
    for name, estimate, margin in zip(solution.names, solution.estimates, INTERVAL_ERRORS * errors, strict=True):
        message = f"`{name}` is fitted as {estimate:.3g} +- {margin:.2g}, below 0"
        if estimate < -margin:
            hint = "check the units (all are SI: bytes, seconds, joules) and which column is which"
            raise error(rules.NOT_DETERMINED, f"{message}, which no machine has", hint=hint)
        if estimate < 0:
            rest = [candidate for candidate in solution.names if candidate != name]
            raise _make_undetermined_error(message, name, max(rest, key=alike.__getitem__))
    return condition, errors


def _make_undetermined_error(reason: str, *names: str) -> ArchlineError:
    """Return the error (AL468) for a parameter that cannot be determined, or two that cannot be distinguished."""
    subject = (
        f"{' and '.join(f'`{name}`' for name in names)} cannot be {'distinguished' if len(names) > 1 else 'determined'}"
    )
    base_names = frozenset(name.partition("@")[0] for name in names)
    hint = WHAT_TO_MEASURE.get(base_names, "runs in which it has a larger share of the energy")
    return error(rules.NOT_DETERMINED, f"{subject}: {reason}", hint=f"add {hint}")
