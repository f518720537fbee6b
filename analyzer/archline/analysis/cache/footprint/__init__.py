"""Count footprints: the distinct lines that references touch in a window of iterations.

`references` builds references and splits their loops, `upper` and `union` bound the lines of one reference and
of a group, and `lower`, `project` and `windows` count the lines that a window touches for certain.
"""
