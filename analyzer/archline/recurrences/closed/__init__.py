"""Find closed forms of recurrences in which all sizes change by constant factors or steps.

`levels.bound_function_by_levels` takes a `SizeFunction` of a program, one call a level, and returns proved bounds, or
an exact form. `geometric.find_closed_form_by_splits`, `find_closed_form_by_roots` and `find_closed_form_by_steps` take
a normal form over real sizes and return an expression that holds at the sizes which calls reach from the base, such as
powers of 2; its sequences are solved by `solve_sequence`. `analysis.metrics.recursion` calls the first,
`recurrences.asymptotic.univariate` the rest.
"""
