"""From costs and a machine to time, energy and power.

The package shares its name with the function `archline.energy` of the Python API, so calling it calls that function.
"""

from archline.callable_package import calls

calls(__name__, "archline.api.energies")
