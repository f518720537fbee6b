"""Bound cache misses from below.

`cache.analyse` evaluates a `SegmentBound` and an `HblBound` of loops, or a `RecursiveSegmentBound` and a
`CallTreeBound` of recursions, each by its method `at`.
`segments` cuts the written order of loops in windows, `hbl` bounds every schedule of a loop nest by the
Hoelder-Brascamp-Lieb inequality, and `recursive_segments` and `recursive_hbl` do the same for recursions.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
