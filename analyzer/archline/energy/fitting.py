"""Parameters of machines from measured energies, by least squares on relative errors.

* roofline: E = eps_flop*W + eps_mem*Q + pi0*T, Choi et al. 2013, equation (9), with T as it was measured; each
  precision has an eps_flop of its own, which is their Delta_d written out.
* ice: E = eps_op*W + eps_io*Q + max(pi_op*S, pi_io*Q*S/W), Tran and Ha 2016, (6) to (14). Which side of the maximum
  binds depends on Q/W alone: the runs, ordered by it, are split at each place, and the split with the least residual
  is kept of those that the parameters it gives agree with.

Each row is divided by the energy of the fit, so that errors are relative. Standard errors are HC3 (MacKinnon and White
1985): residuals over one minus leverage, in a covariance that holds where the noise differs from run to run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from archline.energy import rules
from archline.energy.quantities import QUANTITIES
from archline.language.diagnostics import error
from archline.records import field, record

Array = npt.NDArray[np.float64]
MAX_CONDITION = 30.0
"""Of the columns in relative terms, each of length 1 (Belsley, Kuh and Welsch 1980): 12 for good data with noise of
1 to 5 %, 91 for intensities of 1 and more, 222 for runs that are all bound by computation."""
INTERVAL = 1.96
"""Standard errors on either side of a 95 % interval."""
ROUNDS = 4
"""How often rows are divided by the energies of the last fit; after the first those that were measured."""
LEAST_SIDE = 3
"""How many runs at least are on either side of ICE's maximum."""
WHAT_TO_MEASURE = {
    frozenset(("eps_flop", "pi0")): "runs bound by memory, with few flops a byte: their time does not follow flops",
    frozenset(("eps_mem", "pi0")): "runs bound by computation, with many flops a byte: their time is not that of bytes",
    frozenset(("eps_flop", "eps_mem")): "runs whose flops a byte differ tenfold and more",
    frozenset(("eps_op", "eps_io")): "runs whose operations a line differ tenfold and more",
    frozenset(("eps_op", "pi_op")): "runs with many operations a line and little parallelism (work/span)",
    frozenset(("eps_io", "pi_io")): "runs with few operations a line and little parallelism (work/span)",
    frozenset(("pi_op", "pi_io")): "runs with more and with fewer operations a line than the balance pi_io/pi_op",
}  # fmt: skip


@record
class Fitted:
    """A parameter in its unit, with its standard error."""

    value: float
    standard_error: float
    unit: str


@record(eq=False)
class Measurements:
    """Runs: their amounts by column, each an array with an entry a run, and the precision of each, empty if none."""

    columns: Mapping[str, Array]
    precision: tuple[str, ...] = ()
    source: str = ""

    @property
    def runs(self) -> int:
        """How many there are."""
        return len(self.columns["joules"])

    def of(self, precision: str) -> npt.NDArray[np.bool_]:
        """Which runs have a precision."""
        return np.array([each == precision for each in self.precision])


@record(eq=False)
class Fit:
    """Fitted parameters by name, `eps_flop@double` where there are precisions; `condition` is that of the columns.

    `residuals` are those of relative errors: `root_mean_square` and `largest`. `rates` are the largest seen of
    `peak_sustained` (by precision) and `bandwidth_sustained`, in flop/s and B/s; `precisions` has those of the runs.
    """

    model: str
    parameters: Mapping[str, Fitted]
    condition: float
    residuals: Mapping[str, float]
    runs: int
    source: str = ""
    rates: Mapping[str, float] = field(default_factory=dict)
    precisions: tuple[str, ...] = ()


def fitted(model: str, data: Measurements) -> Fit:
    """The parameters of a model of `COLUMNS`.

    Raises ArchlineError (AL468) for columns that cannot be distinguished, and too few runs.
    """
    return _roofline(data) if model == "roofline" else _ice(data)


COLUMNS = {"roofline": ("flops", "bytes", "seconds", "joules"), "ice": ("work", "span", "io", "joules")}
"""What each model's measurements have."""


def _roofline(data: Measurements) -> Fit:
    flops, moved, seconds, joules = (data.columns[name] for name in COLUMNS["roofline"])
    precisions = tuple(sorted(set(data.precision)))
    parts = {f"eps_flop@{each}" if each else "eps_flop": flops * data.of(each) for each in precisions}
    if not precisions:
        parts = {"eps_flop": flops}
    solution = _least_squares({**parts, "eps_mem": moved, "pi0": seconds}, joules)
    rates = {
        name.replace("eps_flop", "peak_sustained"): float(np.max(column / seconds)) for name, column in parts.items()
    }
    rates["bandwidth_sustained"] = float(np.max(moved / seconds))
    return _fit("roofline", data, solution, rates, precisions)


def _ice(data: Measurements) -> Fit:
    work, span, io, joules = (data.columns[name] for name in COLUMNS["ice"])
    memory = io / work
    order = np.argsort(memory)
    found: list[tuple[_Solution, dict[str, Array]]] = []
    for count in range(LEAST_SIDE, data.runs - LEAST_SIDE + 1):
        binds = np.zeros(data.runs, dtype=bool)
        binds[order[count:]] = True
        columns = {
            "eps_op": work,
            "eps_io": io,
            "pi_op": np.where(binds, 0.0, span),
            "pi_io": np.where(binds, memory * span, 0.0),
        }
        if np.linalg.matrix_rank(np.column_stack(list(columns.values())) / joules[:, None]) < len(columns):
            continue
        solution = _solve(columns, joules, 1)
        computed = solution.estimates[2] * work >= solution.estimates[3] * io
        # Within the noise a run near the balance may be on either side.
        if np.sum(computed == binds) <= 1:
            found.append((solution, columns))
    best = _solve(min(found, key=lambda each: _squares(each[0]))[1], joules) if found else None
    sides = [("eps_op", "eps_io", "pi_op"), ("eps_op", "eps_io", "pi_io")]
    whole = {"eps_op": work, "eps_io": io, "pi_op": span, "pi_io": memory * span}
    least = min(_squares(_solve({name: whole[name] for name in side}, joules)) for side in sides)
    # A parameter and the place of the split more are worth it by Schwarz's criterion, with a margin of half of that.
    if best is None or least < _squares(best) * data.runs ** (3 / data.runs):
        _refuse(("pi_op", "pi_io"), "one side of the maximum explains all runs as well as two do")
    return _fit("ice", data, _accepted(best), {}, ())


def _squares(found: _Solution) -> float:
    return float(np.sum(found.residuals**2))


@record(eq=False)
class _Solution:
    """Estimates in the order of the names, with the columns over the energies, and relative residuals."""

    names: tuple[str, ...]
    estimates: Array
    rows: Array
    residuals: Array


def _solve(columns: Mapping[str, Array], joules: Array, rounds: int = ROUNDS) -> _Solution:
    matrix = np.column_stack(list(columns.values()))
    # Columns differ by many orders of magnitude.
    lengths = np.linalg.norm(matrix / joules[:, None], axis=0)
    energies = joules
    for _ in range(rounds):
        rows = matrix / energies[:, None] / lengths
        estimates, *_ = np.linalg.lstsq(rows, joules / energies, rcond=None)
        predicted = matrix / lengths @ estimates
        if not np.all(predicted > 0):
            break
        energies = predicted
    return _Solution(tuple(columns), estimates / lengths, rows * lengths, joules / energies - rows @ estimates)


def _least_squares(columns: Mapping[str, Array], joules: Array) -> _Solution:
    for name, column in columns.items():
        if not np.any(column):
            _refuse((name, name), "it takes no part in any of the runs")
    return _accepted(_solve(columns, joules))


def _accepted(found: _Solution) -> _Solution:
    """The solution. Raises ArchlineError (AL468) where its parameters are not distinguished, or are below 0."""
    runs, count = found.rows.shape
    if runs <= count:
        message = f"{runs} runs do not determine {count} parameters and their errors"
        raise error(rules.NOT_DETERMINED, message, hint=f"measure {count + 1} and more, better some dozens")
    if _condition(found.rows) > MAX_CONDITION:
        pair = _alike(found)
        message = f"in these runs their parts are nearly proportional (condition number {_condition(found.rows):.3g}"
        _refuse(pair, f"{message}, {MAX_CONDITION:g} at most)")
    for name, estimate, margin in zip(found.names, found.estimates, _errors(found), strict=True):
        if estimate < -INTERVAL * margin:
            message = f"`{name}` comes out as {estimate:.3g} +- {INTERVAL * margin:.2g}, below 0, which no machine has"
            hint = "check the units (all are SI: bytes, seconds, joules) and which column is which"
            raise error(rules.NOT_DETERMINED, message, hint=hint)
        if estimate < 0:
            others = [each for each in found.names if each != name]
            partner = max(others, key=lambda each: _proportion(found, name, each))
            _refuse((name, partner), f"`{name}` comes out as {estimate:.3g} +- {INTERVAL * margin:.2g}, below 0")
    return found


def _condition(rows: Array) -> float:
    with np.errstate(divide="ignore"):
        return float(np.linalg.cond(rows / np.linalg.norm(rows, axis=0)))


def _alike(found: _Solution) -> tuple[str, str]:
    """The two parameters with the largest shares of their variance in the smallest singular value (Belsley et al.)."""
    _, values, directions = np.linalg.svd(found.rows / np.linalg.norm(found.rows, axis=0), full_matrices=False)
    parts = directions.T**2 / np.maximum(values, 1e-99) ** 2
    shares = parts[:, -1] / np.sum(parts, axis=1)
    first, second = sorted(np.argsort(shares)[-2:])
    return found.names[first], found.names[second]


def _proportion(found: _Solution, one: str, other: str) -> float:
    """The cosine of the angle between two columns: 1 where they are proportional."""
    first, second = (found.rows[:, found.names.index(each)] for each in (one, other))
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


def _errors(found: _Solution) -> Array:
    """HC3 standard errors of the estimates."""
    lengths = np.linalg.norm(found.rows, axis=0)
    rows = found.rows / lengths
    inverse = np.linalg.inv(rows.T @ rows)
    leverage = np.sum(rows @ inverse * rows, axis=1)
    scaled = found.residuals / np.maximum(1 - leverage, 1e-12)
    middle = (rows * scaled[:, None] ** 2).T @ rows
    errors: Array = np.sqrt(np.diag(inverse @ middle @ inverse)) / lengths
    return errors


def _refuse(pair: tuple[str, str], reason: str) -> NoReturn:
    """Raise ArchlineError (AL468)."""
    first, second = dict.fromkeys(pair) if pair[0] != pair[1] else (pair[0], "")
    what = f"`{first}` and `{second}` cannot be distinguished" if second else f"`{first}` cannot be found"
    plain = frozenset(each.partition("@")[0] for each in (first, second) if each)
    hint = WHAT_TO_MEASURE.get(plain, "runs in which it takes a larger part")
    raise error(rules.NOT_DETERMINED, f"{what}: {reason}", hint=f"add {hint}")


def _fit(
    model: str, data: Measurements, found: _Solution, rates: Mapping[str, float], precisions: Sequence[str]
) -> Fit:
    parameters = {
        name: Fitted(float(value), float(margin), QUANTITIES[name.partition("@")[0]].unit)
        for name, value, margin in zip(found.names, found.estimates, _errors(found), strict=True)
    }
    residuals = {
        "root_mean_square": float(np.sqrt(np.mean(found.residuals**2))),
        "largest": float(np.max(np.abs(found.residuals))),
    }
    return Fit(
        model,
        parameters,
        _condition(found.rows),
        residuals,
        data.runs,
        data.source,
        rates,
        tuple(each for each in precisions if each),
    )
