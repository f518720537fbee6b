"""Exact integers, rationals, their matrices and polynomials, and balls of real numbers: the one use of python-flint."""

from flint import arb, ctx, fmpq, fmpq_mat, fmpq_mpoly, fmpq_mpoly_ctx, fmpq_poly, fmpz, fmpz_poly

__all__ = ["arb", "ctx", "fmpq", "fmpq_mat", "fmpq_mpoly", "fmpq_mpoly_ctx", "fmpq_poly", "fmpz", "fmpz_poly"]
