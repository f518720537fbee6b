"""Proofs that an expression is never negative under facts."""
