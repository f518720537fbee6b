"""Exact integers, rationals, their matrices and polynomials, and balls of real numbers: python-flint, named here alone."""

from flint import arb, ctx, fmpq, fmpq_mat, fmpq_mpoly, fmpq_mpoly_ctx, fmpq_poly, fmpz, fmpz_poly

__all__ = ["arb", "ctx", "fmpq", "fmpq_mat", "fmpq_mpoly", "fmpq_mpoly_ctx", "fmpq_poly", "fmpz", "fmpz_poly"]
