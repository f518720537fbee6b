"""Evaluates expressions at given sizes, exactly, compiled, vectorised and over boxes of sizes.

`exact.evaluate` gives the rational value at one point and is the reference for the other evaluators.
`compiled.Compiler` turns expressions into functions for many points, `vectors.Vectors` computes columns of integers
with numpy, `boxes.Boxes` encloses expressions over ranges of sizes, and `formulas.CompiledFormula` evaluates trees of
the language in rationals or in balls of real numbers. Checks, samples of searches, provers and reports at sizes call
them.
"""
