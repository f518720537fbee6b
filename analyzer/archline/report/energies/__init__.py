"""Energies in the formats that `archline energy` prints, with the units and digits that they share.

text.py makes the page of an energy, formats.py renders energies in each format by a function of the format's name,
and shown.py has the sizes, amounts and inputs that all of them print.
"""
