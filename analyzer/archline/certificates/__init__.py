"""A checker of growth certificates that shares nothing with the prover but the certificates' format."""
