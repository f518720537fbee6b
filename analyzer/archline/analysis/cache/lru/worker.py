"""The process that counts: a problem in, numbers of accesses by stack distance out, both as JSON.

It is a process of its own because isl is an extra, and because a count may take any time and memory.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> int:
    """Read a request, answer it."""
    request = json.load(sys.stdin)
    json.dump(_answer(request) if _can_count() else {"missing": True}, sys.stdout)
    return 0


def _can_count() -> bool:
    """Whether isl is there, and barvinok with it."""
    try:
        import islpy
    except ImportError:
        return False
    return hasattr(islpy.Set, "card")


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """The counts, or what isl says of its failure."""
    import islpy

    import archline.analysis.cache.lru.count  # noqa: F401, what is imported is no part of the memory that is limited

    _limit(request["memory"])
    try:
        return answer_to(request)
    except islpy.Error as problem:
        # It may be for want of memory, which isl tells in many ways, not all of them plain.
        return {"failed": f"isl, which may use {request['memory'] >> 20} MB of memory, gave up: {problem}"}
    except MemoryError:
        return {"failed": f"the count takes more than {request['memory'] >> 20} MB of memory"}


def _limit(memory: int) -> None:
    """Let this process have so many bytes, where the system can tell it so."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def answer_to(request: dict[str, Any]) -> dict[str, Any]:
    """The numbers of accesses by stack distance."""
    import islpy

    from archline.analysis.cache.lru.count import Tally, distances
    from archline.analysis.cache.lru.wire import Reference, write, write_pieces

    context = islpy.Set(request["context"])
    tally = Tally(context)
    references = [Reference(each["array"], each["times"], each["relation"], ()) for each in request["references"]]
    tally.add(distances(references, context))
    places = {reference: place for place, reference in enumerate(references)}

    def written(count: islpy.PwQPolynomial) -> list[Any]:
        return write_pieces(tally.pieces(count))

    return {
        "accesses": written(tally.accesses),
        "first": written(tally.first),
        "settled": [[write(distance), written(count)] for distance, count in tally.settled.items()],
        "ranged": [[write(least), scale, written(count)] for (least, scale), count in tally.ranged.items()],
        "open": [[write(distance), places[each], written(count)] for distance, each, count in tally.open],
    }


if __name__ == "__main__":
    sys.exit(main())
