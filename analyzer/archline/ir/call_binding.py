"""What names mean in an algorithm that is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, Poly
from archline.ir.data_ranges import extent_range
from archline.ir.declarations import declared
from archline.ir.environment import Place
from archline.ir.scope import Scope
from archline.ir.tree import Loop, Node
from archline.ir.unsupported import UntracedError
from archline.ir.views import Views, static
from archline.language import syntax as s
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.model import BoundBy


@dataclass(eq=False)
class Callees(Views):
    """The callees of a module's algorithms; `names` tells how many loops have had each name."""

    names: dict[str, int] = field(default_factory=dict)

    def sized(self, given: Sequence[Loop], body: tuple[Node, ...]) -> tuple[Node, ...]:
        """A body under sizes that the data gives: each is the counter of a loop of one iteration."""
        for loop in reversed(given if body else ()):
            body = (replace(loop, body=body),)
        return body

    def callee(self, call: s.Call, target: s.Algorithm, place: Place) -> tuple[Scope, tuple[Loop, ...]]:
        """What names mean in an algorithm that is called, and the sizes that the data gives."""
        own, outer = declared(self.module, target), place.scope
        values = {name: outer.values[name] for name in MACHINE_SYMBOLS if name in outer.values}
        given: list[Loop] = []
        for name, bound in self.module.bindings[call].items():
            found = None if bound is None else static(bound, replace(outer, reads_offsets=True))
            if found is None:
                facts = given[-1].inside if given else outer.facts
                given.append(self._given(name, call, target, outer.with_facts(facts)))
                found = Poly.symbol(given[-1].variable)
            values[name] = found
        below = {name: bound.substitute(values) for name, bound in own.below.items()}
        self._require_constant_offsets(call, target, own, place)
        segments = {name: self._segments(each, call, values) for name, each in own.segments.items()}
        facts = given[-1].inside if given else outer.facts
        return replace(outer.with_facts(facts), values=values, below=below, segments=segments), tuple(given)

    def _given(self, name: str, call: s.Call, target: s.Algorithm, outer: Scope) -> Loop:
        """A size that the data gives, as a loop of one iteration whose counter it is."""
        signature = self.module.signatures[target]
        for binding in signature.sizes:
            if binding.name == name and binding.by is BoundBy.EXTENT:
                extent = self.module.shapes[call.arguments[binding.parameter]][binding.dimension]
                known = extent_range(extent, outer)
                if known is not None:
                    variable = self.fresh(name)
                    least = Poly.constant(signature.at_least.get(name, 1))
                    # Where no size is allowed there is no call: then nothing may follow from its being there.
                    most = outer.facts.maximum(known.upper, least)
                    inside = outer.facts.with_symbol(variable, (known.lower, least), (most,))
                    return Loop(variable, known.lower, most + 1, ONE, outer.facts, inside, (), call.span)
        raise UntracedError(f"the data decides the size `{name}` of `{target.name}`", call.span)

    def _require_constant_offsets(self, call: s.Call, target: s.Algorithm, own: Scope, place: Place) -> None:
        """Entries of offsets stand for one value each, whatever loops do: arrays of ints may hold others each time."""
        for parameter, argument in zip(target.parameters, call.arguments, strict=True):
            known = isinstance(argument, s.Name) and argument.id in place.scope.segments
            if parameter.name in own.segments and place.loops and not known:
                raise UntracedError("offsets that may be others in each iteration", argument.span)

    def _segments(self, known: a.Segments, call: s.Call, values: Mapping[str, Poly]) -> a.Segments:
        """What is known of offsets in an algorithm that is called: another array each time."""
        moved = known.rebuilt(tuple(part.substitute(values) for part in known.parts))
        return replace(moved, array=f"{known.array} at {call.span}")

    def fresh(self, name: str) -> str:
        """A name that no other loop has."""
        self.names[name] = self.names.get(name, 0) + 1
        return name if self.names[name] == 1 else f"{name}'{self.names[name]}"
