"""From a checked program to Python source that runs it and counts; numba can compile the same source."""
