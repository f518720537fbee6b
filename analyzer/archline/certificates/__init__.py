"""Check certificates and counterexamples of f = O(g), sharing nothing with the prover but their format.

`check.check` takes a certificate as data (docs/reference/certificates.md) and returns `Checked`: accepted, or rejected
with a reason and a place; `check.check_counterexample` does so for points and curves. `constants.Number` is an exact
constant, `terms.Sum` an expanded expression, and `forms.Form` a bound up to constant factors, which `bounds` derives
from facts. `api.growth` calls the checker for users; the prover, `archline.growth`, and the checker import nothing of
each other.
"""
