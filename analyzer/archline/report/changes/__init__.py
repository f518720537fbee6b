"""What changed, in the formats that `archline diff` prints: each module of this folder renders one, by `render`."""
