"""The command line has one module for each command, a thin layer over the Python API.

`main` (main.py) finds the module of a command by its name, has it declare its options by `configure`, calls it, and
turns errors into messages and exit codes; options.py has the options that several commands share. The docstring of a
command's module is its help. A command imports what it needs when it runs, so that `archline --help` stays fast.
"""
