"""Headers are read as they are meant.

Parameters that are declared as data and used as sizes become sizes, facts about data are assumed in the body, and
`ensures work <= O(n)` is the growth `work is O(n)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archline.expr import build
from archline.expr.tree import Node, find_stated_minima
from archline.language import surface
from archline.language import syntax as s
from archline.language.elaboration.declare import find_mentioned_names, iterate_written_names
from archline.language.elaboration.environment import Environment
from archline.language.elaboration.rewriting import renew_nodes
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
    A parameter that these calls raise is an index, also if the header says `size`.
    """
    algorithm = _convert_raised_sizes(_bound_by_ends(algorithm))
    minima = find_stated_minima(algorithm.where)
    relations = [names for fact in algorithm.where if len(names := s.find_names(fact)) > 1]
    indices = {
        parameter.name: _list_passed_values(algorithm, place)
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
        if minima.get(name, -1) >= 0
        and not any(_read_step(value, name) == 1 for value in indices[name])
        and all(names & indices.keys() <= reduced for names in relations if name in names)
    }
    parameters = tuple(
        replace(parameter, type=s.SizeType(span=parameter.type.span)) if parameter.name in counts else parameter
        for parameter in algorithm.parameters
    )
    return replace(algorithm, parameters=parameters)


def _convert_raised_sizes(algorithm: s.Algorithm) -> s.Algorithm:
    """Return an algorithm whose scalar sizes that its calls of itself raise by 1 are indices with the same minimum."""
    extents = find_mentioned_names(tuple(type_.shape for type_ in s.find_nodes(algorithm, s.ArrayType)))
    compared = [
        (node.left, node.right)
        for node in s.find_nodes(algorithm.body, s.Binary)
        if node.op in ("==", "!=", "<", "<=", ">", ">=") and len(s.find_names((node.left, node.right))) > 1
    ]
    raised = {
        parameter.name
        for place, parameter in enumerate(algorithm.parameters)
        if isinstance(parameter.type, s.SizeType)
        and parameter.name not in extents
        # Without another value as its end it grows for ever.
        and parameter.name in s.find_names(tuple(compared))
        and any(_read_step(value, parameter.name) == 1 for value in _list_passed_values(algorithm, place))
    }
    minima = build.lower_bound_facts(sorted(raised - find_stated_minima(algorithm.where).keys()), 1)
    parameters = tuple(
        replace(parameter, type=s.IndexType(span=parameter.type.span)) if parameter.name in raised else parameter
        for parameter in algorithm.parameters
    )
    spans = {parameter.name: parameter.span for parameter in parameters}
    facts = tuple(replace(fact, span=spans[name]) for fact in minima for name in s.find_names(fact))
    return replace(algorithm, parameters=parameters, where=(*algorithm.where, *facts))


def _bound_by_ends(algorithm: s.Algorithm) -> s.Algorithm:
    """Return an algorithm with the facts without which no run ends: `i <= n` for `if i == n` before a call at i + 1.

    Every run at which the test fails makes a call, all calls move the parameter by 1, and none changes the other side.
    """
    if algorithm.decreases or algorithm.grid:
        return algorithm
    facts = []
    for test, rest in _iterate_ends(algorithm.body, algorithm.name):
        for parameter, end in ((test.left, test.right), (test.right, test.left)):
            place = next((k for k, x in enumerate(algorithm.parameters) if _is_counter(x, parameter)), None)
            if place is None or not _keeps_value(algorithm, end) or not _is_certain_to_call(rest, algorithm.name):
                continue
            steps = {
                _read_step(value, algorithm.parameters[place].name) for value in _list_passed_values(algorithm, place)
            }
            related = (fact for fact in algorithm.where if s.find_names(fact) == s.find_names(test))
            if steps in ({1}, {-1}) and not any(related):
                fact = build.binary("<=" if steps == {1} else ">=", parameter, end)
                facts.append(replace(fact, span=test.span))
    return replace(algorithm, where=(*algorithm.where, *facts))


def _is_counter(parameter: s.Parameter, name: s.Expr) -> bool:
    return (
        isinstance(name, s.Name) and parameter.name == name.id and isinstance(parameter.type, s.IndexType | s.SizeType)
    )


def _list_passed_values(algorithm: s.Algorithm, place: int) -> list[s.Expr]:
    """List the arguments that an algorithm passes at a place of its parameters where it calls itself."""
    calls = s.find_nodes(algorithm.body, s.Call)
    return [x.arguments[place] for x in calls if x.function == algorithm.name and place < len(x.arguments)]


def _read_step(value: s.Expr, name: str) -> int | None:
    """Return 1 for the value i + 1 of the name i, and -1 for i - 1; None for other values."""
    match value:
        case s.Binary(op="+" | "-" as op, left=s.Name(id=moved), right=s.Integer(value=1)) if moved == name:
            return 1 if op == "+" else -1
        case s.Binary(op="+", left=s.Integer(value=1), right=s.Name(id=moved)) if moved == name:
            return 1
        case _:
            return None


def _keeps_value(algorithm: s.Algorithm, end: s.Expr) -> bool:
    """Test whether an expression in the parameters has the same value in all calls of an algorithm by itself."""
    names = s.find_names(end)
    defined = frozenset[str]()
    for place, parameter in enumerate(algorithm.parameters):
        mentioned = {parameter.name, *find_mentioned_names((parameter.type,))} & names
        defined |= mentioned
        passed = _list_passed_values(algorithm, place)
        if mentioned and not all(isinstance(value, s.Name) and value.id == parameter.name for value in passed):
            return False
    return names <= defined and not any(s.find_nodes((end,), s.Call, s.Element))


def _iterate_ends(body: tuple[s.Stmt, ...], function: str) -> Iterator[tuple[s.Binary, tuple[s.Stmt, ...]]]:
    """Iterate over the tests `i == n` that end a recursion, each with the statements that run if the test fails."""
    for place, statement in enumerate(body):
        after = body[place + 1 :]
        if isinstance(statement, s.If):
            (first, *later), calls = statement.branches, _has_call(statement.branches[0].body, function)
            rest: tuple[s.Stmt, ...] = (replace(statement, branches=tuple(later)),) if later else ()
            if later and later[0].condition is None:
                rest = later[0].body
            match first.condition:
                case s.Binary(op="==") as test if not calls and (_has_exit((first,)) or not _has_call(after, function)):
                    yield test, (*rest, *after)
                case s.Binary(op="!=") as test if calls and not _has_call((*rest, *after), function):
                    yield test, first.body
                case _:
                    pass
        if _has_exit((statement,)) or _has_call((statement,), function):
            return


def _has_call(nodes: tuple[Any, ...], function: str) -> bool:
    return any(call.function == function for call in s.find_nodes(nodes, s.Call))


def _has_exit(nodes: tuple[Any, ...]) -> bool:
    return any(s.find_nodes(nodes, s.Return, s.Exit))


def _is_certain_to_call(body: tuple[s.Stmt, ...], function: str) -> bool:
    """Test whether each execution of some statements makes a call of an algorithm."""
    for statement in body:
        if isinstance(statement, s.If) and statement.branches[-1].condition is None:
            if all(_is_certain_to_call(branch.body, function) for branch in statement.branches):
                return True
        elif isinstance(statement, s.Simple) and _has_call((statement,), function):
            # The right side of `and` or `or` need not be evaluated.
            return not any(node.op in ("and", "or") for node in s.find_nodes(statement, s.Binary))
        if _has_exit((statement,)):
            return False
    return False


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
            return renew_nodes(sizes[0]) if sizes else None
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
