"""An energy: its terms, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator

from archline.energy.model import Estimate
from archline.energy.results import EnergyResult, Symbolic
from archline.report.costs.forms import CUT
from archline.report.documents.model import Document, Formula, Phrase, Table, with_growths
from archline.report.energies import shown


def document(found: EnergyResult) -> Document:
    """Amounts with their shares, or formulas with their growth, and what the model states of itself."""
    if found.symbolic is not None:
        tables = _in_symbols(found, found.symbolic)
    else:
        assert found.estimate is not None
        tables = [Table(("", "amount", "share", "formula"), tuple(_rows(found, found.estimate)))]
    model = found.model
    notes = [
        *(() if found.symbolic is None else shown.of_forms(found.symbolic)),
        found.data,
        f"convention: {model.convention}",
        f"stated error: {model.error}",
        f"leaves out: {'; '.join(model.leaves_out)}",
        *(f"lower bound: {each}" for each in shown.floor(found)),
        *shown.notes(found),
    ]
    return Document(shown.heading(found), "", "", tuple(tables), tuple((each,) for each in notes if each))


def _in_symbols(found: EnergyResult, symbolic: Symbolic) -> list[Table]:
    formulas = [*found.model.energy.items(), ("energy", found.model.expression)]
    terms: list[tuple[Phrase, ...]] = [
        ((name,), (Formula(text),), _marked(symbolic.growth.get(name, ""))) for name, text in formulas
    ]
    metrics: list[tuple[Phrase, ...]] = [
        ((each.name,), (each.status,), _form(each.shown.lower), _form(each.shown.upper))
        for each in symbolic.metrics
        if each.shown is not None
    ]
    return [
        Table(("term", "formula", "growth"), tuple(terms)),
        Table(("metric", "status", "lower", "upper"), tuple(metrics)),
    ]


def _form(text: str) -> Phrase:
    return (text,) if text.endswith(CUT) else (Formula(text),)


def _marked(growth: str) -> Phrase:
    plain = "(" not in growth or growth.startswith("unknown") or growth.endswith(CUT)
    return (growth,) if plain else with_growths(growth)


def _rows(found: EnergyResult, estimate: Estimate) -> Iterator[tuple[Phrase, ...]]:
    shares = shown.shares(estimate.terms)
    for name, each in estimate.terms.items():
        share = f"{float(100 * shares[name]):.1f} %"
        yield (name,), (each.text("J"),), (share,), (Formula(found.model.energy[name]),)
    formulas: dict[str, Phrase] = {
        "energy": (Formula(found.model.expression),),
        "time": (Formula(found.model.time),),
    }
    amounts = shown.answers(estimate)
    for name, unit in shown.ANSWERS:
        amount = amounts[name]
        value = "not known" if amount is None else amount.text(unit)
        yield (name.replace("_", " "),), (value,), (), formulas.get(name, ())
    yield ("bound by",), (estimate.binds,), (), ()
