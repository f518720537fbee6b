"""A checked program becomes Python source that runs it and counts; numba can compile the same source.

`program` has the entry, which generates a program: a function for each algorithm and form of arguments.
An `AlgorithmWriter` writes one function; the modules write expressions, conditions, arrays, calls, messages and
statements with it. `archline.execution.engine` makes the program callable.
"""
