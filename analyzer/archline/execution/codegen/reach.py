"""Which algorithms a run may call, and which of them call themselves, directly or not."""

from __future__ import annotations

from collections.abc import Iterator

from archline.language import syntax as s
from archline.language.model import Module


def reachable(module: Module, algorithm: s.Algorithm) -> tuple[s.Algorithm, ...]:
    """The algorithm and all it may call, in order of discovery."""
    found: dict[s.Algorithm, None] = {algorithm: None}
    waiting = [algorithm]
    while waiting:
        for callee in callees(module, waiting.pop()):
            if callee not in found:
                found[callee] = None
                waiting.append(callee)
    return tuple(found)


def recursive_algorithms(module: Module, algorithms: tuple[s.Algorithm, ...]) -> tuple[s.Algorithm, ...]:
    """Those of the algorithms that may be called while they are active."""
    return tuple(
        each for each in algorithms if any(each in reachable(module, callee) for callee in callees(module, each))
    )


def callees(module: Module, algorithm: s.Algorithm) -> Iterator[s.Algorithm]:
    """The algorithms called in the text of an algorithm."""
    for call in _calls(algorithm.body):
        target = module.targets.get(call)
        if isinstance(target, s.Algorithm):
            yield target


def _calls(statements: tuple[s.Stmt, ...]) -> Iterator[s.Call]:
    for statement in statements:
        match statement:
            case s.Invoke(call=call):
                yield call
            case s.Local(value=s.Call() as call) | s.Assign(value=s.Call() as call):
                yield call
            case s.Loop(body=body) | s.While(body=body) | s.Split(body=body):
                yield from _calls(body)
            case s.If(branches=branches):
                for branch in branches:
                    yield from _calls(branch.body)
            case (
                s.Let()
                | s.Local()
                | s.Assign()
                | s.Sync()
                | s.Pass()
                | s.Return()
                | s.Assume()
                | s.Costs()
                | s.Transfer()
                | s.Communicate()
            ):
                pass
