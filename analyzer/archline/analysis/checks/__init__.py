"""Find defects that the sizes alone show: accesses out of bounds, races, recursion without end.

`failures` reports each certain `Failure` and the assumptions of results, and `races` reports races;
`archline.costs` and `archline.claims` call them.
`follower` walks a program and states the requirements of each step; `runs` follows it at given sizes to an
`Outcome`, and `conditions` proves the requirements for all sizes, or makes each an `Assumption`.
"""
