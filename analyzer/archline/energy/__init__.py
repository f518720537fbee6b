"""Energy models give time, energy and power of a program on a machine, from its costs.

The package shares its name with the function `archline.energy` of the Python API, so calling it calls that function.
`answers` is the entry, and returns an `EnergyResult` at sizes or in symbols: a `Subject` (an algorithm, or
formulas) has metrics, a `Machine` quantities, and a `Model` formulas of both, which are evaluated in intervals.
`optimise` searches the sizes and parameters of an optimum; `fitting` fits parameters to measured energies. The Python
API (archline.api) and the command line are the callers.
"""

from archline.callable_package import make_callable
from archline.lazy_modules import load_on_use

load_on_use(__name__)

make_callable(__name__, "archline.api.energies")
