"""Solve recurrences: bounds of integer solutions with proofs, closed forms, and the growth of real solutions.

`model` has the data: a `SizeFunction` is one metric of one algorithm as `Equation` cases over integer sizes, and a
`Recurrence` is its form for display. `evaluate.ValueTable` computes values. `exact.search.search_bound` finds bounds
that induction proves, `closed.levels.bound_function_by_levels` solves recursions with one call a level, and
`asymptotic.solve.solve` derives the growth of recurrences over real sizes. `analysis.metrics` calls these for costs,
`claims` for growth, and the command `archline recurrence` for recurrences that users write.
"""
