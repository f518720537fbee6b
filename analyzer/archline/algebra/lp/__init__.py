"""Solves linear programs, in floating point and exactly.

`exact.maximise` solves small dense programs over the rationals and returns multipliers that prove its answer.
`highs.LinearProgram` passes large sparse ones to HiGHS, with column generation; its solutions are proposals that exact
arithmetic decides on. A `Matrix` or `Entries` holds the coefficients, and `failures` records why the solver did not
work. The proofs in `prove/`, the growth comparisons and searches for potentials call it.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)

failures: dict[str, None] = {}
"""How the solver failed in this process, each way once, if it never worked; then results may be missing."""


def append_failures(reason: str) -> str:
    """Return why something is unknown, with the failures of the solver, if any."""
    further = "; ".join(failure for failure in failures if failure not in reason)
    return f"{reason}; {further}" if further else reason
