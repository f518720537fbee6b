"""The semantic checker: from a parsed program to a Module, or to the list of everything wrong with it."""

from archline.language.checking.programs import check

__all__ = ["check"]
