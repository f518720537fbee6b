"""The right operand of `and` or `or` is evaluated only if the left one does not decide, also if it needs statements.

`if n > 1 and sum(x) > t:` becomes a register that holds `n > 1`, an `if` of it that sets it to `sum(x) > t`, and an
`if` of it again. Conditions of loops are treated so before each test. Sums and operations on arrays in the statements
that result are expanded by later passes.
"""

from __future__ import annotations

from typing import Any

from archline.expr.tree import Comprehension, Node
from archline.language import syntax as s
from archline.language.elaboration.declare import rewrite_block
from archline.language.elaboration.environment import Environment, collect_header_types
from archline.language.elaboration.reductions import needs_statements
from archline.language.elaboration.rewriting import (
    build_short_circuit,
    make_name_maker,
    place_before_tests,
    rewrite_fields,
    rewrite_tree,
)
from archline.records import replace


def split_conditions(algorithm: s.Algorithm, environment: Environment) -> s.Algorithm:
    """Return an algorithm in which no right side of `and` or `or` needs statements of its own."""
    environment = environment.with_names(collect_header_types(algorithm, environment.records))
    return replace(algorithm, body=rewrite_block(algorithm.body, environment, _Splitter(algorithm).split_statement))


class _Splitter:
    def __init__(self, algorithm: s.Algorithm) -> None:
        self._make_name = make_name_maker(algorithm)

    def split_statement(self, statement: Any, environment: Environment) -> tuple[Any, ...]:
        """Return a statement with split conditions, and before it the statements that evaluate their sides."""
        before: list[Any] = []
        match statement:
            case s.If(branches=(first, *rest)):
                condition = self._split(first.condition, environment, before)
                if rest and rest[0].condition is not None:
                    later = statement.take_later_branches()
                    inner = self.split_statement(later, environment)
                    alone = len(inner) == 1 and isinstance(inner[0], s.If)
                    rest = list(inner[0].branches) if alone else [s.Branch(None, inner, span=later.span)]
                return (*before, replace(statement, branches=(replace(first, condition=condition), *rest)))
            case s.While(condition=condition):
                condition = self._split(condition, environment, before)
                return place_before_tests(statement, condition, before) if before else (statement,)
            case s.Local() | s.Assign() | s.Invoke() | s.Return():
                changed = rewrite_fields(statement, lambda node: self._change_node(node, environment, before))
                return (*before, changed)
            case _:
                # The other statements have no conditions.
                return (statement,)

    def _split(self, part: Any, environment: Environment, before: list[Any]) -> Any:
        """Return an expression whose conditions are split; statements that compute them are added to `before`."""
        return rewrite_tree(part, lambda node: self._change_node(node, environment, before))

    def _change_node(self, node: Node, environment: Environment, before: list[Any]) -> Node | None:
        match node:
            case Comprehension():
                # Its parts are evaluated in a loop, which a later pass writes.
                return node
            case s.Binary(op="and" | "or", left=left, right=right) if needs_statements(right, environment):
                register = s.Name(self._make_name("holds"), span=node.span)
                left, inner = self._split(left, environment, before), list[Any]()
                right = self._split(right, environment, inner)
                before += build_short_circuit(node, register, left, inner, right)
                return register
            case _:
                return None
