"""What became of a claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from archline.analysis.checks.sizes import Guarded
from archline.growth.is_big_o import Proved
from archline.language import syntax as s
from archline.records import record

Outcome = Literal["holds", "fails", "unknown"]
TOO_LONG = "the derived bounds have too many terms, or are nested too deeply, to compare"


@record
class Verdict:
    """What became of one `ensures`. `point` holds the sizes at which it fails, if it does; `proofs` show its growth.

    Of a failing or unknown one, `derived` is the cost as text, if it is known. Of a failing one, `deciding` are the
    sizes of the point that the claim or the cost depend on, and `guarded` the claim with a `when` under which it is
    proved to hold, if one is known.
    """

    ensures: s.Ensures
    outcome: Outcome
    reason: str
    point: Mapping[str, int] | None = None
    proofs: tuple[Proved, ...] = ()
    derived: str = ""
    deciding: Mapping[str, int] | None = None
    guarded: Guarded | None = None
