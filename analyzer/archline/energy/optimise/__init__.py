"""Sizes, symbols and machine parameters at which time, energy or power are least."""
