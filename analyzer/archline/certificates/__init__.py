"""Check certificates and counterexamples of f = O(g), independently of the prover except for their format.

`check.check` takes a certificate as data (docs/reference/certificates.md) and returns `Checked`: accepted, or rejected
with a reason and the position in the data; `check.check_counterexample` does so for points and curves.
`constants.Number` is an exact constant, `terms.Sum` an expanded expression, and `forms.Form` a bound up to constant
factors, which `bounds` derives from facts. `api.growth` calls the checker for users; the prover, `archline.growth`,
and the checker import nothing from each other.
"""
