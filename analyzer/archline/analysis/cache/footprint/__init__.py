"""Count footprints: the distinct lines that references touch in a window of iterations.

`build_references` groups accesses into `Reference` objects, and `group_footprint` returns the footprint of one or
several in a window; `residency` and `upper` call both. A `FootprintLowerBound` counts lines that a window touches
for certain, for `lower.segments`. `references` builds references and splits their loops, `upper` and `union` bound
the lines of one reference and of a group from above, and `lower`, `project` and `windows` count certain lines.
"""
