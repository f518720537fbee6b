"""The grammar is LALR(1) with one known conflict: lark resolves further ones in silence, and programs change meaning."""

from __future__ import annotations

import logging

import pytest
from lark import Lark, logger

from archline.language.parser import _Indentation
from cli_support import ROOT
from effort import long


@long
def test_the_grammar_has_no_further_conflict(caplog: pytest.LogCaptureFixture) -> None:
    """`(a)` may be an expression in brackets or the subscripts of a processor, which are read first."""
    text = (ROOT / "grammar" / "archline.lark").read_text(encoding="utf-8")
    starts = ["start", "expression", "fact_list", "setting_list"]
    logger.addHandler(caplog.handler)
    try:
        with caplog.at_level(logging.DEBUG, logger=logger.name):
            Lark(text, parser="lalr", lexer="contextual", postlex=_Indentation(), start=starts, debug=True)
    finally:
        logger.removeHandler(caplog.handler)
    conflicts = {record.getMessage() for record in caplog.records if "onflict" in record.getMessage()}
    assert conflicts == {"Shift/Reduce conflict for terminal RPAR: (resolving as shift)"}
