"""Loops with several spellings, in this language or in others, are built as the loops that the language has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from archline.expr.text import format_expression
from archline.expr.tree import Span, has_same_structure
from archline.language import surface
from archline.language import syntax as s
from archline.language import syntax_rules as rules
from archline.language.diagnostics import Edit, Proposal, error, make_insertion
from archline.language.spellings import SpellingBuilder, read_update, replace_statements
from archline.language.tokens import Part, Token
from archline.language.words import SHADOWABLE
from archline.records import record, replace

MAX_SHIFT = 64
"""The power of 2 from which on a shift of a counter is left as it is written."""


@record
class _Counting:
    """The three parts of `for (start; condition; step)`."""

    starts: tuple[Any, ...]
    condition: Any
    steps: tuple[Any, ...]


class LoopBuilder(SpellingBuilder):
    """Builds loops of all spellings as `Loop`, `While` and `LoopOver` nodes."""

    def _make_written_loop(
        self,
        meta: Part,
        parallel: Token | None,
        names: Any,
        word: Token,
        lo: Any,
        direction: Token,
        hi: Any,
        step: Any,
        reduction: Any,
        body: Any,
    ) -> s.Loop:
        if word.type in ("ASSIGN_PLAIN", "ASSIGN_ARROW") and direction.type == "UPTO":
            hint = self._suggest_ranges(names[0].id, self._make_span(word), lo, hi)
            message = "`for i = a..b` may mean that b is left out or taken"
            raise error(rules.UNEXPECTED, message, span=self._make_header_span(meta), hint=hint)
        if direction.type != "DOWNTO" and isinstance(step, s.Unary):
            down = self._make_falling_loop if direction.type == "UPTO" else self._make_closed_falling_loop
            return down(meta, parallel, names, lo, hi, step.operand, body)
        lo, hi = self._make_range(lo, direction, hi)
        loop = self._make_loop(meta, parallel, names, lo, hi, step, body, direction.type == "DOWNTO")
        return self._add_reduction(meta, loop, parallel, reduction)

    def _check_factor(self, sign: Token, factor: Any, direction: Token) -> None:
        """Refuse a loop that goes away from its end, or by a factor that is not a whole number of at least 2."""
        falls = direction.type == "DOWNTO"
        if not isinstance(factor, s.Integer) or factor.value < 2:
            hint = "write a number, `step *2`; or a `while`, such as `while i < n:` with `i *= c` at its end"
            message = f"the variable of a loop is {'divided' if falls else 'multiplied'} by a whole number from 2 on"
            raise error(rules.UNEXPECTED, message, span=factor.span, hint=hint)
        if falls == (sign.type == "TIMES"):
            header = "for i in n downto 1 step /2:" if falls else "for i in 1..n step *2:"
            message = f"a loop that goes {'down divides' if falls else 'up multiplies'} its variable"
            raise error(rules.UNEXPECTED, message, span=self._make_span(sign), hint=f"such as `{header}`")

    def _add_reduction(self, meta: Part, loop: s.Loop, parallel: Token | None, reduction: Any) -> s.Loop:
        if reduction is None:
            return loop
        if parallel is None:
            message = "`with ... on` combines the values of parallel iterations"
            head = self._make_header_span(meta)
            hint = Proposal(f"write `parallel {head.text}`", [make_insertion(head, "parallel ")], safe=False)
            raise error(rules.UNEXPECTED, message, span=reduction.span, hint=hint)
        updates: dict[s.Node, Any] = {}
        for store in s.find_nodes(loop.body, s.Assign):
            if store.op == "=" and has_same_structure(store.target, reduction.register):
                update = read_update(store.target, store.value)
                if update is not None:
                    updates[store] = replace(store, op=update[0], value=update[1])
        return replace(loop, reduction=reduction, body=replace_statements(loop.body, updates))

    def _suggest_ranges(self, variable: str, sign: Span, lo: Any, hi: Any) -> Proposal:
        """Suggest both ranges, without and with the last value, that `for i = a..b` may mean."""
        ranges = [f"{format_expression(lo)}..{format_expression(end)}" for end in (hi, self._add_one(hi))]
        left_out, taken = (f"for {variable} in {text}:" for text in ranges)
        hint = f"write `{left_out}` without the last value, or `{taken}` with it"
        end = self._source.lines[sign.line - 1].find(hi.span.text, hi.span.column - 1) + len(hi.span.text)
        whole = Span(self._source, sign.line, sign.column, sign.line, end + 1)
        # Brackets around an end are outside of its span.
        whole = replace(whole, end_column=whole.end_column + whole.text.count("(") - whole.text.count(")"))
        return Proposal(hint, [Edit(whole, f"in {text}") for text in ranges], safe=False)

    def loop_over(self, meta: Part, children: list[Any]) -> s.Loop | surface.LoopOver:
        parallel, names, _, over, reduction, iterations, body = children
        loop = self._make_loop_over(meta, parallel, names, over, body)
        if isinstance(loop, s.Loop):
            loop = self._add_reduction(meta, loop, parallel, reduction)
        elif reduction is not None:
            hint = "write a loop over a range, `parallel for i in 0..n`, and `x[i]` for an element"
            message = "the values of a loop over elements are not combined"
            raise error(rules.UNEXPECTED, message, span=reduction.span, hint=hint)
        return loop if iterations is None else replace(loop, iterations=self._check_name(iterations))

    def _make_loop_over(
        self, meta: Part, parallel: Token | None, names: Any, over: Any, body: Any
    ) -> s.Loop | surface.LoopOver:
        """Build a loop over consecutive integers, a `range`, or the elements of an array."""
        head = self._make_header_span(meta)
        match over:
            case s.Call(function="enumerate", arguments=(array,)) if len(names) == 2:
                return self._make_numbered_loop(meta, parallel, names[0], (names[1],), (array,), body)
            case s.Call(function="zip", arguments=arrays) if len(names) == len(arrays):
                number = s.Name(self._find_free_name("i", "j", "k"), span=head)
                self._made_names.add(number.id)
                return self._make_numbered_loop(meta, parallel, number, names, arrays, body)
            case tuple():
                values = [item.value if isinstance(item, s.Integer) else None for item in over]
                if values[0] is None or values != list(range(values[0], values[0] + len(values))):
                    message = "only consecutive integers can stand in braces"
                    raise error(rules.UNEXPECTED, message, span=head, hint="put the values into an array")
                end = s.Integer(values[0] + len(values), span=over[-1].span)
                return self._make_loop(meta, parallel, names, over[0], end, None, body)
            case s.Call(function="range", arguments=(hi,)):
                return self._make_loop(meta, parallel, names, s.Integer(0, span=hi.span), hi, None, body)
            case s.Call(function="range", arguments=(lo, hi)):
                return self._make_loop(meta, parallel, names, lo, hi, None, body)
            case s.Call(function="range", arguments=(lo, hi, s.Unary(op="-", operand=step))):
                return self._make_falling_loop(meta, parallel, names, lo, hi, step, body)
            case s.Call(function="range", arguments=(lo, hi, step)):
                return self._make_loop(meta, parallel, names, lo, hi, step, body)
            case _:
                pass
        variable, whole = self._read_loop_variable(names), self._make_block_span(meta)
        return surface.LoopOver(variable, over, parallel is not None, body, span=whole)

    def _make_numbered_loop(
        self, meta: Part, parallel: Token | None, number: s.Name, names: Any, arrays: tuple[Any, ...], body: Any
    ) -> s.Loop:
        """Build the loop over positions of arrays for `enumerate` and `zip`; `names` are set to the elements."""
        for array in arrays:
            if not isinstance(array, s.Name):
                hint = "write a loop over a range, `for i in 0..n:`, and elements such as `x[i]`"
                message = "only an array that has a name is numbered"
                raise error(rules.UNEXPECTED, message, span=array.span, hint=hint)
        lengths = [s.Call("len", (self._copy_node(array),), span=array.span) for array in arrays]
        end = lengths[0] if len(lengths) == 1 else s.Call("min", tuple(lengths), span=arrays[0].span)
        # Each statement has a place of its own: that of the name which it sets.
        elements = [
            s.Assign(
                self._copy_node(name),
                "=",
                s.Element(array.id, (s.Name(number.id, span=name.span),), span=array.span),
                False,
                span=name.span,
            )
            for name, array in zip(names, arrays, strict=True)
        ]
        zero = s.Integer(0, span=arrays[0].span)
        return self._make_loop(meta, parallel, (number,), zero, end, None, (*elements, *body))

    def _make_falling_loop(
        self, meta: Part, parallel: Token | None, names: Any, first: Any, end: Any, step: Any, body: Any
    ) -> s.Loop:
        """Build the loop from `first` down to `end`, exclusive."""
        return self._make_closed_falling_loop(meta, parallel, names, first, self._add_one(end), step, body)

    def _make_closed_falling_loop(
        self, meta: Part, parallel: Token | None, names: Any, first: Any, last: Any, step: Any, body: Any
    ) -> s.Loop:
        """Build the loop from `first` down to `last`, inclusive."""
        by = None if isinstance(step, s.Integer) and step.value == 1 else step
        return self._make_loop(meta, parallel, names, first, last, by, body, down=True)

    def _make_loop(
        self, meta: Part, parallel: Token | None, names: Any, lo: Any, hi: Any, step: Any, body: Any, down: bool = False
    ) -> s.Loop:
        name = self._read_loop_variable(names)
        span = self._make_block_span(meta)
        return s.Loop(name, lo, hi, step, down, parallel is not None, body, span=span)

    def _read_loop_variable(self, names: tuple[s.Name, ...]) -> str:
        first, *others = names
        if others:
            hint = "write a loop over a range, `for i in 0..n:`, and elements such as `x[i]` and `y[i]`"
            raise error(rules.UNEXPECTED, "a loop has one variable", span=first.span, hint=hint)
        return first.id if first.id in SHADOWABLE else self._check_word(first.id, first.span)

    def _make_range(self, lo: Any, direction: Token, hi: Any) -> tuple[Any, Any]:
        """Return the ends of a range; the upper end of an inclusive range is raised by 1 to make it exclusive."""
        if direction.type not in ("UPTO_INCLUDING", "TO"):
            return lo, hi
        return lo, self._add_one(hi)

    def repeat_times(self, meta: Part, children: list[Any]) -> s.Loop:
        """Build `repeat n times` as a loop whose variable has a name that is not in the text."""
        times, body = children
        name = self._find_free_name("i", "j", "k")
        span = self._make_block_span(meta)
        return s.Loop(name, s.Integer(0, span=times.span), times, None, False, False, body, span=span)

    def do_while(self, meta: Part, children: list[Any]) -> s.While:
        """Build the loop `do:` with its test `while c` at the end."""
        body, condition = children
        return s.While(condition, None, None, True, body, span=self._make_block_span(meta))

    def do_until(self, meta: Part, children: list[Any]) -> s.While:
        """Build the loop `do:` with its test `until c` at the end."""
        body, condition = children
        return self.do_while(meta, [body, self._negate(condition)])

    @staticmethod
    def _negate(condition: Any) -> Any:
        is_negation = isinstance(condition, s.Unary) and condition.op == "not"
        return condition.operand if is_negation else s.Unary("not", condition, span=condition.span)

    # Several ranges, and ranges that fall
    def nested_loop(self, meta: Part, children: list[Any]) -> s.Loop:
        """Build `for i in 0..n, j in 0..m:` as a loop in a loop."""
        parallel, names, word, lo, direction, hi, *inner, body = children
        leaves = [exit_ for exit_ in _find_exits(body) if exit_.kind == "break"]
        if leaves:
            message = "`break` in a loop with two ranges may leave one loop or both"
            raise error(rules.UNEXPECTED, message, span=leaves[0].span, hint="write one loop in the other")
        for names_, word_, first, kind, last in reversed([(names, word, lo, direction, hi), *inner]):
            body = (self._make_written_loop(meta, parallel, names_, word_, first, kind, last, None, None, body),)
        return body[0]  # type: ignore[no-any-return]

    def inner_range(self, meta: Part, children: list[Any]) -> tuple[Any, ...]:
        return tuple(child for child in children if getattr(child, "type", "") != "_AND_RANGE")

    def reversed_loop(self, meta: Part, children: list[Any]) -> s.Loop:
        parallel, names, _, lo, direction, hi, body = children
        return self._make_reversed_loop(meta, parallel, names, *self._make_range(lo, direction, hi), body)

    def reversed_range(self, meta: Part, children: list[Any]) -> s.Loop:
        parallel, names, _, call, body = children
        match call:
            case s.Call(function="range", arguments=(hi,)):
                return self._make_reversed_loop(meta, parallel, names, s.Integer(0, span=hi.span), hi, body)
            case s.Call(function="range", arguments=(lo, hi)):
                return self._make_reversed_loop(meta, parallel, names, lo, hi, body)
            case _:
                hint = "write `for i in n-1 downto 0:`"
                raise error(rules.UNEXPECTED, "a loop is reversed over a range", span=call.span, hint=hint)

    def _make_reversed_loop(
        self, meta: Part, parallel: Token | None, names: Any, lo: Any, hi: Any, body: Any
    ) -> s.Loop:
        return self._make_loop(meta, parallel, names, self._subtract_one(hi), lo, None, body, down=True)

    def falling_loop(self, meta: Part, children: list[Any]) -> s.Loop:
        """Build `for t in n:-2:0`, which has both ends, as `for t in n downto 0 step 2`."""
        parallel, names, _, first, _, _, step, _, last, body = children
        by = None if isinstance(step, s.Integer) and step.value == 1 else step
        return self._make_loop(meta, parallel, names, first, last, by, body, down=True)

    def inclusive_loop(self, meta: Part, children: list[Any]) -> s.Loop:
        """Build the loop `do i = first, last`, which includes both ends."""
        name, _, first, last, step, body = children
        variable = (s.Name(str(name), span=self._make_span(name)),)
        if isinstance(step, s.Unary):
            by = None if isinstance(step.operand, s.Integer) and step.operand.value == 1 else step.operand
            return self._make_loop(meta, None, variable, first, last, by, body, down=True)
        return self._make_loop(meta, None, variable, first, self._add_one(last), step, body)

    # Loops that count in three parts
    def start_of_loop(self, meta: Part, children: list[Any]) -> tuple[Any, ...]:
        statements: list[Any] = []
        for child in children:
            # `int i = 0` declares the counter for this loop alone.
            for statement in child if isinstance(child, list) else ():
                match statement:
                    case s.Assign(target=s.Name(id=name), value=value, span=span):
                        statement = s.Local(name, s.ScalarType("int", span=span), value, None, span=span)
                    case _:
                        # A declaration has its type already.
                        pass
                statements.append(statement)
            statements += [] if isinstance(child, list) else [child]
        return tuple(statements)

    def step_of_loop(self, meta: Part, children: list[Any]) -> tuple[Any, ...]:
        return tuple(children)

    def counted_loop(self, meta: Part, children: list[Any]) -> Any:
        """Build `for (i = a; i < b; i++)`: a loop over a range if the loop counts, else a `while`."""
        parallel, starts, condition, steps, body = children
        counting = _Counting(starts, condition, steps)
        loop = self._make_counted_loop(meta, parallel, counting, body)
        if loop is not None:
            if not isinstance(starts[0], s.Local):
                self._counted[loop] = counting
            return loop
        if parallel is not None:
            hint = "write `parallel for i in 0..n:`"
            message = "a parallel loop has a range that is known before it begins"
            raise error(rules.UNEXPECTED, message, span=self._make_header_span(meta), hint=hint)
        return self._make_counting_while(counting, body, self._make_block_span(meta))

    def _make_counted_loop(self, meta: Part, parallel: Token | None, counting: _Counting, body: Any) -> s.Loop | None:
        match counting:
            case _Counting(
                starts=(
                    s.Assign(target=s.Name(id=variable), op="=", value=first) | s.Local(name=variable, value=first),
                ),
                condition=s.Binary(op="<" | "<=" | ">" | ">=" as comparison, left=s.Name(id=tested), right=end),
                steps=(step,),
            ) if tested == variable and first is not None and (stride := _read_stride(step, variable)):
                pass
            case _:
                return None
        direction, by = stride
        changed = _find_changed(body)
        read = s.find_names((end, by)) | {element.array for element in s.find_nodes((end, by), s.Element)}
        if variable in changed or read & changed or variable in read or any(s.find_nodes(end, s.Call)):
            return None
        rises, scales = direction in ("+=", "*="), direction in ("*=", "/=")
        if rises != (comparison in ("<", "<=")):
            return None
        hi = end if comparison in ("<", ">=") else self._add_one(end)
        least = first if rises else hi
        if scales and not (isinstance(least, s.Integer) and least.value > 0):
            return None
        by = None if isinstance(by, s.Integer) and by.value == 1 else by
        names = (s.Name(variable, span=counting.starts[0].span),)
        loop = self._make_loop(meta, parallel, names, first, hi, by, body, down=not rises)
        return replace(loop, scales=True) if scales else loop

    def _make_counting_while(self, counting: _Counting, body: tuple[Any, ...], span: Span) -> list[Any]:
        """Build `for (start; condition; step)` as a `while` with the step at its end and before each `continue`."""
        steps = counting.steps
        whole = self._step_before_continue(body, steps)
        if not (whole and isinstance(whole[-1], s.Exit | s.Return)):
            whole = (*whole, *steps)
        return [*counting.starts, s.While(counting.condition, None, None, False, whole, span=span)]

    def _step_before_continue(self, body: tuple[Any, ...], steps: tuple[Any, ...]) -> tuple[Any, ...]:
        def rebuild_statement(statement: Any) -> Iterator[Any]:
            match statement:
                case s.Exit(kind="continue"):
                    yield from self._copy_node(steps)
                    yield statement
                case s.If(branches=branches):
                    parts = (
                        replace(branch, body=self._step_before_continue(branch.body, steps)) for branch in branches
                    )
                    yield replace(statement, branches=tuple(parts))
                case _:
                    # In an inner loop a `continue` is of that loop.
                    yield statement

        return tuple(chain.from_iterable(map(rebuild_statement, body)))

    def _resolve_counted_loops(self, body: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a body in which a loop `for (i = a; i < b; i++)` is a `while` if i is read outside of the loop."""
        if not self._counted:
            return body
        changed: dict[s.Node, Any] = {}
        for loop, counting in self._counted.items():
            if loop.variable in set(_iterate_outer_names(body, loop.variable)):
                changed[loop] = self._make_counting_while(counting, loop.body, loop.span)
        self._counted.clear()
        return replace_statements(body, changed) if changed else body


def _read_stride(step: Any, variable: str) -> tuple[str, Any] | None:
    """Return `+=`, `-=`, `*=` or `/=` and the stride or factor by which a counter moves; None if it moves otherwise."""
    match step:
        case s.Assign(target=s.Name(id=name), op="*=" | "/=" as op, value=factor) if name == variable:
            return (op, factor) if isinstance(factor, s.Integer) and factor.value > 1 else None
        case s.Assign(
            target=s.Name(id=name), op="=", value=s.Binary(op="*" | "//" as op, left=s.Name(id=same), right=factor)
        ) if name == same == variable:
            number = _read_number(factor)
            return None if number < 2 else (f"{op[0]}=", s.Integer(number, span=factor.span))
        case s.Assign(target=s.Name(id=name), op="+=" | "-=" as op, value=stride) if name == variable:
            return op, stride
        case s.Assign(
            target=s.Name(id=name), op="=", value=s.Binary(op="+" | "-" as op, left=s.Name(id=same), right=stride)
        ) if name == same == variable:
            return f"{op}=", stride
        case _:
            # Anything else does not count by equal steps.
            return None


def _read_number(expr: Any) -> int:
    """Return the number that 2 or 2^3 is; 0 for other expressions."""
    match expr:
        case s.Integer(value=value):
            return value
        case s.Binary(op="^", left=s.Integer(value=base), right=s.Integer(value=power)) if power < MAX_SHIFT:
            return int(base**power)
        case _:
            return 0


def _find_changed(body: tuple[Any, ...]) -> frozenset[str]:
    """Return the names that statements may change."""
    targets: list[Any] = [node.target for node in s.find_nodes(body, s.Assign)]
    targets += chain.from_iterable(node.targets for node in s.find_nodes(body, surface.Multiple))
    arguments = tuple(call.arguments for call in s.find_nodes(body, s.Call))
    passed = s.find_names(arguments) | {element.array for element in s.find_nodes(arguments, s.Element)}
    return passed | {str(getattr(target, "array", None) or getattr(target, "id", "")) for target in targets}


def _find_exits(body: Sequence[Any]) -> Iterator[s.Exit]:
    """Yield the exits in statements, but not those in inner loops."""
    for statement in body:
        if isinstance(statement, s.Exit):
            yield statement
        elif isinstance(statement, s.If):
            yield from chain.from_iterable(_find_exits(branch.body) for branch in statement.branches)


def _iterate_outer_names(statements: Any, variable: str) -> Iterator[str]:
    """Yield the names in statements, except those in loops whose variable is `variable`."""
    for statement in statements:
        if isinstance(statement, s.If):
            for branch in statement.branches:
                yield from s.find_names((branch.condition,))
                yield from _iterate_outer_names(branch.body, variable)
        elif hasattr(statement, "body"):
            if getattr(statement, "variable", None) != variable:
                yield from s.find_names(
                    tuple(getattr(statement, name, None) for name in ("lo", "hi", "step", "over", "condition"))
                )
                yield from _iterate_outer_names(statement.body, variable)
        else:
            yield from s.find_names((statement,))
