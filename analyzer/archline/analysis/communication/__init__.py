"""Costs on many processors: flops, words, messages and memory of programs on a grid."""
