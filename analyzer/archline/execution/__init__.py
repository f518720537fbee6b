"""Execute the programs on data: instrumented runs, cache simulators, sparse matrices.

`run.execute` is the entry: it binds arguments (`binding.BoundArguments`), generates and calls a program (`codegen`,
`engine`, `launch`), and returns a `results.Run` with outputs and `RunCounts` by the cost rules. Long runs are compiled
by numba. On a grid, processors are simulated (`simulated`) or are ranks of MPI (`mpi`). The Python API and the commands
that run programs call it; so do checks that try to run programs.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
