"""Derive again the forms that papers print: rows of `papers/*.toml`, each a printed form and a recipe to derive it.

`report.papers` reads a paper (`rows.Paper`, `rows.PrintedRow`), applies the recipe of each row (`recipes`, `tables`,
`words`) and returns a `Rederived` with a `findings.RowVerdict` for each row: equal, differs, undecided, or equal under
a reading. `figures` draws figures of papers again, and `forms` compares symbolic forms. Callers are the Python API,
the command `papers`, and the generated page of findings.

The package shares its name with the function `archline.papers` of the Python API, so calling it calls that function.
"""

from archline.callable_package import calls

calls(__name__, "archline.papers.report")
