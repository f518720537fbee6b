"""An algorithm as it is declared; nothing is derived for it."""

from __future__ import annotations

from archline.expr.text import format_fact
from archline.language import model
from archline.language import syntax as s
from archline.language.format_statements import format_parameter
from archline.report.documents.model import Document, Formula, Phrase, Table, conditions, joined, with_growths
from archline.report.view import contract_text, shown_place


def document(algorithm: s.Algorithm, signature: model.Signature) -> Document:
    """Its parameters, sizes and facts, and what it ensures."""
    rows = tuple(_parameter(each) for each in algorithm.parameters)
    sentences: list[Phrase] = []
    if signature.size_names:
        sentences.append((f"sizes: {', '.join(signature.size_names)}",))
    if algorithm.where:
        facts = [piece for each in algorithm.where for piece in conditions(format_fact(each))]
        sentences.append(("where ", *joined(facts, ", ")))
    sentences += [("ensures ", *_ensured(each)) for each in algorithm.ensures]
    place = shown_place(f"{algorithm.name_span.source.path}:{algorithm.name_span.line}")
    return Document(algorithm.name, algorithm.doc or "", place, (Table(("parameter", "type"), rows),), tuple(sentences))


def _ensured(ensures: s.Ensures) -> Phrase:
    claim, _, facts = contract_text(ensures).partition(" when ")
    when = joined([piece for each in ensures.when for piece in conditions(format_fact(each))], ", ") if facts else ()
    return (*(with_growths(claim) if " is " in claim else (Formula(claim),)), *((" when ", *when) if when else ()))


def _parameter(parameter: s.Parameter) -> tuple[Phrase, ...]:
    name, _, kind = format_parameter(parameter).partition(": ")
    return (name,), (kind,)
