"""Formats of the verdicts that `archline check` prints: each module of this folder renders one, by `render`.

`render` takes the `CheckReport` of report/findings.py and the width of the terminal, and returns the text.
The name of a module is the name of its format: a new format is a new module here. The commands in cli call it by the
option --format.
"""
