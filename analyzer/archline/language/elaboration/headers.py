"""Headers are read as they are meant.

Parameters that are declared as data and used as sizes become sizes, facts about data are assumed in the body, and
`ensures work <= O(n)` is the growth `work is O(n)`.
"""

from __future__ import annotations

from archline.expr.tree import Node, find_stated_minima
from archline.language import surface
from archline.language import syntax as s
from archline.language.elaboration.declare import find_mentioned_names, iterate_written_names
from archline.language.elaboration.environment import Environment
from archline.records import replace

_GROWTHS = {"==": ("O", "Theta", "Omega"), "<=": ("O",), ">=": ("Omega",)}
"""The growths that may stand behind a relation, as mathematics writes them."""


def rewrite_growth_bounds(algorithm: s.Algorithm) -> s.Algorithm:
    """Return an algorithm whose bounds such as `ensures work <= O(n)` are claims of growth, `work is O(n)`."""
    return replace(algorithm, ensures=tuple(map(_rewrite_growth_bound, algorithm.ensures)))


def _rewrite_growth_bound(ensures: s.Ensures) -> s.Ensures:
    match ensures.bound:
        case s.Call(function=growth, arguments=(bound,), sizes=()) if growth in _GROWTHS.get(ensures.relation, ()):
            return replace(ensures, relation=growth, bound=bound)
        case _:
            return ensures


def convert_parameters_to_sizes(algorithm: s.Algorithm, environment: Environment) -> s.Algorithm:
    """Return an algorithm whose `int` parameters are of type `size` if the header or an extent uses them.

    A parameter that the body sets stays data.
    """
    extents = tuple(type_.shape for type_ in s.find_nodes(algorithm.body, s.ArrayType))
    algorithm = _replace_vertex_types(algorithm, environment)
    types = tuple(parameter.type for parameter in algorithm.parameters)
    contract = (algorithm.where, algorithm.ensures, algorithm.decreases, algorithm.grid)
    used = find_mentioned_names((types, extents, contract)) - set(iterate_written_names(algorithm.body, environment))
    parameters = tuple(
        replace(parameter, type=s.SizeType(span=parameter.type.span))
        if parameter.name in used and parameter.mode == "in" and _is_integer(parameter.type)
        else parameter
        for parameter in algorithm.parameters
    )
    return _assume_facts_about_data(replace(algorithm, parameters=parameters))


def read_counts(algorithm: s.Algorithm) -> s.Algorithm:
    """Return an algorithm whose `index` parameters are sizes where the header gives them minima of at least 0.

    Costs grow with such a parameter, as with `n: size` and `where n >= 0`. Facts that relate it to others make it an
    index among others, unless the calls of the algorithm by itself reduce it, and all indices that it is related to.
    """
    minima = find_stated_minima(algorithm.where)
    relations = [names for fact in algorithm.where if len(names := s.find_names(fact)) > 1]
    own_calls = [call for call in s.find_nodes(algorithm.body, s.Call) if call.function == algorithm.name]
    indices = {
        parameter.name: [call.arguments[place] for call in own_calls if place < len(call.arguments)]
        for place, parameter in enumerate(algorithm.parameters)
        if isinstance(parameter.type, s.IndexType)
    }
    reduced = {
        name
        for name, passed in indices.items()
        if all(_is_at_most(value, name) for value in passed) and not all(isinstance(x, s.Name) for x in passed)
    }
    counts = {
        name
        for name in indices
        if minima.get(name, -1) >= 0 and all(names & indices.keys() <= reduced for names in relations if name in names)
    }
    parameters = tuple(
        replace(parameter, type=s.SizeType(span=parameter.type.span)) if parameter.name in counts else parameter
        for parameter in algorithm.parameters
    )
    return replace(algorithm, parameters=parameters)


def _is_at_most(value: s.Expr, name: str) -> bool:
    match value:
        case s.Binary(op="-" | "//", left=left, right=s.Integer() | s.Name()):
            return _is_at_most(left, name)
        case _:
            return isinstance(value, s.Name) and value.id == name


def _replace_vertex_types(algorithm: s.Algorithm, environment: Environment) -> s.Algorithm:
    """Return an algorithm whose parameters of type `vertex` are integers, with the assumption 0 <= v < vertices."""
    facts: list[s.Fact] = []
    parameters: list[s.Parameter] = []
    count = _find_vertex_count(algorithm, environment)
    for parameter in algorithm.parameters:
        type_: Node = parameter.type
        if not isinstance(type_, surface.RecordType) or type_.name != "vertex" or "vertex" in environment.records:
            parameters.append(parameter)
            continue
        span = type_.span
        parameters.append(replace(parameter, type=s.ScalarType("int", span=span)))
        if count is not None and parameter.mode == "in":
            name = s.Name(parameter.name, span=span)
            facts.append(s.Binary("<=", s.Integer(0, span=span), name, span=span))
            facts.append(s.Binary("<", replace(name), count, span=span))
    if not facts:
        return replace(algorithm, parameters=tuple(parameters))
    assumed = s.Assume(tuple(facts), span=facts[0].span)
    return replace(algorithm, parameters=tuple(parameters), body=(assumed, *algorithm.body))


def _find_vertex_count(algorithm: s.Algorithm, environment: Environment) -> s.Expr | None:
    """Return the number of vertices of the first graph in a header."""
    for parameter in algorithm.parameters:
        type_: Node = parameter.type
        if isinstance(type_, surface.RecordType) and type_.name == "graph":
            definition = environment.records.get("graph")
            sizes = type_.sizes or (() if definition is None else definition.sizes)
            return sizes[0] if sizes else None
    return None


def _is_integer(type_: s.Type) -> bool:
    return isinstance(type_, s.ScalarType) and type_.element == "int"


def _assume_facts_about_data(algorithm: s.Algorithm) -> s.Algorithm:
    """Return an algorithm that assumes at its start what its `where` says about real parameters."""
    data = {
        parameter.name
        for parameter in algorithm.parameters
        if isinstance(parameter.type, s.ScalarType) and parameter.mode == "in"
    }
    moved = tuple(fact for fact in algorithm.where if s.find_names(fact) & data)
    if not moved:
        return algorithm
    where = tuple(fact for fact in algorithm.where if fact not in moved)
    assumed = s.Assume(moved, span=moved[0].span)
    return replace(algorithm, where=where, body=(assumed, *algorithm.body))
