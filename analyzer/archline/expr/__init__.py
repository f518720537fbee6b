"""Represents expressions and facts as one tree, with their values, text and solutions.

`tree` defines the nodes (`Expr`, `Fact`) and how to walk and rewrite them; `language.syntax` adds statements to it.
`values.fold` evaluates a tree in any domain, `values.evaluate` exactly at a point, with an `intervals.Interval` where
a value is irrational, and `arrays` at many points with numpy. `build` makes trees in derivations, `text` writes them
in the language, and `solutions.SizeSearch` finds sizes at which facts hold. The parser, the checker, the algebra and
every report use them.
"""
