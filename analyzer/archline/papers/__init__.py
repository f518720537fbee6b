"""What papers print, re-derived: rows of `papers/*.toml`, each a printed form and the recipe that derives it.

The package shares its name with the function `archline.papers` of the Python API, so calling it calls that function.
"""

from archline.callable_package import calls

calls(__name__, "archline.papers.report")
