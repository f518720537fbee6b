"""Reports as one HTML file each, in which a script computes values from formulas that are data.

`targets` makes the data of an algorithm, `page` the file.
"""
