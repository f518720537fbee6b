"""Combine an algorithm under facts with everything derived from it: bounds, growth, values and verdicts on
claims.

`algorithms` adds facts and refuses certain failures, `derived` has the costs, `sizes` and `arrays` evaluate
them at given sizes, and `trials` runs programs at small sizes.
"""
