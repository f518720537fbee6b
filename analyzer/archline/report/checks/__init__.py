"""Verdicts in the formats that `archline check` prints: each module of this folder renders one, by `render`.

The name of a module is the name of its format, and `report.formats("checks")` lists them. A new format is a new
module here.
"""
