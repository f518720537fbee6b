"""Bound the io of recursions whose call sizes depend on data, by the volume that is divided among calls.

`DataDivisionBounds.at` bounds the fetched lines at sizes, Z and L; `cache.analyse` calls it for recursions. `divided`
extracts each algorithm as a `DividedAlgorithm` with its cases, `cases` solves these for a `ConcaveFunction` of the
volume in each `CallState`, and `analyse` combines the solutions with the calls around the recursion.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
