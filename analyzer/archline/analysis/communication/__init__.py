"""Derive costs on many processors: flops, words, messages and memory of programs on a grid.

`walk` follows processors through a program, `steps` counts single exchanges, `memory` the peak of local
arrays; `recursion` builds recurrences of recursive algorithms, and `derive` combines them to costs of the
critical path.
"""
