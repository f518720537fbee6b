"""Programs on data: instrumented runs, cache simulators, sparse matrices."""
