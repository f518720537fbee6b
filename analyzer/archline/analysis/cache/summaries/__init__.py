"""Summarise the array regions that a call touches.

`must_access` derives the `MustAccess` regions that every call touches, which `lower` and `traffic` count, and
`reach` the `ReachedBoxes` that contain all accesses of a call by indices, which `recursive` uses.
`regions` collects each `ConditionalRegion` that a sequence of nodes touches in full, from elements, loops and
claims about calls (each a `MustTouchRegion`).
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
