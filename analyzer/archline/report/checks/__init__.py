"""Verdicts in the formats that `archline check` prints: each module of this folder renders one, by `render`."""
