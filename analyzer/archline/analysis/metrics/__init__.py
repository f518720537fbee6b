"""Derive flops, work, span and accesses of a program.

`statements` has a method for each row of the cost table and `operations` the rows of operators; `recursion`
and `extraction` solve recursive algorithms, and `accesses` counts element accesses.
"""
