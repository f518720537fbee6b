"""Canonical text of items and statements has one `LogicalLine` for each header, clause and simple statement.

Each knows the line of the source that it comes from (physical lines in brackets are joined to one); that lets the
printer put every comment back in its place. A block on the line of its header, and a declaration that the source leaves
out, have the line of the header, or of the statement, that they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from archline.expr.text import (
    format_bound,
    format_expression,
    format_facts,
    format_list,
    format_settings,
    format_summand,
)
from archline.language import surface
from archline.language import syntax as s
from archline.records import record

_Clause = TypeVar("_Clause", s.Fact, s.Expr)


@record
class Bracketed:
    """A list in brackets in a header, which may be broken between entries: the text before it, entries, positions."""

    opening: str
    entries: tuple[str, ...]
    positions: tuple[tuple[int, int], ...]


@record
class LogicalLine:
    """One logical line: its depth, its text, and its relation to the lines around it.

    Headers of algorithms and externs have `groups`; their text follows the last group. `opens` marks a block header,
    `continues` an `elif` or `else`. `key` is the kind of item that the line starts. `line` is its number in the source,
    None for the line of code after the last one.
    """

    level: int
    text: str
    line: int | None
    groups: tuple[Bracketed, ...] = ()
    opens: bool = False
    continues: bool = False
    key: str | None = None


def iterate_logical_lines(item: s.Item | surface.SurfaceItem) -> Iterator[LogicalLine]:
    """Yield the logical lines of an item, in order."""
    match item:
        case s.Use(path=path):
            yield LogicalLine(0, f"use {'.'.join(path)}", item.span.line, key="use")
        case s.Extern():
            yield _format_extern(item)
        case s.Claim():
            yield LogicalLine(0, format_claim(item), item.span.line, key="claim")
        case surface.Abbreviation(name=name, parameters=parameters, value=value):
            arguments = f"({format_list(parameters)})" if parameters else ""
            text = f"let {name}{arguments} = {format_expression(value)}"
            yield LogicalLine(0, text, item.span.line, key="let")
        case surface.RecordDefinition():
            yield from _iterate_record_lines(item)
        case s.Algorithm():
            yield _format_header(item)
            if item.doc is not None:
                yield LogicalLine(1, f'"{item.doc}"', None)
            yield from _iterate_contract_lines(item)
            yield from _iterate_block_lines(item.body)


def _iterate_record_lines(item: surface.RecordDefinition) -> Iterator[LogicalLine]:
    sizes = f"[{format_list(item.sizes)}]" if item.sizes else ""
    yield LogicalLine(0, f"type {item.name}{sizes}:", item.span.line, opens=True, key="algorithm")
    if item.doc is not None:
        yield LogicalLine(1, f'"{item.doc}"', None)
    for part in item.fields:
        yield LogicalLine(1, f"{part.name}: {format_type(part.type)}", part.span.line)


def _format_extern(item: s.Extern) -> LogicalLine:
    result = f" -> {item.result}" if item.result is not None else ""
    group = _make_group(f"extern {item.name}(", item.parameters)
    return LogicalLine(0, f"){result} costs {_format_amounts(item.costs)}", item.span.line, (group,), key="extern")


def _format_header(item: s.Algorithm) -> LogicalLine:
    result = f" -> {item.result}" if item.result is not None else ""
    groups = [_make_group(f"algorithm {item.name}(", item.parameters)]
    if item.grid:
        groups.append(_make_group(f"){result} on grid(", item.grid))
        result = ""
    return LogicalLine(0, f"){result}:", item.span.line, tuple(groups), opens=True, key="algorithm")


def _make_group(opening: str, entries: Sequence[s.Parameter | s.Axis]) -> Bracketed:
    texts = tuple(
        format_parameter(entry) if isinstance(entry, s.Parameter) else _format_axis(entry) for entry in entries
    )
    return Bracketed(opening, texts, tuple((entry.span.line, entry.span.column) for entry in entries))


def format_parameter(parameter: s.Parameter) -> str:
    """Format a parameter as declared."""
    mode = f"{parameter.mode} " if parameter.mode != "in" else ""
    local = "local " if parameter.local else ""
    return f"{parameter.name}: {mode}{local}{format_type(parameter.type)}"


def _format_axis(axis: s.Axis) -> str:
    within = f" within {axis.within}" if axis.within is not None else ""
    return f"{axis.name}: {format_expression(axis.extent)}{within}"


def _iterate_contract_lines(item: s.Algorithm) -> Iterator[LogicalLine]:
    """Yield the contract's lines in the order of the source, which the tree keeps only in the spans."""
    lines: list[tuple[tuple[int, int], str]] = []
    lines.extend(
        (_get_start(facts[0]), f"where {format_facts(facts)}") for facts in _split_clauses(item.where, "where")
    )
    lines.extend((_get_start(clause), _format_ensures(clause)) for clause in item.ensures)
    lines.extend(
        (_get_start(exprs[0]), f"decreases {format_list(exprs)}")
        for exprs in _split_clauses(item.decreases, "decreases")
    )
    for (line, _), text in sorted(lines):
        yield LogicalLine(1, text, line)


def _get_start(node: s.Node) -> tuple[int, int]:
    return node.span.line, node.span.column


def _split_clauses(nodes: Sequence[_Clause], keyword: str) -> list[list[_Clause]]:
    """Group the nodes by the clause they came from: a new clause starts if its keyword is between two nodes."""
    clauses: list[list[_Clause]] = []
    for node in nodes:
        if clauses and not _has_keyword_between(clauses[-1][-1], node, keyword):
            clauses[-1].append(node)
        else:
            clauses.append([node])
    return clauses


def _has_keyword_between(before: s.Fact, after: s.Fact, keyword: str) -> bool:
    if before.span.end_line == after.span.line:
        return False
    lines = before.span.source.lines[before.span.end_line - 1 : after.span.line]
    lines[0] = lines[0][before.span.end_column - 1 :]
    lines[-1] = lines[-1][: after.span.column - 1]
    return any(line.split("#")[0].split("(")[0].strip() == keyword for line in lines)


def _format_ensures(clause: s.Ensures) -> str:
    when = f" when {format_facts(clause.when)}" if clause.when else ""
    if clause.relation[0].isalpha():
        return f"ensures {clause.subject} is {clause.relation}({format_expression(clause.bound)}){when}"
    return f"ensures {clause.subject} {clause.relation} {format_expression(clause.bound)}{when}"


def format_claim(claim: s.Claim) -> str:
    """Return a claim's canonical text."""
    title = f'"{claim.title}": ' if claim.title is not None else ""
    if claim.relation[0].isalpha():
        right = f"is {claim.relation}({format_expression(claim.right)})"
    else:
        right = f"{claim.relation} {format_summand(claim.right)}"
    parts = [f"claim {title}{format_summand(claim.left)} {right}"]
    if claim.where:
        parts.append(f"where {format_facts(claim.where)}")
    if claim.on is not None:
        parts.append(f'on "{claim.on.machine}"' + (f" with {claim.on.model}" if claim.on.model else ""))
    if claim.at:
        parts.append(f"at {', '.join(format_settings(claim.at))}")
    return " ".join(parts)


def _format_amounts(amounts: Sequence[tuple[s.Expr, str]]) -> str:
    return ", ".join(f"{format_expression(amount)} {metric}" for amount, metric in amounts)


def _iterate_block_lines(body: Sequence[s.Stmt]) -> Iterator[LogicalLine]:
    # The stack is explicit: blocks may nest deeper than Python's recursion.
    stack: list[tuple[Any, int, bool]] = [(statement, 1, False) for statement in reversed(body)]
    while stack:
        node, level, later = stack.pop()
        if isinstance(node, s.If):
            arms = [(branch, level, position > 0) for position, branch in enumerate(node.branches)]
            stack.extend(reversed(arms))
            continue
        if isinstance(node, str):
            yield LogicalLine(level, node, None)
            continue
        inner = () if isinstance(node, s.Simple) else node.body
        text = _format_branch(node, later) if isinstance(node, s.Branch) else _format_statement(node)
        yield LogicalLine(level, text, node.span.line, opens=bool(inner), continues=later)
        if isinstance(node, s.While) and node.tests_last:
            match node.condition:
                case s.Unary(op="not", operand=until):
                    pass
                case condition:
                    until = s.Unary("not", condition, span=condition.span)
            stack.append((f"until {format_expression(until)}", level, False))
        stack.extend((statement, level + 1, False) for statement in reversed(inner))


def _format_branch(branch: s.Branch, later: bool) -> str:
    if branch.condition is None:
        return "else:"
    return f"{'elif' if later else 'if'} {format_expression(branch.condition)}:"


def _format_statement(statement: s.Stmt | surface.SurfaceStatement) -> str:
    match statement:
        case surface.Multiple(targets=targets, values=values):
            return f"{format_list(targets)} = {format_list(values)}"
        case surface.LoopOver(variable=variable, over=over, parallel=parallel, iterations=iterations):
            name = f" iterations {iterations}" if iterations is not None else ""
            return f"{'parallel ' if parallel else ''}for {variable} in {format_expression(over)}{name}:"
        case s.Let(name=name, value=value):
            return f"let {name} = {format_expression(value)}"
        case s.Local(name=name, type=type_, value=value, when=when):
            start = f" = {format_expression(value)}" if value is not None else ""
            return f"local {name}: {format_type(type_)}{start}{_format_condition(when)}"
        case s.Assign(target=target, op=op, value=value, atomic=atomic):
            text = f"{format_expression(target)} {op} {format_expression(value)}"
            return f"atomic {text}" if atomic else text
        case s.Invoke(call=call, spawned=spawned, along=along):
            text = f"spawn {format_expression(call)}" if spawned else format_expression(call)
            return f"{text} along {format_list(along)}" if along else text
        case s.Return(value=value):
            return f"return {format_expression(value)}"
        case s.Assume(facts=facts):
            return f"assume {format_facts(facts)}"
        case s.Costs(amounts=amounts):
            return f"costs {_format_amounts(amounts)}"
        case s.Transfer(direction=direction, target=target, value=value, when=when):
            return f"{direction} {format_expression(target)} = {format_expression(value)}{_format_condition(when)}"
        case s.Communicate():
            return _format_communication(statement)
        case s.Loop():
            return _format_loop(statement)
        case s.While():
            return _format_while(statement)
        case s.Split(axis=axis, parts=parts, group=group):
            return f"split {axis} by {format_expression(parts)} as {group}:"
        case s.Exit(kind=kind):
            return kind
        case s.Sync():
            return "sync"
        case s.Pass():
            return "pass"
        case s.If():
            raise AssertionError("each branch of an `if` has a header of its own")


def _format_condition(condition: s.Expr | None) -> str:
    return f" when {format_expression(condition)}" if condition is not None else ""


def _format_loop(loop: s.Loop) -> str:
    head = f"{'parallel ' if loop.parallel else ''}for {loop.variable} in"
    between = " downto " if loop.down else ".."
    step = f" {format_step(loop)}" if loop.step is not None else ""
    combined = f" with {loop.reduction.op} on {loop.reduction.register.id}" if loop.reduction is not None else ""
    name = f" iterations {loop.iterations}" if loop.iterations is not None else ""
    return f"{head} {format_bound(loop.lo)}{between}{format_bound(loop.hi)}{step}{combined}{name}:"


def format_step(loop: s.Loop) -> str:
    """Return the text of the step of a loop that has one."""
    assert loop.step is not None
    sign = "" if not loop.scales else "/" if loop.down else "*"
    return f"step {sign}{format_bound(loop.step)}"


def _format_while(loop: s.While) -> str:
    name = f" iterations {loop.iterations}" if loop.iterations is not None else ""
    if loop.tests_last:
        return f"repeat{name}:"
    limit = f" {format_limit(loop)}" if loop.limit is not None or loop.total is not None else ""
    return f"while {format_expression(loop.condition)}{limit}{name}:"


def format_limit(loop: s.While) -> str:
    """Return the text of the bound of a loop that has one."""
    bound = loop.limit or loop.total
    assert bound is not None
    return f"at most {format_expression(bound)} times{' in total' if loop.limit is None else ''}"


def _format_communication(statement: s.Communicate) -> str:
    parts = [statement.operation]
    if statement.buffer is not None:
        parts.append(format_expression(statement.buffer))
    for clause in statement.clauses:
        values = format_list(clause.values)
        # Coordinates of a processor are in brackets.
        coordinates = statement.operation in ("exchange", "send", "receive")
        bracketed = clause.keyword == "to" or (clause.keyword == "from" and coordinates)
        text = f"{clause.keyword} ({values})" if bracketed else f"{clause.keyword} {values}"
        parts.append(text + _format_condition(clause.when))
    return " ".join(parts)


def format_type(type_: s.Type | surface.RecordType) -> str:
    """Return a type's canonical text, without the layout if it is the default."""
    match type_:
        case surface.RecordType(name=name, sizes=sizes):
            return f"{name}[{format_list(sizes)}]" if sizes else name
        case s.SizeType():
            return "size"
        case s.IndexType():
            return "index"
        case s.ScalarType(element=element):
            return element
        case s.OperatorType():
            return "operator"
        case s.ArrayType(element=element, shape=shape, layout=layout):
            return f"{element}[{format_list(shape)}]" + (f" {layout}" if layout != "rowmajor" else "")
        case s.OffsetsType(count=count, into=into, longest=longest):
            tail = f" longest {format_expression(longest)}" if longest is not None else ""
            return f"offsets[{format_expression(count)}] into {format_expression(into)}{tail}"
        case s.IndexArrayType(shape=shape, below=below):
            return f"index[{format_list(shape)}] below {format_expression(below)}"
