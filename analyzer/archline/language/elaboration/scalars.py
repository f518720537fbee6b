"""Scalar parameters that an algorithm sets become registers, whose values the caller stores where it passed a place.

A scalar parameter of mode `out` or `inout` is an output: its register is declared at the beginning of the body, and the
statement that calls has the places as `outputs`. Of a call's arguments only those that the algorithm reads are left. A
parameter of mode `in`, or a size, that is assigned is a register from the first assignment on, with its value from the
start; types keep naming the size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard

from archline.language import call_rules, surface, type_rules
from archline.language import syntax as s
from archline.language.diagnostics import Diagnostic, Rule, format_count
from archline.language.elaboration.declare import iterate_written_names
from archline.language.elaboration.environment import SIZE, Environment, NameType, collect_header_types
from archline.language.elaboration.rewriting import list_parts, make_name_maker, rewrite_fields, rewrite_tree
from archline.records import replace

Headers = Mapping[str, tuple[s.Parameter, ...]]
"""The parameters of each algorithm in scope, as written, with records as their parts."""


def is_scalar_output(parameter: s.Parameter) -> bool:
    """Test whether a parameter is a scalar of mode `out` or `inout`."""
    return parameter.mode != "in" and isinstance(parameter.type, s.ScalarType)


def make_register_name(name: str) -> str:
    """Return the name of the register that replaces an assigned parameter n: `n'`, which no program can write."""
    return f"{name}'"


def lower_output_parameters(
    algorithm: s.Algorithm, headers: Headers, result_of: Callable[[str], NameType | None]
) -> tuple[s.Algorithm, tuple[Diagnostic, ...]]:
    """Return an algorithm with registers for its scalar `out` and `inout` parameters, and mistakes in such calls.

    `headers` and `result_of` describe the algorithms in scope.
    """
    pass_ = _ScalarPass(algorithm, headers, result_of)
    body = pass_.rewrite_calls(algorithm.body)
    opening: list[s.Stmt] = []
    outputs: list[s.Output] = []
    for position, parameter in enumerate(algorithm.parameters):
        if is_scalar_output(parameter):
            register = parameter.name if parameter.mode == "out" else make_register_name(parameter.name)
            outputs.append(s.Output(parameter, position, register, span=parameter.span))
            value = None if parameter.mode == "out" else s.Name(parameter.name, span=parameter.span)
            assert isinstance(parameter.type, s.ScalarType)
            opening.append(s.Local(register, parameter.type, value, None, span=parameter.span))
            body = _rename_scalar(body, parameter.name, register)
    if not outputs and body is algorithm.body:
        return algorithm, tuple(pass_.mistakes)
    kept = tuple(
        replace(parameter, mode="in") if is_scalar_output(parameter) else parameter
        for parameter in algorithm.parameters
        if not (is_scalar_output(parameter) and parameter.mode == "out")
    )
    changed = replace(algorithm, parameters=kept, body=(*opening, *body), outputs=tuple(outputs))
    return changed, tuple(pass_.mistakes)


def mark_constant_registers(algorithm: s.Algorithm) -> s.Algorithm:
    """Return an algorithm in which integer registers that are set once, where they are declared, are `constant`."""
    set_again = {
        name
        for statement in s.find_nodes(algorithm.body, s.Simple)
        if not isinstance(statement, s.Local)
        for name in statement.sets
    }

    def change_node(node: s.Node) -> s.Node | None:
        match node:
            case s.Local(name=name, type=s.ScalarType(element="int"), value=s.Node(), when=None):
                return None if name in set_again else replace(node, constant=True)
            case _:
                # Only a register of an integer that is set once can be a constant.
                return None

    return replace(algorithm, body=rewrite_tree(algorithm.body, change_node))


def store_assigned_parameters(algorithm: s.Algorithm, environment: Environment) -> s.Algorithm:
    """Return an algorithm in which `in` parameters and sizes become registers where the body first assigns them.

    This pass comes before types are inferred and extents of arrays are written, which keep naming the sizes.
    """
    environment = environment.with_names(collect_header_types(algorithm, environment.records))
    outputs = {parameter.name for parameter in algorithm.parameters if is_scalar_output(parameter)}
    body = algorithm.body
    for name, type_ in _list_scalar_names(algorithm).items():
        if name not in outputs:
            body = _store_assigned(body, name, type_, environment)
    return algorithm if body is algorithm.body else replace(algorithm, body=body)


def restore_assigned_parameters(algorithm: s.Algorithm) -> s.Algorithm:
    """Return an algorithm as its author wrote it, without the registers of assigned parameters, for printing.

    A local array with such a size as extent loses its declaration after the assignment: printed there, the name of the
    size would mean the assigned value.
    """
    body = algorithm.body
    stored = [
        statement for statement in body if isinstance(statement, s.Local) and _is_parameter_register(statement.name)
    ]
    for start in stored:
        place = body.index(start)
        assert isinstance(start.value, s.Name)
        body = (
            *body[:place],
            *_rename_scalar(_undeclare_arrays(body[place + 1 :], start.value.id), start.name, start.value.id),
        )
    return replace(algorithm, body=body)


def _undeclare_arrays(body: tuple[s.Stmt, ...], size: str) -> tuple[s.Stmt, ...]:
    """Return a block without the declarations of arrays that have a size in their extents."""

    def change_node(node: s.Node) -> s.Node | tuple[s.Node, ...] | None:
        match node:
            case s.Local(name=name, type=s.ArrayType(shape=shape), value=value, span=span) if size in s.find_names(
                shape
            ):
                return () if value is None else s.Assign(s.Name(name, span=span), "=", value, False, span=span)
            case _:
                # Only declarations have extents.
                return None

    return rewrite_tree(body, change_node)  # type: ignore[no-any-return]


def _is_parameter_register(name: str) -> bool:
    return name.endswith(make_register_name(""))


def _list_scalar_names(algorithm: s.Algorithm) -> dict[str, s.ScalarType]:
    """Map the scalars and sizes of a header to the types of registers for them."""
    integer = s.ScalarType("int", span=algorithm.name_span)
    names = {
        name: integer for name, type_ in collect_header_types(algorithm, {}).items() if type_ and type_.element == SIZE
    }
    return names | {
        parameter.name: parameter.type for parameter in algorithm.parameters if isinstance(parameter.type, s.ScalarType)
    }


def _rename_scalar(body: tuple[s.Stmt, ...], name: str, register: str) -> tuple[s.Stmt, ...]:
    def change_node(node: s.Node) -> s.Node | None:
        match node:
            case s.Name(id=found) if found == name:
                return replace(node, id=register)
            case s.Costs():
                return node
            case s.While(limit=limit):
                # The bound is a size, that of the parameter.
                changed: s.While = rewrite_fields(replace(node, limit=None), change_node)
                return replace(changed, limit=limit)
            case _:
                return None

    return rewrite_tree(body, change_node)  # type: ignore[no-any-return]


def _store_assigned(
    body: tuple[s.Stmt, ...], name: str, type_: s.ScalarType, environment: Environment
) -> tuple[s.Stmt, ...]:
    """Replace a parameter by a register from the first statement that assigns the parameter on."""
    if name in _list_declared_names(body):
        return body
    sets = (name in iterate_written_names((statement,), environment) for statement in body)
    first = next((place for place, assigned in enumerate(sets) if assigned), None)
    if first is None:
        return body
    register, span = make_register_name(name), body[first].head
    start = s.Local(register, type_, s.Name(name, span=span), None, span=span)
    return (*body[:first], start, *_rename_scalar(body[first:], name, register))


def _list_evaluated(statement: s.Node) -> tuple[object, ...]:
    """Return the expressions of a statement, without its blocks, in the order in which they are evaluated."""
    match statement:
        case s.If(branches=(first, *_)):
            return (first.condition,)
        case s.Loop(lo=lo, hi=hi, step=step):
            return (lo, hi, step)
        case s.Assign(op="=", target=target, value=value):
            return (value, _list_children(target))
        case s.Simple():
            return _list_children(statement)
        case _:
            return ()


def _list_children(part: object) -> tuple[object, ...]:
    """Return the parts of an expression in the order in which they are evaluated."""
    if isinstance(part, tuple):
        return part
    return list_parts(part) if isinstance(part, s.Node) else ()


def _list_declared_names(body: tuple[s.Stmt, ...]) -> frozenset[str]:
    declared = (name for statement in s.find_nodes(body, s.Simple) for name in statement.defines)
    variables = (node.variable for node in s.iterate_nodes(body) if isinstance(node, s.Loop | surface.LoopOver))
    return frozenset((*declared, *variables))


class _ScalarPass:
    def __init__(self, algorithm: s.Algorithm, headers: Headers, result_of: Callable[[str], NameType | None]) -> None:
        self.mistakes: list[Diagnostic] = []
        self._make_name = make_name_maker(algorithm)
        self._headers = headers
        self._result_of = result_of
        scalars: list[s.Local | s.Parameter] = [*s.find_nodes(algorithm.body, s.Local), *algorithm.parameters]
        self._registers = {scalar.name: scalar.type for scalar in scalars if isinstance(scalar.type, s.ScalarType)}

    def rewrite_calls(self, body: tuple[s.Stmt, ...]) -> tuple[s.Stmt, ...]:
        """Return a block in which the scalar output arguments of calls are `outputs` of the statements that call."""
        if self._find_call(body) is None:
            return body
        return rewrite_tree(body, self._rewrite_statement)  # type: ignore[no-any-return]

    def _find_call(self, part: object) -> s.Call | None:
        """Return the first call with outputs in a part of a program."""
        calls = s.find_nodes(part, s.Call)
        return next((call for call in calls if any(map(is_scalar_output, self._headers.get(call.function, ())))), None)

    def _rewrite_statement(self, node: s.Node) -> s.Node | tuple[s.Node, ...] | None:
        before: list[s.Stmt] = []
        self._check_order(_list_evaluated(node), ())
        match node:
            case s.If(branches=(first, *others)):
                condition = self._move_calls(first.condition, before)
                for branch in others:
                    self._refuse_calls(branch.condition, "an `elif` may not come to it")
                arms = (replace(first, condition=condition), *others)
                branches = tuple(replace(arm, body=self.rewrite_calls(arm.body)) for arm in arms)
                return (*before, replace(node, branches=branches))
            case s.Loop(lo=lo, hi=hi, step=step, body=body):
                lo, hi, step = (self._move_calls(part, before) for part in (lo, hi, step))
                return (*before, replace(node, lo=lo, hi=hi, step=step, body=self.rewrite_calls(body)))
            case s.While(condition=condition, body=body):
                self._refuse_calls(condition, "each test would set them again")
                return replace(node, body=self.rewrite_calls(body))
            case s.Invoke(call=call, spawned=spawned) if self._find_call(call) is not None:
                if spawned:
                    message = f"`{call.function}` hands a number back, so it cannot be spawned"
                    self.report(call_rules.RESULT_PLACE, message, node)
                arguments = self._move_calls(call.arguments, before)
                call, outputs = self._split_arguments(replace(call, arguments=arguments), before)
                return (*before, replace(node, call=call, outputs=outputs))
            case s.Assign(op="=", value=s.Call() as call) if self._is_moved(call) and self._is_stored_as_is(node, call):
                arguments = self._move_calls(call.arguments, before)
                call, outputs = self._split_arguments(replace(call, arguments=arguments), before)
                return (*before, replace(node, value=call, outputs=outputs))
            case s.Simple() if self._find_call(node) is not None:
                moved = rewrite_fields(node, lambda part: self._move_call(part, before))
                return (*before, moved)
            case s.Simple():
                return node
            case _:
                return None

    def _is_stored_as_is(self, assign: s.Assign, call: s.Call) -> bool:
        """Test whether a register is assigned a result of its own type, so that the call needs no other one."""
        result = self._result_of(call.function)
        type_ = self._registers.get(assign.target.id) if isinstance(assign.target, s.Name) else None
        return result is not None and type_ is not None and result.element == type_.element and not assign.atomic

    def _move_calls(self, part: Any, before: list[s.Stmt]) -> Any:
        return part if part is None else rewrite_tree(part, lambda inner: self._move_call(inner, before))

    def _move_call(self, part: s.Node, before: list[s.Stmt]) -> s.Node | None:
        """Move a call with outputs from an expression into a statement before it."""
        match part:
            case s.Binary(op="and" | "or", right=right):
                self._refuse_calls(right, "the right side may not be evaluated")
                return None
            case s.Call() if self._is_moved(part):
                result, span = self._result_of(part.function), part.span
                if result is None:
                    message = f"`{part.function}` returns no result"
                    self.report(call_rules.NO_RESULT, message, part, "call it as a statement")
                type_ = s.ScalarType("int" if result is None or result.element == SIZE else result.element, span=span)
                arguments = self._move_calls(part.arguments, before)
                call, outputs = self._split_arguments(replace(part, arguments=arguments), before)
                register = self._make_name("value")
                before.append(s.Local(register, type_, None, None, span=span))
                before.append(s.Assign(s.Name(register, span=span), "=", call, False, outputs, span=span))
                return s.Name(register, span=span)
            case _:
                return None

    def _check_order(self, part: object, earlier: tuple[object, ...]) -> None:
        """Report a call that moves before an expression evaluated `earlier`, if either changes a name in the other."""
        if self._find_call(part) is None:
            return
        # Calls that are moved keep their order.
        earlier = tuple(kept for expression in earlier for kept in self._list_unmoved(expression))
        children = _list_children(part)
        for number, child in enumerate(children):
            self._check_order(child, (*earlier, *children[:number]))
        if self._is_moved(part):
            changed, read = self._find_changed(part), s.find_names(part)
            for expression in earlier:
                common = (changed & s.find_names(expression)) | (read & self._find_changed(expression))
                if common:
                    first = next(s.find_nodes(expression, s.Node)).span.text
                    message = f"`{part.span.text}` is made before `{first}`, and one changes `{min(common)}`"
                    hint = "store the value of one of the two in a register, in a statement of its own"
                    self.report(call_rules.RESULT_PLACE, message, part, hint)
                    break

    def _is_moved(self, part: object) -> TypeGuard[s.Call]:
        return isinstance(part, s.Call) and self._find_call(replace(part, arguments=())) is not None

    def _list_unmoved(self, part: object) -> Iterator[object]:
        """Yield the largest parts of an expression that contain no call with outputs."""
        if self._find_call(part) is None:
            yield part
        elif not self._is_moved(part):
            for child in _list_children(part):
                yield from self._list_unmoved(child)

    def _find_changed(self, part: object) -> frozenset[str]:
        """Return the names that calls in an expression change."""
        changed = set[str]()
        for call in s.find_nodes(part, s.Call):
            for parameter, argument in zip(self._headers.get(call.function, ()), call.arguments, strict=False):
                if parameter.mode != "in":
                    changed |= {argument.array} if isinstance(argument, s.Element) else s.find_names(argument)
        return frozenset(changed)

    def _refuse_calls(self, part: object, reason: str) -> None:
        call = self._find_call(part)
        if call is not None:
            message = f"`{call.function}` sets its arguments, and cannot be called here: {reason}"
            self.report(call_rules.RESULT_PLACE, message, call, "store its result in a register before")

    def _split_arguments(self, call: s.Call, before: list[s.Stmt]) -> tuple[s.Call, tuple[s.Name | s.Element, ...]]:
        """Return a call without the arguments that it only sets, and the places of all its scalar outputs."""
        header = self._headers[call.function]
        arguments: list[s.Expr] = []
        outputs: list[s.Name | s.Element] = []
        if len(header) != len(call.arguments):
            message = f"`{call.function}` takes {format_count(len(header), 'argument')}, not {len(call.arguments)}"
            names = ", ".join(parameter.name for parameter in header)
            self.report(call_rules.ARGUMENT_COUNT, message, call, f"it is `{call.function}({names})`")
            return call, ()
        for parameter, argument in zip(header, call.arguments, strict=True):
            if is_scalar_output(parameter) and isinstance(argument, s.Element):
                argument = self._evaluate_subscripts(argument, before)
            if not is_scalar_output(parameter) or parameter.mode == "inout":
                arguments.append(argument)
            if is_scalar_output(parameter):
                if isinstance(argument, s.Name | s.Element):
                    outputs.append(replace(argument))
                else:
                    message = f"`{parameter.name}` of `{call.function}` is `{parameter.mode}`, and this is no place"
                    self.report(call_rules.ARGUMENT_KIND, message, argument, "pass a register or an element")
        set_names = {place.id for place in outputs if isinstance(place, s.Name)}
        for place in outputs:
            if isinstance(place, s.Element) and set_names & s.find_names(place):
                message = f"the call sets `{min(set_names & s.find_names(place))}`, on which this place depends"
                self.report(type_rules.NOT_ASSIGNABLE, message, place, "pass a register, and store it then")
        return replace(call, arguments=tuple(arguments)), tuple(outputs)

    def _evaluate_subscripts(self, place: s.Element, before: list[s.Stmt]) -> s.Element:
        """Return an element whose subscripts are evaluated once, before the call, which may change them."""

        def fix_part(part: Any) -> Any:
            data = any(s.find_nodes(part, s.Element)) or bool(self._registers.keys() & s.find_names(part))
            if isinstance(part, s.Name | s.Slice) or not data:
                return part
            register = self._make_name("place")
            before.append(s.Local(register, s.ScalarType("int", span=part.span), part, None, span=part.span))
            return s.Name(register, span=part.span)

        return replace(place, subscripts=tuple(map(fix_part, place.subscripts)))

    def report(self, rule: Rule, message: str, at: s.Node, hint: str | None = None) -> None:
        self.mistakes.append(Diagnostic(rule, message, at.span, hint=hint))
