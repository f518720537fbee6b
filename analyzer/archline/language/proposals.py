"""Proposals of edits to programs that were parsed are made here, from the nodes that they change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from archline.expr.text import format_expression
from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.diagnostics import Diagnostic, Edit, Proposal, Rule, propose_text
from archline.language.rearranging import mask_strings_and_comment
from archline.language.spellings import read_update
from archline.records import replace
from archline.resources import find_resource


def propose_operator(left: s.Node, written: str, text: str, words: str = "write `{}`", safe: bool = True) -> str:
    """Propose `text` for the operator `written` after an operand, without an edit if it is not in the source there."""
    span = _find_operator(left, written)
    return words.replace("{}", text) if span is None else propose_text(span, text, words, safe)


def _find_operator(left: s.Node, written: str) -> Span | None:
    """Return the span of the operator after an operand; None if it is not `written` there."""
    number = left.span.end_line
    line = left.span.source.lines[number - 1 : number]
    code = mask_strings_and_comment(line[0]) if line else ""
    # Brackets around operands are outside of their spans.
    match = re.compile(rf"[ )]*(?P<at>{re.escape(written)})(?![/=])").match(code, left.span.end_column - 1)
    return match and Span(left.span.source, number, match.start("at") + 1, number, match.end("at") + 1)


def propose_quotient(expr: s.Binary) -> str:
    """Propose to divide reals, or else to round down by `//`, without an edit if the source has no `/`."""
    left, at = expr.left.span, _find_operator(expr.left, "/")
    if isinstance(expr.left, s.Binary) and expr.left.op == "/":
        # The dividend is a real once the quotient in it is.
        return propose_quotient(expr.left)
    if at is None or left.line != left.end_line:
        return "write `//`, which rounds down, or divide by a real"
    dividend = f"{left.text}.0" if isinstance(expr.left, s.Integer) else f"real_of({left.text})"
    behind = left.source.lines[left.line - 1][left.end_column - 1 : at.end_column - 1]
    whole = Span(left.source, left.line, left.column, left.line, at.end_column)
    words = f"for a real write `{dividend}/{format_expression(expr.right)}`, to round down `//`"
    return Proposal(words, (Edit(whole, f"{dividend}{behind}"), Edit(at, "//")), safe=False)


def propose_expression(expr: s.Expr, text: str, words: str = "write `{}`") -> str:
    """Propose a text in place of an expression, without an edit if it is cut or the expression is not in the source."""
    written, meant = (re.sub(r"[\s()]", "", part) for part in (expr.span.text, format_expression(expr)))
    plain = written == meant and not text.endswith("...")
    return propose_text(expr.span, text, words) if plain else words.replace("{}", text)


def join_hints(hints: Iterable[str]) -> str:
    """Join hints by `and`, with the edits of all if each has some."""
    parts = list(hints)
    words, edits = " and ".join(parts), [edit for part in parts for edit in getattr(part, "edits", ())]
    complete = all(isinstance(part, Proposal) for part in parts)
    return Proposal(words, dict.fromkeys(edits)) if complete and edits else words


def propose_mode(parameter: s.Parameter, mode: str, words: str, safe: bool = True) -> str:
    """Propose to declare a parameter with another mode; `{}` in `words` stands for its new text."""
    span, text = parameter.span, parameter.span.text
    match = re.match(r"(\w+\s*:\s*)((?:inout|out|in)\s+)?(.*)", text)
    if match is None:
        return words.replace("{}", f"{parameter.name}: {mode} ...")
    start, end = span.column + match.end(1), span.column + match.start(3)
    edit = Edit(Span(span.source, span.line, start, span.line, end), f"{mode} ")
    return Proposal(words.replace("{}", f"{match[1]}{mode} {match[3]}"), (edit,), safe)


def propose_larger_extents(parameter: s.Parameter | s.Local, axes: Iterable[int], safe: bool) -> Proposal | None:
    """Propose to declare an array with one more element along axes; None if its type is not written."""
    type_ = parameter.type
    if not isinstance(type_, s.ArrayType) or not re.match(r"\w+\s*\[", type_.span.text):
        return None
    extents = [
        _add_one(extent) if axis in axes else format_expression(extent) for axis, extent in enumerate(type_.shape)
    ]
    text = re.sub(r"^(\w+).*", rf"\1[{', '.join(extents)}]", type_.span.text)
    mode = f"{parameter.mode} " if isinstance(parameter, s.Parameter) and parameter.mode != "in" else ""
    words = f"arrays begin at 0: declare `{parameter.name}: {mode}{{}}`"
    return propose_text(type_.span, text, words, safe)


def _add_one(extent: s.Expr) -> str:
    match extent:
        case s.Binary(op="-", left=left, right=s.Integer(value=1)):
            return format_expression(left)
        case s.Integer(value=value):
            return str(value + 1)
        case _:
            return f"{format_expression(extent)} + 1"


def propose_reduction(algorithm: s.Algorithm, loop: s.Loop, name: str) -> Proposal | None:
    """Propose `with + on s` for a parallel loop that only updates a register by +; None if it does something else."""
    updates = [node for node in s.find_nodes(loop.body, s.Assign) if _is_name(node.target, name)]
    found = [read_update(node.target, node.value) if node.op == "=" else (node.op, node.value) for node in updates]
    operators = {update[0] if update is not None else "" for update in found}
    updated = sum(_is_name(node, name) for node in s.iterate_nodes(loop.body))
    written = sum(1 + (node.op == "=") for node in updates)
    types = {
        getattr(local.type, "element", "") for local in s.find_nodes(algorithm.body, s.Local) if local.name == name
    }
    if len(operators) != 1 or updated != written or loop.reduction is not None or not types <= {"int", "real"}:
        return None
    (operator,) = operators
    last = (loop.hi if loop.step is None else loop.step).span
    code = mask_strings_and_comment(last.source.lines[last.end_line - 1])
    # The clause stands before the colon, behind brackets as those of `range(n)`.
    behind = re.compile(r"[\s)]*?(?=\s*(?::|$))").match(code, last.end_column - 1)
    if operator not in ("+=", "*=", "min=", "max=") or behind is None or last.line != loop.span.line:
        return None
    clause = f" with {operator[:-1]} on {name}"
    at = Span(last.source, last.end_line, behind.end() + 1, last.end_line, behind.end() + 1)
    header = f"{code[loop.span.column - 1 : behind.end()]}{clause}:"
    return Proposal(f"the iterations combine their values in `{name}`: write `{header}`", (Edit(at, clause),))


def propose_own_register(algorithm: s.Algorithm, loop: s.Loop, name: str) -> Proposal | None:
    """Propose to declare a register inside a parallel loop; None if it is used outside or not set first in it."""
    first = next((statement for statement in loop.body if name in s.find_names(statement)), None)
    declared = [local for local in s.find_nodes(algorithm.body, s.Local) if local.name == name]
    inside = sum(_is_name(node, name) for node in s.iterate_nodes(loop.body))
    everywhere = sum(_is_name(node, name) for node in s.iterate_nodes(algorithm.body))
    if len(declared) != 1 or inside != everywhere or not isinstance(first, s.Assign) or first.op != "=":
        return None
    (local,) = declared
    line, target = local.span.line, first.target
    # What stands before the declaration, or behind it, would go with its line.
    alone = local.span.source.lines[line - 1][: local.span.column - 1].strip() == ""
    calls = local.value is not None and any(s.find_nodes(local.value, s.Call))
    if not _is_name(target, name) or name in s.find_names(first.value) or not isinstance(local.type, s.ScalarType):
        return None
    text = f"local {name}: {local.type.element}"
    words = f"each iteration can have a `{name}` of its own: write `{text} = ...` in the loop instead of line {line}"
    if not alone or calls or ";" in local.span.source.lines[line - 1]:
        return Proposal(words, ())
    removed = Edit(Span(local.span.source, line, 1, line + 1, 1), "")
    return Proposal(words, (removed, Edit(target.span, text)))


def _is_name(node: s.Node, name: str) -> bool:
    return isinstance(node, s.Name) and node.id == name


def propose_serial_loop(loop: s.Loop, words: str) -> str:
    """Propose to make a parallel loop sequential, without an edit if the author did not write it as a loop."""
    match = re.match(r"(parallel\s+for|parfor)\b", loop.span.text)
    if match is None:
        return words.replace("{}", f"for {loop.variable} in ...")
    span = loop.span
    edit = Edit(Span(span.source, span.line, span.column, span.line, span.column + match.end()), "for")
    return Proposal(words.replace("{}", f"for{span.text[match.end() :]}".rstrip()), (edit,), safe=False)


def propose_definition(program: s.Program, text: str, words: str, safe: bool = True) -> Proposal:
    """Propose to add a line before a program's definitions; `{}` in `words` stands for the line."""
    first = program.items[0] if program.items else None
    line = 1 if first is None else first.span.line
    end = "\n" if isinstance(first, s.Use | s.Extern) else "\n\n"
    return propose_text(Span(program.source, line, 1, line, 1), text + end, words, safe)


def suggest_division(expr: s.Node) -> str | None:
    """Suggest to round, or to divide as reals, where `/` of integers has no integer result; else None."""
    if not isinstance(expr, s.Binary) or expr.op != "/":
        return None
    rounded = format_expression(replace(expr, op="//"))
    if isinstance(expr.left, s.Integer):
        real = format_expression(replace(expr, left=s.Real(f"{expr.left.value}.0", span=expr.left.span)))
        return f"`{rounded}` rounds down, `{real}` is real"
    return f"`{rounded}` rounds down, `ceil({format_expression(expr)})` rounds up"


def propose_real_start(algorithms: Iterable[s.Algorithm], quotient: s.Node) -> str | None:
    """Propose `s = 0.0` for the register of integers that a quotient of sizes is added to; None if there is none."""
    for algorithm in algorithms:
        for statement in s.find_nodes(algorithm.body, s.Assign):
            if not any(node is quotient for node in s.iterate_nodes(statement.value)):
                continue
            name = getattr(statement.target, "id", "")
            for local in s.find_nodes(algorithm.body, s.Local):
                start = local.value
                if local.name == name and isinstance(start, s.Integer) and not local.span.text.startswith("local"):
                    words = f"a sum of quotients is real if it begins with one: `{name} = {{}}`"
                    return propose_text(start.span, f"{start.value}.0", words)
    return None


def propose_zero_starts(loops: Sequence[s.Loop], words: str) -> Proposal:
    """Propose to let loops begin at 0; `{}` in `words` stands for the new header of the first loop."""
    edits = [Edit(loop.lo.span, "0") for loop in loops]
    head, start = loops[0].span, loops[0].lo.span
    text = f"{head.text[: start.column - head.column]}0{head.text[start.end_column - head.column :]}"
    return Proposal(words.replace("{}", text.rstrip()), edits, safe=False)


@cache
def _index_library() -> dict[str, list[str]]:
    """Return the modules of the standard library that define an algorithm, by its name."""
    root = find_resource("stdlib")
    index: dict[str, list[str]] = {}
    for file in sorted(root.rglob("*.algo")) if root.is_dir() else ():
        module = ".".join(file.relative_to(root).with_suffix("").parts)
        for name in re.findall(r"^algorithm +(\w+)", file.read_text(encoding="utf-8"), re.MULTILINE):
            index.setdefault(name, []).append(module)
    return index


def find_library_module(name: str) -> str | None:
    """Return the module of the standard library that alone defines an algorithm; None if none or several do."""
    modules = _index_library().get(name, [])
    return modules[0] if len(modules) == 1 else None


def join_safe_edits(diagnostics: Sequence[Diagnostic], rule: Rule) -> list[Diagnostic]:
    """Return the diagnostics; those of `rule` with safe edits get the edits of all, to be applied together."""
    safe = (diagnostic for diagnostic in diagnostics if diagnostic.safe and diagnostic.edits)
    alike = [diagnostic for diagnostic in safe if diagnostic.rule is rule]
    edits = tuple(dict.fromkeys(edit for diagnostic in alike for edit in diagnostic.edits))
    return [
        replace(diagnostic, hint=Proposal(str(diagnostic.hint), edits, diagnostic.safe))
        if diagnostic in alike
        else diagnostic
        for diagnostic in diagnostics
    ]
