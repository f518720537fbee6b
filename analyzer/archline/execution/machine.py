"""The machine this runs on: how much memory may be used."""

from __future__ import annotations

import os

_FALLBACK = 4 << 30


def available_bytes() -> int:
    """The memory that is free now, in bytes; a modest guess where the system does not tell."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return _FALLBACK


def shown_bytes(count: int) -> str:
    """`3.2 GB` and the like."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            return f"{amount:.3g} {unit}"
        amount /= 1000
    raise AssertionError
