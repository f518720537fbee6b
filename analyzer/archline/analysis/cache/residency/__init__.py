"""Derive residencies: sets of lines that stay in the cache over the iterations of a loop.

Every derivation returns a `Resident`, which has the lines that it holds and the misses that it causes;
`upper.allocation` chooses among them.
`single` has the residencies of one reference, `group` and `stencil` those of several references to one array,
and `row_split` combines two residencies that share the rows of an array as a `RowSplit`.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
