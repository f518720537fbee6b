"""Sums expressions over ranges of a loop variable in closed form.

`summation.sum_over` is the entry: it splits ranges where conditions change and chooses a method for each atom, or
raises `UnresolvedError`. `blocks` has the closed forms by Faulhaber's formula, by blocks of a floor and by telescoping,
and the `ConditionPair` of two atoms whose difference is a condition. `relax.bound_sum` bounds sums that are unresolved,
and `maximise.max_over` uses the same cuts for maxima. The lowering of loops and the analyses of metrics and of caches
call it.
"""
