"""Statements that leave a loop or the algorithm early, and parameters that are assigned, become simpler ones.

A value that is returned goes to a register, which the last statement returns. `return` and `continue` before the end of
a block become branches of an `if` where that takes no copy of code: `if c: return` with code behind it is `if c: ...
else: ...`. Code behind the remaining exits is put under the condition `Reached`, so that no pass takes it for certain.
"""

from __future__ import annotations

from typing import NoReturn

from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.call_rules import RETURN
from archline.language.diagnostics import ArchlineError, Diagnostic, Related, error
from archline.language.elaboration.rewriting import make_name_maker, rewrite_tree
from archline.language.proposals import propose_serial_loop
from archline.records import replace

Block = tuple[s.Stmt, ...]
_RETURNED = "a value is returned here"


def normalize_exits(algorithm: s.Algorithm) -> tuple[s.Algorithm, tuple[Diagnostic, ...]]:
    """Return an algorithm whose only `return` is its last statement, and whose exits end their blocks.

    The result has no exit if none was written but that `return`. An algorithm with mistakes does not change.
    """
    returns = list(s.find_nodes(algorithm.body, s.Return))
    conditions = [node for node in returns if _is_condition(node.value)]
    early = [node for node in returns if node is not algorithm.body[-1]]
    if returns and algorithm.result is None:
        # The checker reports a result that is no number.
        return algorithm, ()
    if not early and not conditions and not any(s.find_nodes(algorithm.body, s.Exit)):
        return algorithm, ()
    try:
        _check_exits(algorithm.body, returns)
        body = _remove_exits(_store_results(algorithm.body, (name := make_name_maker(algorithm)("result"))), {"return"})
        body = _guard_code_after_exits(body)
    except ArchlineError as problem:
        return algorithm, problem.diagnostics
    if returns and algorithm.result is not None:
        span = returns[-1].span
        type_ = s.ScalarType("bool" if conditions else algorithm.result, span=span)
        register = s.Local(name, type_, None, None, span=span)
        body = (register, *body, s.Return(s.Name(name, span=span), span=span))
    return replace(algorithm, body=body or (s.Pass(span=algorithm.body[-1].head),)), ()


def _is_condition(expr: s.Expr) -> bool:
    match expr:
        case s.Binary(op="and" | "or" | "==" | "!=" | "<" | "<=" | ">" | ">=") | s.Unary(op="not"):
            return True
        case _:
            return False


# Mistakes
def _raise_mistake(message: str, at: s.Node, hint: str | None = None, related: tuple[Related, ...] = ()) -> NoReturn:
    raise error(RETURN, message, span=at.span, hint=hint, related=related)


def _check_exits(body: Block, returns: list[s.Return]) -> None:
    """Raise ArchlineError for misplaced exits, unreachable code, and paths that lack the `return` of others."""
    _check_block(body, (), returns)
    if returns and (end := _find_open_end(body)) is not None:
        message = f"line {returns[0].span.line} returns a value, and the path that ends here returns none"
        _raise_mistake(message, end, "end it with `return` and a value", (Related(returns[0].span, _RETURNED),))


def _check_block(body: Block, loops: tuple[s.Stmt, ...], returns: list[s.Return]) -> None:
    for statement, following in zip(body, (*body[1:], None), strict=True):
        match statement:
            case s.Exit(kind="break" | "continue") if not loops:
                _raise_mistake(f"`{statement.kind}` is outside of any loop", statement)
            case s.Exit(kind="return") if returns:
                message = f"line {returns[0].span.line} returns a value, and this `return` has none"
                _raise_mistake(message, statement, "write the value behind it", (Related(returns[0].span, _RETURNED),))
            case s.Exit() | s.Return():
                word = "return" if isinstance(statement, s.Return) else statement.kind
                left = {"break": loops[-1:], "continue": ()}.get(word, loops)
                parallel = next((loop for loop in left if isinstance(loop, s.Loop) and loop.parallel), None)
                if parallel is not None:
                    message = f"`{word}` cannot leave the `parallel for` of line {parallel.span.line}"
                    words = "its iterations run side by side: write `{}`, or let them all run"
                    hint = propose_serial_loop(parallel, words)
                    _raise_mistake(message, statement, hint, (Related(parallel.head, "the parallel loop"),))
                if any(isinstance(around, s.Split) for around in loops):
                    _raise_mistake(f"`{word}` cannot stand inside a `split`", statement)
            case _:
                # Other statements may contain exits.
                inside = isinstance(statement, s.Loop | s.While | s.Split)
                for block in s.list_blocks(statement):
                    _check_block(block, (*loops, statement) if inside else loops, returns)
        if following is not None and not _may_reach_end((statement,)):
            hint = f"it is behind the exit of line {statement.span.line}"
            _raise_mistake("no run comes to this statement", following, hint, (Related(statement.head, "the exit"),))


def _may_reach_end(block: Block) -> bool:
    """Test whether control may reach the end of a block."""
    if not block:
        return True
    match block[-1]:
        case s.Exit() | s.Return():
            return False
        case s.If(branches=branches):
            return branches[-1].condition is not None or any(_may_reach_end(branch.body) for branch in branches)
        case s.While(condition=s.Integer(value=1), tests_last=False) as loop:
            return "break" in s.list_exit_kinds(loop.body)
        case _:
            # Other statements come to their ends.
            return True


def _find_open_end(block: Block) -> s.Stmt | None:
    """Return the last statement of a path that reaches the end of a block; None if no path does."""
    if not _may_reach_end(block):
        return None
    last = block[-1]
    if isinstance(last, s.If) and last.branches[-1].condition is None:
        return next(end for branch in last.branches if (end := _find_open_end(branch.body)) is not None)
    return last


# Rewriting
def _store_results(body: Block, name: str) -> Block:
    """Replace each `return value` by an assignment of the value to the register `name` and a `return`."""

    def change_node(node: s.Node) -> tuple[s.Node, ...] | None:
        if not isinstance(node, s.Return):
            return None
        target = s.Name(name, span=node.value.span)
        return s.Assign(target, "=", node.value, False, span=node.span), s.Exit("return", span=node.span)

    return rewrite_tree(body, change_node)  # type: ignore[no-any-return]


def _remove_exits(block: Block, ends: set[str]) -> Block:
    """Remove exits of the kinds `ends`, which lead to the end of the block, where code can move into branches."""
    for number, statement in enumerate(block):
        before, rest = block[:number], block[number + 1 :]
        match statement:
            case s.Exit(kind=kind) if kind in ends:
                # What is left of a statement shows how often it is executed; a `return` of a value left more.
                returned = before and before[-1].span == statement.span
                return before if returned else (*before, s.Pass(span=statement.span))
            case s.If(branches=branches) if any(s.find_nodes(statement, s.Exit)):
                return (*before, *_remove_exits_in_branches(statement, branches, rest, ends))
            case s.Loop() | s.While() if any(s.find_nodes(statement.body, s.Exit)):
                tidied = replace(statement, body=_fill_block(_remove_exits(statement.body, {"continue"}), statement))
                return (*before, tidied, *_remove_exits(rest, ends))
            case _:
                # Other statements stay as they are.
                pass
    return block


def _remove_exits_in_branches(statement: s.If, branches: tuple[s.Branch, ...], rest: Block, ends: set[str]) -> Block:
    """Return an `if` and the code `rest` after it, which moves into a branch if only that one leads there."""
    if branches[-1].condition is not None and rest:
        branches = (*branches, s.Branch(None, (), span=_join_spans(rest)))
    leading = [number for number, branch in enumerate(branches) if _may_reach_end(branch.body)]
    inner, behind = ends, Block()
    is_block = branches[0].condition is None
    if (
        rest
        and not is_block
        and len(leading) == 1
        and (joined := _join_blocks(branches[leading[0]].body, rest)) is not None
    ):
        branches = tuple(
            replace(branch, body=joined) if number == leading[0] else branch for number, branch in enumerate(branches)
        )
    elif rest:
        inner, behind = set(), _remove_exits(rest, ends)
    tidied = [replace(branch, body=_remove_exits(branch.body, inner)) for branch in branches]
    if tidied[-1].condition is None and not tidied[-1].body:
        tidied.pop()
    filled = tuple(replace(branch, body=_fill_block(branch.body, branch)) for branch in tidied)
    return (replace(statement, branches=filled), *behind) if filled else behind


def _join_blocks(first: Block, rest: Block) -> Block | None:
    """Join a block and the code after it; None if the block has exits and declares names, which would stay visible."""
    if not any(isinstance(statement, s.Simple) and statement.defines for statement in first):
        return (*first, *rest)
    if s.list_exit_kinds(first):
        return None
    # An `if` of an `else` alone is a block of its own.
    alone = s.If((s.Branch(None, first, span=_join_spans(first)),), span=_join_spans(first))
    return (alone, *rest)


def _fill_block(body: Block, node: s.Node) -> Block:
    return body or (s.Pass(span=node.head),)


def _join_spans(block: Block) -> Span:
    """Return the span of a block that its first statement begins."""
    return block[0].span.extend_to(block[-1].span)


def _guard_code_after_exits(block: Block) -> Block:
    """Put the code behind each statement that may leave the block under the condition `Reached`."""
    result: list[s.Stmt] = []
    for number, statement in enumerate(block):
        result.append(_guard_in_inner_blocks(statement))
        rest = block[number + 1 :]
        if rest and s.find_exit_kinds(statement):
            span = _join_spans(rest)
            branch = s.Branch(s.Reached(span=rest[0].head), _guard_code_after_exits(rest), span=span)
            return (*result, s.If((branch,), span=span))
    return tuple(result)


def _guard_in_inner_blocks(statement: s.Stmt) -> s.Stmt:
    if not any(s.find_nodes(statement, s.Exit)):
        return statement
    match statement:
        case s.If(branches=branches):
            marked = tuple(replace(branch, body=_guard_code_after_exits(branch.body)) for branch in branches)
            return replace(statement, branches=marked)
        case s.Loop(body=body) | s.While(body=body) | s.Split(body=body):
            return replace(statement, body=_guard_code_after_exits(body))
        case _:
            # Other statements contain no exit.
            return statement
