"""From the state of a stopped run to the diagnostic about it."""

from __future__ import annotations

from typing import Any

from archline.execution import run_rules as rules
from archline.execution.codegen.program import Generated
from archline.execution.slots import CALL, OTHER_SITE, SITE, VALUES
from archline.language.diagnostics import ArchlineError, error


def report(program: Generated, state: Any, processor: str = "") -> ArchlineError:
    """Why the run stopped, where, and with which values; on which processor of a grid."""
    site = program.site(int(state[SITE]))
    values = [int(state[VALUES + place]) for place in range(5)]
    if site.rule is rules.RACE:
        other = program.site(int(state[OTHER_SITE]))
        message = f"{site.message}, and {_place(site.span.source, other.span)}{other.message} in a parallel strand"
        hint = "order the two by `sync`, give each strand its own elements, or make both updates `atomic`"
        return error(rules.RACE, message, span=site.span, hint=hint)
    text = site.variants[values[0]] if site.variants else site.message
    call = int(state[CALL])
    span = program.site(call).span if call else site.span
    message = text.format(*values)
    if processor:
        message += f" (on {processor})"
    return error(site.rule, message, span=span, hint=site.hint)


def _place(source: Any, span: Any) -> str:
    return f"on line {span.line} " if span.source is source else f"in {span} "
