"""Growth order: whether one expression is O of another under facts, with a certificate or a counterexample."""
