"""The Python API does what the command line does, for notebooks and tests.

`algorithm(target)` (algorithms.py) returns an `Algorithm`, whose methods derive, run, claim and price; `module` and
`library` (modules.py) list several. `compare`, `diff`, `energy`, `optimise`, `scale`, `fit`, `order`, `recurrence`
and `run` are functions of their own modules. Results are frozen records that know how to print themselves, in
notebooks too. Nothing here computes: each module calls the package of its name. Callers: users, and the commands of
`archline.cli`.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
