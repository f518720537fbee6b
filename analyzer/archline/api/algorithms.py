"""Represent an algorithm in Python: an `Algorithm` derives its costs, runs on data, and is shown in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from archline.api import running
from archline.api.costs import CostReport
from archline.costs import sizes as given_sizes
from archline.costs.algorithms import AlgorithmUnderFacts
from archline.energy import caches
from archline.energy import running as executed
from archline.execution.results import TIMEOUT
from archline.language import syntax as s
from archline.records import replace
from archline.report import library
from archline.report.documents import Document, WithPage

if TYPE_CHECKING:
    from archline.api.running import Run
    from archline.execution.results import Cache


class Algorithm(AlgorithmUnderFacts, WithPage):
    """One algorithm of a checked module."""

    costs_class = CostReport

    @property
    def doc(self) -> str | None:
        """The docstring of the algorithm; None if there is none."""
        return self.node.doc

    if TYPE_CHECKING:

        def cost(self, where: str | tuple[s.Fact, ...] | None = None, *, problem: str | None = None) -> CostReport: ...
        def report(self, where: str | None = None, *, problem: str | None = None) -> CostReport: ...

    def run(
        self,
        given: Mapping[str, Any] | None = None,
        /,
        *,
        cache: Cache | str | None = None,
        compiled: bool | None = None,
        seed: int = 0,
        engine: str = "simulated",
        timeout: float = TIMEOUT,
        **arguments: Any,
    ) -> Run:
        """Run the algorithm on numpy arrays (or nested lists) and numbers by parameter name; arrays are not changed.

        If only sizes are given (`n=64`), the data is generated from `seed`. `given` takes arguments whose names are
        keywords here, such as a parameter called `cache`. io and write-backs are counted if a cache is given.
        `compiled` forces or forbids compilation.

        Algorithms on a grid run on simulated processors, or with `engine="mpi"` on ranks of MPI, which are started here
        unless this process is one; a rank that has waited for `timeout` seconds checks for a deadlock.

        Raises ArchlineError for wrong arguments, for certain failures, as `cost` does, and for faults in the run (a
        race, a subscript out of bounds, a false fact, a deadlock).
        """
        self.refuse_certain_failures()
        values = {**(given or {}), **arguments}
        settings = replace(executed.DEFAULT_SETTINGS, seed=seed, compiled=compiled, engine=engine, timeout=timeout)
        if self._gives_only_sizes(values):
            return running.run_at(
                self, given_sizes.convert_python_values(values), caches.read_given_cache(cache), settings
            )
        return running.run(self, values, caches.read_given_cache(cache), settings)

    def _gives_only_sizes(self, values: Mapping[str, Any]) -> bool:
        """Test whether sizes are given, but none of the arrays that the algorithm takes."""
        sizes = {*self.sizes, *self.signature.indices}
        data = {*self.parameters} - sizes
        arrays = data - {*self.report().names.numbers}
        if self.node.grid:
            sizes.add("P")
        return bool(data - values.keys() and sizes & values.keys() and not arrays & values.keys())

    def __repr__(self) -> str:
        return f"<archline algorithm {self.name}({', '.join(self.parameters)})>"

    @property
    def page(self) -> Document:
        """The declaration, which notebooks show."""
        return library.make_declaration_page(self.node, self.signature)


def algorithm(target: str) -> Algorithm:
    """Return the algorithm that a target names: `dense.matmul::matmul_basic`, or the only one of a file.

    Raises ArchlineError (AL109 if there is none, AL410 if there are several).
    """
    return Algorithm.named(target)
