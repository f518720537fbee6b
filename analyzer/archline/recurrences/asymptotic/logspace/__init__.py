"""Solve recurrences in several sizes, or with conditions, in the logarithms of their sizes.

`solve.solve_recurrence_in_log_space` is the entry, called by `asymptotic.solve`: it takes a `RealRecurrence` and
returns an answer. `system` converts the recurrence to a `LogSystem`, of linear conditions and steps in logarithms.
`paths` follows the recursion from cones of root sizes (`cones.RayCone`) down to the leaves, with the costs of each
segment as terms (`cones.LogMonomial`). `compare` finds one formula for all cones, a max of mins of terms. The answer is
checked against values of the recurrence before it is returned.
"""
