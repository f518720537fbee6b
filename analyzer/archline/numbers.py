"""Exact integers, rationals, their matrices and polynomials, and balls of real numbers: the one use of python-flint."""

from flint import arb, arb_poly, ctx, fmpq, fmpq_mat, fmpq_mpoly, fmpq_mpoly_ctx, fmpq_poly, fmpz, fmpz_poly

__all__ = [
    "arb", "arb_poly", "ctx", "fmpq", "fmpq_mat", "fmpq_mpoly", "fmpq_mpoly_ctx", "fmpq_poly", "fmpz", "fmpz_poly",
    "primes",
]  # fmt: skip


def primes(number: fmpz | int) -> list[tuple[int, int]]:
    """The primes of a positive integer with their multiplicities, smallest first."""
    return [(int(prime), int(count)) for prime, count in fmpz(number).factor()]
