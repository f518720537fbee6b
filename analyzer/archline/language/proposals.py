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
from archline.records import replace
from archline.resources import find_resource


def propose_operator(left: s.Node, written: str, text: str, words: str = "write `{}`") -> str:
    """Propose another operator after an operand; words alone if it is not `written` there."""
    line, start = left.span.source.lines[left.span.end_line - 1 : left.span.end_line], left.span.end_column - 1
    code = mask_strings_and_comment(line[0]) if line else ""
    # Brackets around operands are outside of their spans.
    match = re.compile(rf"[ )]*(?P<at>{re.escape(written)})(?![/=])").match(code, start)
    if match is None:
        return words.replace("{}", text)
    number = left.span.end_line
    span = Span(left.span.source, number, match.start("at") + 1, number, match.end("at") + 1)
    return propose_text(span, text, words)


def propose_expression(expr: s.Expr, text: str, words: str = "write `{}`") -> str:
    """Propose a text in place of an expression; words alone if it is cut, or the expression is not written there."""
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
    """Propose another mode of a parameter; in the words `{}` is its new text."""
    span, text = parameter.span, parameter.span.text
    match = re.match(r"(\w+\s*:\s*)((?:inout|out|in)\s+)?(.*)", text)
    if match is None:
        return words.replace("{}", f"{parameter.name}: {mode} ...")
    start, end = span.column + match.end(1), span.column + match.start(3)
    edit = Edit(Span(span.source, span.line, start, span.line, end), f"{mode} ")
    return Proposal(words.replace("{}", f"{match[1]}{mode} {match[3]}"), (edit,), safe)


def propose_extents(parameter: s.Parameter | s.Local, axes: Iterable[int], safe: bool) -> Proposal | None:
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


def propose_serial_loop(loop: s.Loop, words: str) -> str:
    """Propose to make a parallel loop sequential; words alone if it is not written as a loop."""
    match = re.match(r"(parallel\s+for|parfor)\b", loop.span.text)
    if match is None:
        return words.replace("{}", f"for {loop.variable} in ...")
    span = loop.span
    edit = Edit(Span(span.source, span.line, span.column, span.line, span.column + match.end()), "for")
    return Proposal(words.replace("{}", f"for{span.text[match.end() :]}".rstrip()), (edit,))


def propose_definition(program: s.Program, text: str, words: str, safe: bool = True) -> Proposal:
    """Propose a line before a program's definitions; in the words `{}` is the line."""
    first = program.items[0] if program.items else None
    line = 1 if first is None else first.span.line
    end = "\n" if isinstance(first, s.Use | s.Extern) else "\n\n"
    return propose_text(Span(program.source, line, 1, line, 1), text + end, words, safe)


def suggest_division(expr: s.Node) -> str | None:
    """Suggest divisions that have a value where `/` of integers has none; None for another expression."""
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
            if not any(node is quotient for node in s.nodes(statement.value)):
                continue
            name = getattr(statement.target, "id", "")
            for local in s.find_nodes(algorithm.body, s.Local):
                start = local.value
                if local.name == name and isinstance(start, s.Integer) and not local.span.text.startswith("local"):
                    words = f"a sum of quotients is real if it begins with one: `{name} = {{}}`"
                    return propose_text(start.span, f"{start.value}.0", words)
    return None


def propose_starts(loops: Sequence[s.Loop], words: str) -> Proposal:
    """Propose to let loops begin at 0; in the words `{}` is the header of the first."""
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


def share_edits(diagnostics: Sequence[Diagnostic], rule: Rule) -> list[Diagnostic]:
    """Return the diagnostics with the edits of a rule joined, which mend all such mistakes of a file together."""
    alike = [diagnostic for diagnostic in diagnostics if diagnostic.rule is rule and diagnostic.edits]
    edits = tuple(dict.fromkeys(edit for diagnostic in alike for edit in diagnostic.edits))
    return [
        replace(diagnostic, hint=Proposal(str(diagnostic.hint), edits, diagnostic.safe))
        if diagnostic in alike
        else diagnostic
        for diagnostic in diagnostics
    ]
