"""Footprints: the distinct lines that references touch in a window of iterations."""
