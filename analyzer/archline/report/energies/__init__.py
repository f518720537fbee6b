"""Render energies in the formats that `archline energy` prints, with the units and digits that they share.

text.py makes the page of an energy as a `Document`; formats.py renders a sequence of `EnergyResult` in each format by
a function of the format's name, such as `as_json`; shown.py has the sizes, amounts and inputs that all of them
print. api/energies.py and the command `archline energy` call them, and the pages of comparisons, optima and scaling
use shown.py.
"""
