"""Solves linear programs, in floating point and exactly.

`exact.maximise` solves small dense programs over the rationals and returns multipliers that prove its answer.
`highs.LinearProgram` passes large sparse ones to HiGHS, with column generation; its solutions are proposals that exact
arithmetic decides on. A `Matrix` or `Entries` holds the coefficients, and `failures` records why the solver did not
work. The proofs in `prove/`, the growth comparisons and searches for potentials call it.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)

failures: dict[str, None] = {}
"""The distinct failures of the solver in this process, as long as it has never worked; results may be missing."""


def append_failures(reason: str) -> str:
    """Return the reason why a result is unknown, with the failures of the solver, if any."""
    further = "; ".join(failure for failure in failures if failure not in reason)
    return f"{reason}; {further}" if further else reason
