"""Say the version of archline, from where every package may read it."""

__version__ = "0.1.0"
