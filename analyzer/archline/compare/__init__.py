"""Algorithms compared: which takes less, where, how sure that is, and how the difference grows.

The package shares its name with the function `archline.compare` of the Python API, so calling it calls that function.
"""

from archline.callable_package import calls

calls(__name__, "archline.api.comparisons")
