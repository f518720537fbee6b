"""Computes with exact expressions in sizes: polynomials over atoms such as `max(0, e)` and `floor(e/m)`.

`polynomial.Poly` is the one form of every derived cost, `atoms` has the constructors that normalise atoms, and
`facts.Facts` holds what is known of symbols and decides signs (`Facts.nonnegative`) with the provers of `prove/`.
`sums/` sums expressions over ranges in closed form, `relax` and `maximise` bound them, `evaluate/` gives their values
at sizes, `lp/` solves linear programs, and `printing.to_text` writes expressions in the language. The packages
`analysis`, `recurrences`, `growth` and `costs` derive with it; it imports none of them.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
