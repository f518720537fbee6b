"""Lists of algorithms: text, and JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from archline.language import syntax as s
from archline.language.format_statements import format_parameter
from archline.report.layout import table

VERSION = 1
_NEXT_SENTENCE = re.compile(r"(?<=[^.]\.)\s+(?=[A-Z])")


@dataclass(frozen=True)
class Listed:
    """An algorithm, of which the header is known, and the module or file it is in."""

    module: str
    algorithm: s.Algorithm

    @property
    def name(self) -> str:
        """Its name in the module."""
        return self.algorithm.name

    @property
    def target(self) -> str:
        """What commands call it."""
        return f"{self.module}::{self.name}"

    @property
    def parameters(self) -> list[str]:
        """Its parameters as they are declared."""
        return [format_parameter(each) for each in self.algorithm.parameters]

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return _NEXT_SENTENCE.split(self.algorithm.doc or "")[0]


def text(found: Sequence[Listed], width: int) -> str:
    """One row an algorithm; an empty line parts modules."""
    rows: list[list[str]] = []
    for _, group in groupby(found, key=lambda each: each.module):
        # A blank in each cell is a line of its own.
        rows += [[" "] * 3] if rows else []
        rows += [[each.target, ", ".join(each.parameters), each.summary] for each in group]
    return "".join(f"{line}\n" for line in (table(rows, width) if rows else ["no algorithms"]))


def document(found: Sequence[Listed]) -> dict[str, Any]:
    """`archline list`."""
    return {
        "version": VERSION,
        "algorithms": [
            {
                "target": each.target,
                "module": each.module,
                "name": each.name,
                "parameters": each.parameters,
                "summary": each.summary,
                "doc": each.algorithm.doc,
            }
            for each in found
        ],
    }
