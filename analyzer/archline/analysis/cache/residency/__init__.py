"""Derive residencies: decisions to hold lines in the cache while a loop runs.

Every derivation returns `Resident` objects, with the lines that they hold and the misses that they cause;
`upper.allocation` chooses among them.
`single` has the residencies of one reference, `group` and `stencil` those of several references to one array,
and `row_split` combines two residencies that share the rows of an array as a `RowSplit`.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
