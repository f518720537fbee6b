"""Comparisons in the formats that `archline compare` prints: each module of this folder renders one, by `render`."""
