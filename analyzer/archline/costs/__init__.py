"""Combine an algorithm under facts with everything derived from it: bounds, growth, values and verdicts on claims.

`algorithms.AlgorithmUnderFacts` is the entry: it adds facts, raises errors for certain failures, and its `cost` returns
`derived.DerivedCosts`, which derives each cost, growth and verdict on first use. `sizes` and `arrays` check sizes and
evaluate costs at them, `communication` relates an algorithm on a grid to lower bounds, and `trials` runs programs at
small sizes. Callers: archline.api, archline.energy and archline.compare.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
