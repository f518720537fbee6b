"""The semantic checker makes a `Module` of a parsed program, or reports all of its errors.

`check` is the entry: it collects the definitions of a file and of those it uses (`programs`), makes signatures, and
checks statements, expressions, calls and contracts of each algorithm in a `BodyContext`. Types, shapes and call targets
are gathered in `CheckedFacts`, diagnostics in `Findings`. Sample points of the paths to statements show where extents
differ and where processors of a grid disagree. `archline.language.loader` calls it.
"""

from archline.language.checking.programs import check, check_elaborated, load_if_valid

__all__ = ["check", "check_elaborated", "load_if_valid"]
