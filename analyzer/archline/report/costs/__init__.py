"""Pages of the costs of an algorithm, which are the same in every format.

page.py makes the first page: a row for each metric, regimes of cache misses, lower bounds and claims. full.py
makes the page of `--all` and its JSON, and forms.py the rows (`PageRow`) of cost forms that both have. They show
a `CostView` of report/cost_view.py, and the formats of report/ and the command `archline cost` call them.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
