"""The Python API: what the command line does, for notebooks and tests."""
