"""The Python API does what the command line does, for notebooks and tests.

`algorithm(target)` (algorithms.py) returns an `Algorithm`, whose methods derive costs, run it and decide its claims;
`load` and `loads` (modules.py) return all algorithms of a file or text. `compare`, `diff`, `energy`, `optimise`,
`scale`, `fit`, `order` and `recurrence` are functions in modules for each. Results are frozen records that print
themselves, in notebooks too. The modules here compute nothing: they call the packages for their subjects. Callers:
users, and the commands of `archline.cli`.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
