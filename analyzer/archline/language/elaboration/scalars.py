"""Scalar parameters that an algorithm sets become registers, whose values the caller stores where it passed a place.

A scalar parameter of mode `out` or `inout` is an output: its register is declared at the beginning of the body, and the
statement that calls has the places as `outputs`. Of a call's arguments only those that the algorithm reads are left. A
parameter of mode `in`, or a size, that is assigned is a register from the first assignment on, with its value from the
start; types keep naming the size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from archline.language import call_rules, type_rules
from archline.language import syntax as s
from archline.language.diagnostics import Diagnostic, Rule
from archline.language.elaboration.environment import SIZE, read_header
from archline.language.elaboration.rewriting import make_name_maker, rewrite_fields, rewrite_tree
from archline.records import replace

Headers = Mapping[str, tuple[s.Parameter, ...]]
"""The parameters of each algorithm in scope, as written, with records as their parts."""


def is_output(parameter: s.Parameter) -> bool:
    """Test whether a parameter hands a number back."""
    return parameter.mode != "in" and isinstance(parameter.type, s.ScalarType)


def place_scalars(algorithm: s.Algorithm, headers: Headers) -> tuple[s.Algorithm, tuple[Diagnostic, ...]]:
    """Return an algorithm whose scalar parameters keep their values, and the mistakes in calls with outputs."""
    pass_ = _ScalarPass(algorithm, headers)
    body = pass_.rewrite_calls(algorithm.body)
    opening: list[s.Stmt] = []
    outputs: list[s.Output] = []
    for position, parameter in enumerate(algorithm.parameters):
        if is_output(parameter):
            if algorithm.grid:
                message = f"`{parameter.name}` is a number, which an algorithm on a grid cannot hand back"
                pass_.report(type_rules.WRONG_MODE, message, parameter, "use an array of one element")
            register = pass_.make_name(parameter.name.replace(".", "_"))
            outputs.append(s.Output(parameter, position, register, span=parameter.span))
            value = None if parameter.mode == "out" else s.Name(parameter.name, span=parameter.span)
            assert isinstance(parameter.type, s.ScalarType)
            opening.append(s.Local(register, parameter.type, value, None, span=parameter.span))
            body = _rename(body, parameter.name, register)
    for name, type_ in _list_scalar_names(algorithm).items():
        if name not in {output.parameter.name for output in outputs}:
            body = _store_assigned(body, name, type_, pass_.make_name)
    if not outputs and body is algorithm.body:
        return algorithm, tuple(pass_.mistakes)
    kept = tuple(
        replace(parameter, mode="in") if is_output(parameter) else parameter
        for parameter in algorithm.parameters
        if not (is_output(parameter) and parameter.mode == "out")
    )
    changed = replace(algorithm, parameters=kept, body=(*opening, *body), outputs=tuple(outputs))
    return changed, tuple(pass_.mistakes)


def _list_scalar_names(algorithm: s.Algorithm) -> dict[str, s.ScalarType]:
    """Return the scalars and sizes of a header, and the types of registers for them."""
    integer = s.ScalarType("int", span=algorithm.name_span)
    names = {name: integer for name, type_ in read_header(algorithm, {}).items() if type_ and type_.element == SIZE}
    return names | {
        parameter.name: parameter.type for parameter in algorithm.parameters if isinstance(parameter.type, s.ScalarType)
    }


def _rename(body: tuple[s.Stmt, ...], name: str, register: str) -> tuple[s.Stmt, ...]:
    def change(node: s.Node) -> s.Node | None:
        match node:
            case s.Name(id=found) if found == name:
                return replace(node, id=register)
            case s.Costs():
                return node
            case s.While(limit=limit):
                # The bound is a size, that of the parameter.
                changed: s.While = rewrite_fields(replace(node, limit=None), change)
                return replace(changed, limit=limit)
            case _:
                return None

    return rewrite_tree(body, change)  # type: ignore[no-any-return]


def _store_assigned(
    body: tuple[s.Stmt, ...], name: str, type_: s.ScalarType, make_name: Callable[[str], str]
) -> tuple[s.Stmt, ...]:
    """Put a parameter in a register where the first statement that assigns it begins."""
    if name in _list_declared_names(body):
        return body
    first = next((place for place, statement in enumerate(body) if _assigns(statement, name)), None)
    if first is None:
        return body
    register, span = make_name(name.replace(".", "_")), body[first].span
    start = s.Local(register, type_, s.Name(name, span=span), None, span=span)
    return (*body[:first], start, *_rename(body[first:], name, register))


def _assigns(part: object, name: str) -> bool:
    return any(name in statement.sets for statement in s.find_nodes(part, s.Simple))


def _list_declared_names(body: tuple[s.Stmt, ...]) -> frozenset[str]:
    declared = (name for statement in s.find_nodes(body, s.Simple) for name in statement.defines)
    return frozenset((*declared, *(loop.variable for loop in s.find_nodes(body, s.Loop))))


class _ScalarPass:
    def __init__(self, algorithm: s.Algorithm, headers: Headers) -> None:
        self.make_name = make_name_maker(algorithm)
        self.mistakes: list[Diagnostic] = []
        self._headers = headers

    def rewrite_calls(self, body: tuple[s.Stmt, ...]) -> tuple[s.Stmt, ...]:
        """Return a block whose calls have their outputs in the statement."""
        if not any(self._has_outputs(call) for call in s.find_nodes(body, s.Call)):
            return body
        return rewrite_tree(body, self._rewrite_statement)  # type: ignore[no-any-return]

    def _has_outputs(self, call: s.Call) -> bool:
        return any(map(is_output, self._headers.get(call.function, ())))

    def _rewrite_statement(self, node: s.Node) -> s.Node | tuple[s.Node, ...] | None:
        if not isinstance(node, s.Simple):
            return None
        calls = [call for call in s.find_nodes((node.reads, node.writes), s.Call) if self._has_outputs(call)]
        match node:
            case _ if not calls:
                return node
            case s.Invoke(call=call, spawned=spawned) if calls == [call]:
                if spawned:
                    message = f"`{call.function}` hands a number back, so it cannot be spawned"
                    self.report(call_rules.RESULT_PLACE, message, node)
                call, outputs = self._split_arguments(call)
                return replace(node, call=call, outputs=outputs)
            case s.Assign(op="=", value=s.Call() as call) if calls == [call]:
                call, outputs = self._split_arguments(call)
                return replace(node, value=call, outputs=outputs)
            case s.Local(name=name, type=s.ScalarType(), value=s.Call() as call) if calls == [call]:
                call, outputs = self._split_arguments(call)
                target = s.Name(name, span=node.span)
                return replace(node, value=None), s.Assign(target, "=", call, False, outputs, span=node.span)
            case _:
                message = f"`{calls[0].function}` sets its arguments, and is called in an expression"
                self.report(call_rules.RESULT_PLACE, message, calls[0], "store its result in a register of its own")
                return node

    def _split_arguments(self, call: s.Call) -> tuple[s.Call, tuple[s.Name | s.Element, ...]]:
        """Return a call with the arguments that are read alone, and the places of its outputs."""
        header = self._headers[call.function]
        if len(header) != len(call.arguments):
            # The checker counts the arguments that are left, which are wrong then too.
            return call, ()
        arguments: list[s.Expr] = []
        outputs: list[s.Name | s.Element] = []
        for parameter, argument in zip(header, call.arguments, strict=True):
            if not is_output(parameter) or parameter.mode == "inout":
                arguments.append(argument)
            if is_output(parameter):
                if isinstance(argument, s.Name | s.Element):
                    outputs.append(replace(argument))
                else:
                    message = f"`{parameter.name}` of `{call.function}` is `{parameter.mode}`, and this is no place"
                    self.report(call_rules.ARGUMENT_KIND, message, argument, "pass a register or an element")
        set_names = {place.id for place in outputs if isinstance(place, s.Name)}
        for place in outputs:
            if isinstance(place, s.Element) and set_names & s.names(place):
                message = f"the call sets `{min(set_names & s.names(place))}`, on which this place depends"
                self.report(type_rules.NOT_ASSIGNABLE, message, place, "pass a register, and store it then")
        return replace(call, arguments=tuple(arguments)), tuple(outputs)

    def report(self, rule: Rule, message: str, at: s.Node, hint: str | None = None) -> None:
        self.mistakes.append(Diagnostic(rule, message, at.span, hint=hint))
