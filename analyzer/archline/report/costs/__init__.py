"""The pages of an algorithm's costs, which are the same in every format.

page.py makes the first page: a row for each metric, regimes of cache misses and claims. full.py makes the page of
`--all`, and forms.py the rows of cost forms that both have.
"""
