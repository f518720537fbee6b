"""Derive residencies: sets of lines that stay in the cache over the iterations of a loop.

`single` has the residencies of one reference, `group` and `stencil` those of several references to one array,
and `row_split` combines two residencies that share the rows of an array.
"""
