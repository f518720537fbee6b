"""The command line: one module a command, each a thin layer over the Python API."""
