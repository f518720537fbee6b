"""Solve recurrences over real sizes: the growth of their solutions, and closed forms where there are any.

`solve.solve` is the entry: it takes a `problem.RealRecurrence` and returns a `SolvedGrowth`, `Superpolynomial` or
`Refused`. Functions of one size are converted to sums of `terms.GrowthTerm` and calls (`normal_form`) and solved by
`univariate` with the theorems of Akra and Bazzi and the characteristic equation (`theorems`); functions of several
sizes, or with conditions, go to `logspace`. `read` parses the text of a recurrence, `text` prints solutions, and
`evaluate` computes values by which each answer is checked. `of_integers` converts recurrences of programs, whose
growth `claims` and `compare` derive.
"""
