"""Optimisation finds sizes, symbols and machine parameters at which time, energy or power are minimal.

`tasks.OptimisationTask.solve` is the entry: it builds an `EnergyProblem` (an objective, constraints and variables) and
returns it with its `EnergyOptimum`. Integer sizes are enumerated (`lattice`, `points`), or searched in boxes if there
are too many (`boxes`); real variables are searched as signomial programs (`signomials`, `branch`, `local`), with closed
forms where constraints allow. `archline.optimise` and `archline optimise` call it.
"""
