"""Exact expressions in sizes: polynomials over atoms, signs under facts, sums and maxima in closed form."""
