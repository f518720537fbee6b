"""Values of expressions at given sizes: exact, compiled, vectorised, and as balls of real numbers."""
