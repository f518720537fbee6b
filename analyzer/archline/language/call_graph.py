"""Which algorithms call each other in a circle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from archline.language import syntax as s
from archline.language.model import Module

MAX_KNOWN = 256
"""Answers that are kept: a derivation asks at every call."""


@lru_cache(maxsize=MAX_KNOWN)
def component(module: Module, algorithm: s.Algorithm) -> tuple[s.Algorithm, ...]:
    """The algorithms that `algorithm` calls, directly or not, and that call it, itself first; none if not recursive."""
    reached = reachable(module, algorithm)
    if algorithm not in reached:
        return ()
    others = [each for each in reached if each is not algorithm and algorithm in reachable(module, each)]
    return (algorithm, *others)


def recurses(module: Module, algorithm: s.Algorithm) -> bool:
    """Whether the algorithm is recursive, or calls one that is, directly or not."""
    return any(component(module, each) for each in (algorithm, *reachable(module, algorithm)))


@lru_cache(maxsize=MAX_KNOWN)
def reachable(module: Module, algorithm: s.Algorithm) -> Mapping[s.Algorithm, None]:
    """What a call of the algorithm may call, directly or not, in order of discovery."""
    found: dict[s.Algorithm, None] = {}
    pending = [algorithm]
    while pending:
        for target in _called(module, pending.pop()):
            if target not in found:
                found[target] = None
                pending.append(target)
    return found


def _called(module: Module, algorithm: s.Algorithm) -> Iterator[s.Algorithm]:
    for node in s.nodes(algorithm.body):
        if isinstance(node, s.Call) and isinstance(target := module.targets.get(node), s.Algorithm):
            yield target
