"""Bounds on integer solutions of recurrences, each proved by induction."""
