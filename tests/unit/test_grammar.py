"""The grammar has no conflict that lark would resolve without a word, but for one that is meant."""

from __future__ import annotations

import logging

import pytest
from lark import Lark
from lark import logger as lark_logger

from archline.language.lark_parser import _Indentation
from archline.resources import find_resource
from effort import long


@long
def test_the_grammar_has_no_new_conflict(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (find_resource("grammar") / "archline.lark").read_text(encoding="utf-8")
    monkeypatch.setattr(lark_logger, "handlers", [])
    monkeypatch.setattr(lark_logger, "propagate", True)
    with caplog.at_level(logging.DEBUG, lark_logger.name):
        Lark(
            text,
            parser="lalr",
            lexer="contextual",
            postlex=_Indentation(),
            start=["start", "expression", "fact_list", "setting_list"],
            debug=True,
        )
    conflicts = [record.getMessage() for record in caplog.records if "conflict" in record.getMessage()]
    # After one expression in round brackets the list of an exchange's coordinates ends rather than a bracketed value.
    assert conflicts == ["Shift/Reduce conflict for terminal RPAR: (resolving as shift)"]
