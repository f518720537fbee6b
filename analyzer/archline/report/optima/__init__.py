"""Optima as text and as JSON."""
