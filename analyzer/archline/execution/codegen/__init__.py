"""Translate the checked program to Python source that runs it and counts; numba can compile this source.

`program.generate_program` is the entry: it writes a function for each algorithm and form of arguments. An
`AlgorithmWriter` collects the lines of one function; the other modules write expressions, conditions, arrays, calls,
messages and statements with it. `archline.execution.engine` makes the program callable.
"""
