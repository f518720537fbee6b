"""A parser for a grammar, whose tables take a third of a second to build: kept in a file from one process to the next.

The file is in the user's cache. Where it cannot be written, or what is in it is
of no use (half of it, while another process writes it), the tables are built anew.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import lark

from archline.resources import cache_folder


def parser_of(grammar: str, **options: Any) -> lark.Lark:
    """The parser; `options` as `lark.Lark` takes them."""
    try:
        kept = _place(grammar, options)
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return lark.Lark(grammar, cache=str(kept), **options)
    except (OSError, RuntimeError):
        # There is no home, or no room in it.
        return lark.Lark(grammar, **options)


def _place(grammar: str, options: dict[str, Any]) -> Path:
    """Another file for another grammar, version or set of options. Raises RuntimeError where nobody is at home."""
    plain = sorted((name, value) for name, value in options.items() if isinstance(value, str | bool | list))
    told = repr((grammar, plain, lark.__version__, sys.version_info[:2]))
    return cache_folder() / f"grammar-{sha256(told.encode()).hexdigest()[:16]}.lark"
