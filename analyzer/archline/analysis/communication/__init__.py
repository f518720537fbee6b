"""Derive costs on many processors: flops, words, messages and memory of programs on a grid.

`derive.derive_path_costs` returns the costs of the critical path as a `Cost` for each metric, and `derive_steps` the
contribution of each statement as a `PathStep`; `analysis.analyse` calls both.
`walk` follows processors, each at a `Position`, through a program, `steps` counts single exchanges, `memory` the
peak of local arrays; `recursion` builds recurrences of recursive algorithms.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
