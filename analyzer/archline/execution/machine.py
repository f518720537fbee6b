"""The machine this runs on: how much memory may be used."""

from __future__ import annotations

from archline.execution.sparse_matrix import available_memory


def available_bytes() -> int:
    """The memory that may be taken now, in bytes."""
    return available_memory()


def shown_bytes(count: int) -> str:
    """`3.2 GB` and the like."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} TB"
