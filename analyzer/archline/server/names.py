"""The names of an algorithm are found here: their declarations and types, and the places where they occur."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archline.expr.text import format_expression
from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.format_statements import format_parameter, format_type
from archline.language.metrics import METRICS
from archline.language.model import Module
from archline.language.rearranging import mask_strings_and_comment
from archline.language.words import CONTEXTUAL_WORDS, INTRINSICS, RESERVED
from archline.records import record
from archline.server.documents import Analysis

WORD = re.compile(r"[A-Za-z_]\w*")


@record
class Declaration:
    """The declaration of a name: its kind, such as `size`, its text, and its place."""

    kind: str
    text: str
    span: Span


def list_declarations(module: Module, algorithm: s.Algorithm) -> dict[str, Declaration]:
    """Return the declarations of the names of an algorithm, by name; of several of one name the first."""
    declarations: dict[str, Declaration] = {}
    for name, declaration in _iterate_declarations(module, algorithm):
        declarations.setdefault(name, declaration)
    return declarations


def _iterate_declarations(module: Module, algorithm: s.Algorithm) -> Iterator[tuple[str, Declaration]]:
    for parameter in algorithm.header:
        yield parameter.name, Declaration("parameter", format_parameter(parameter), parameter.span)
    signature = module.signatures[algorithm]
    for binding in signature.sizes:
        text = f"{binding.name}: size, at least {signature.at_least.get(binding.name, 1)}"
        yield binding.name, Declaration("size", text, signature.parameters[binding.parameter].span)
    for axis in algorithm.grid:
        yield axis.name, Declaration("axis", f"{axis.name}: {format_expression(axis.extent)}", axis.span)
    for node in s.iterate_nodes(algorithm.body):
        match node:
            case s.Local(name=name, type=type_):
                kind = "array" if node.array else "register"
                yield name, Declaration(kind, f"{name}: {format_type(type_)}", node.head)
            case s.Let(name=name, value=value):
                yield name, Declaration("definition", f"let {name} = {format_expression(value)}", node.head)
            case s.Loop(variable=variable):
                yield variable, Declaration("variable of a loop", node.head.text.rstrip(), node.head)
            case _:
                # Other nodes declare no name.
                pass


def format_signature(node: s.Algorithm | s.Extern) -> str:
    """Return the header of an algorithm or an extern as it is called: its parameters and its result."""
    parameters = node.header if isinstance(node, s.Algorithm) else node.parameters
    result = f" -> {node.result}" if node.result else ""
    return f"{node.name}({', '.join(map(format_parameter, parameters))}){result}"


def find_definition(analysis: Analysis, word: str, line: int) -> Span | None:
    """Return the place where a word in a line is defined, perhaps in another file; None if it is no defined name."""
    module = analysis.latest
    if module is None:
        return None
    algorithm = analysis.find_algorithm(line)
    local = list_declarations(module, algorithm).get(word) if algorithm is not None else None
    callee = module.visible.get(word) or module.externs.get(word)
    if local is not None or callee is None:
        return None if local is None else local.span
    return callee.name_span if isinstance(callee, s.Algorithm) else callee.head


def list_occurrences(analysis: Analysis, word: str, line: int) -> list[Span]:
    """Return the places of a local name in the algorithm around a line; none if it is not a local name there."""
    module, algorithm = analysis.module, analysis.find_algorithm(line)
    if module is None or algorithm is None or word not in list_declarations(module, algorithm):
        return []
    source, spans = algorithm.span.source, []
    for number in range(algorithm.span.line, algorithm.span.end_line + 1):
        code = mask_strings_and_comment(source.lines[number - 1]) if number <= len(source.lines) else ""
        for match in re.finditer(rf"(?<![\w.]){re.escape(word)}(?!\w)|(?<=\.\.){re.escape(word)}(?!\w)", code):
            spans.append(Span(source, number, match.start() + 1, number, match.end() + 1))
    return spans


def is_renamable(analysis: Analysis, word: str, new: str, line: int) -> bool:
    """Whether a local name can get another one: neither means something else there, nor in the claims of the file."""
    module, algorithm = analysis.module, analysis.find_algorithm(line)
    if module is None or algorithm is None or not WORD.fullmatch(new):
        return False
    taken = {*RESERVED, *CONTEXTUAL_WORDS, *INTRINSICS, *METRICS, *module.visible, *module.externs}
    claims = [item for item in module.program.items if isinstance(item, s.Claim)]
    in_claims = frozenset().union(*map(s.find_names, claims))
    in_text = {match for text in algorithm.span.source.lines for match in WORD.findall(text)}
    return not {word, new} & (taken | in_claims) and new not in in_text
