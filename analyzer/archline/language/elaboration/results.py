"""The type of an algorithm's result is inferred from the values that it returns, where its header does not say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from archline.language import surface
from archline.language import syntax as s
from archline.language.elaboration.declare import declare_names, list_surface_blocks
from archline.language.elaboration.environment import Environment, NameType, join_types


class ResultTypes:
    """Finds the types of results; each is inferred once."""

    def __init__(
        self,
        algorithms: Mapping[str, s.Algorithm],
        abbreviations: Mapping[str, surface.Abbreviation],
        records: Mapping[str, surface.RecordDefinition],
        externs: Mapping[str, s.Extern],
    ) -> None:
        self._algorithms = algorithms
        self.environment = Environment({}, algorithms, self.find, abbreviations, records, externs)
        self._found: dict[str, NameType | None] = {}

    def find(self, name: str) -> NameType | None:
        """Return the type of an algorithm's result; None if it has none, or for a call during the inference itself."""
        if name not in self._found:
            self._found[name] = None
            self._found[name] = self._infer(self._algorithms[name])
            # The second time, the results of recursive calls have the type that the others gave.
            self._found[name] = self._infer(self._algorithms[name])
        return self._found[name]

    def name_result(self, name: str) -> str | None:
        """Return `int`, `real` or `bool` for an algorithm that returns a number, else None."""
        type_ = self.find(name)
        return None if type_ is None or type_.is_array else type_.element

    def _infer(self, algorithm: s.Algorithm) -> NameType | None:
        if algorithm.result is not None:
            return NameType(algorithm.result)
        if not any(s.find_nodes(algorithm.body, s.Return)):
            return None
        declared, environment = declare_names(algorithm, self.environment)
        joined = join_types(_iterate_returned_types(declared.body, environment))
        if joined is None or joined.is_array:
            return joined
        return NameType(joined.element if joined.element in ("real", "bool") else "int")


def _iterate_returned_types(block: tuple[Any, ...], environment: Environment) -> Iterator[NameType | None]:
    for statement in block:
        if isinstance(statement, s.Return):
            yield environment.infer(statement.value)
        for inner in list_surface_blocks(statement):
            yield from _iterate_returned_types(inner, environment.enter_body(statement))
        environment = environment.add_declared(statement)
