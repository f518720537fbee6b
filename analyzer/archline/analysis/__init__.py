"""The analysis takes a checked program to its costs: exact expressions, bounds, or a reason why there are none.

`derive(module, algorithm)` (analyse.py) returns `Costs`, a `Cost` for each metric. metrics/ counts flops, work,
span, accesses and memory over the loop tree of `archline.ir`; cache/ bounds cache misses and write-backs;
communication/ finds words and messages on the critical path of a grid of processors; checks/ decides whether
subscripts and sizes are in range, and finds races. `Cost` (cost.py) holds the bounds and their assumptions. Callers:
costs/, claims/, compare/.
"""
