"""Flops, work, span and accesses of a program."""
