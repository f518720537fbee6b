"""Energies in the formats that `archline energy` prints: each module of this folder renders one, by `render`."""
