"""The collective operations of the library: what arrives, and the words and messages it takes, for any P."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import archline as al
from archline.execution.results import Run
from archline.expr.values import evaluate, evaluate_fact
from archline.language import syntax as s
from effort import drawn

LIBRARY = al.load("distributed.collectives")
OPERATORS = {"+": np.add, "*": np.multiply, "min": np.minimum, "max": np.maximum}
LEFT_ALONE = 77
Array = NDArray[Any]


def run(name: str, processors: int, compiled: bool = False, **arguments: Any) -> Run:
    return LIBRARY[name].run(P=processors, compiled=compiled, **arguments)


def methods(operation: str) -> list[str]:
    """The algorithms that an operation may be written `using`."""
    found = [each for each in LIBRARY if each.startswith(f"{operation}_") and each != "broadcast_pipeline"]
    longer = {"reduce": "reduce_scatter", "alltoallv": "alltoallv_into"}.get(operation)
    return [each for each in found if longer is None or not each.startswith(longer)]


class Drawn:
    """The processors, words, operator and numbers of one example."""

    def __init__(self, draw: Any) -> None:
        self.processors = draw(st.integers(1, 17))
        self.words = draw(st.integers(0, 20))
        self.root = draw(st.integers(0, self.processors - 1))
        self.resolve_operator = draw(st.sampled_from(sorted(OPERATORS)))
        self.dtype = draw(st.sampled_from([np.float64, np.int64]))
        self.random = np.random.default_rng(draw(st.integers(0, 1 << 16)))
        self.run = partial(run, processors=self.processors, compiled=draw(st.sampled_from([False, False, True])))

    def buffers(self, words: int) -> Array:
        """A buffer on each processor. Products of 17 numbers are exact."""
        return self.random.integers(1, 5, (self.processors, words)).astype(self.dtype)

    def blank(self, words: int) -> Array:
        return np.full((self.processors, words), LEFT_ALONE, self.dtype)

    def counts(self) -> tuple[Array, Array, list[slice]]:
        """The words of unequal pieces on each processor, and where the pieces lie."""
        counts = self.random.integers(0, 5, self.processors)
        ends = np.cumsum(counts)
        return (
            counts,
            np.tile(counts, (self.processors, 1)),
            [slice(e - c, e) for e, c in zip(ends, counts, strict=True)],
        )


DRAWN = st.composite(Drawn)()


def each(operation: str) -> Callable[[Callable[[str, Drawn], None]], Any]:
    """A test of all methods of an operation, each with examples of its own."""

    def decorated(test: Callable[[str, Drawn], None]) -> Any:
        @pytest.mark.parametrize("name", methods(operation))
        @settings(max_examples=drawn(100, 8))
        @given(case=DRAWN)
        def tested(name: str, case: Drawn) -> None:
            test(name, case)

        return tested

    return decorated


@each("shift")
def test_shift(name: str, case: Drawn) -> None:
    x = case.buffers(case.words)
    by = int(case.random.integers(-20, 20))
    np.testing.assert_array_equal(case.run(name, x=x, e=by).outputs["x"], np.roll(x, by, axis=0))


@each("broadcast")
def test_broadcast(name: str, case: Drawn) -> None:
    x = case.buffers(case.words)
    made = case.run(name, x=x, root=case.root).outputs["x"]
    np.testing.assert_array_equal(made, np.tile(x[case.root], (case.processors, 1)))


@settings(max_examples=drawn(100, 8))
@given(DRAWN, st.integers(1, 9))
def test_broadcast_in_segments(case: Drawn, segments: int) -> None:
    x = case.buffers(case.words)
    made = case.run("broadcast_pipeline", x=x, root=case.root, m=segments).outputs["x"]
    np.testing.assert_array_equal(made, np.tile(x[case.root], (case.processors, 1)))


@each("reduce")
def test_reduce(name: str, case: Drawn) -> None:
    x = case.buffers(case.words)
    made = case.run(name, x=x, root=case.root, op=case.resolve_operator).outputs["x"]
    np.testing.assert_array_equal(made[case.root], OPERATORS[case.resolve_operator].reduce(x, axis=0))


@each("allreduce")
def test_allreduce(name: str, case: Drawn) -> None:
    x = case.buffers(case.words)
    made = case.run(name, x=x, op=case.resolve_operator).outputs["x"]
    wanted = OPERATORS[case.resolve_operator].reduce(x, axis=0)
    np.testing.assert_array_equal(made, np.tile(wanted, (case.processors, 1)))


@each("scan")
def test_scan(name: str, case: Drawn) -> None:
    x = case.buffers(case.words)
    made = case.run(name, x=x, op=case.resolve_operator).outputs["x"]
    np.testing.assert_array_equal(made, OPERATORS[case.resolve_operator].accumulate(x, axis=0))


@each("gather")
def test_gather(name: str, case: Drawn) -> None:
    x, y = case.buffers(case.words), case.blank(case.processors * case.words)
    made = case.run(name, x=x, y=y, root=case.root).outputs["y"]
    y[case.root] = x.ravel()
    np.testing.assert_array_equal(made, y)


@each("scatter")
def test_scatter(name: str, case: Drawn) -> None:
    x, y = case.buffers(case.processors * case.words), case.blank(case.words)
    made = case.run(name, x=x, y=y, root=case.root).outputs["y"]
    np.testing.assert_array_equal(made, x[case.root].reshape(y.shape))


@each("allgather")
def test_allgather(name: str, case: Drawn) -> None:
    x, y = case.buffers(case.words), case.blank(case.processors * case.words)
    made = case.run(name, x=x, y=y).outputs["y"]
    np.testing.assert_array_equal(made, np.tile(x.ravel(), (case.processors, 1)))


@each("reduce_scatter")
def test_reduce_scatter(name: str, case: Drawn) -> None:
    x, y = case.buffers(case.processors * case.words), case.blank(case.words)
    made = case.run(name, x=x, y=y, op=case.resolve_operator).outputs["y"]
    np.testing.assert_array_equal(made, OPERATORS[case.resolve_operator].reduce(x, axis=0).reshape(y.shape))


@each("alltoall")
def test_alltoall(name: str, case: Drawn) -> None:
    x, y = case.buffers(case.processors * case.words), case.blank(case.processors * case.words)
    made = case.run(name, x=x, y=y).outputs["y"]
    pieces = x.reshape(case.processors, case.processors, case.words)
    np.testing.assert_array_equal(made, pieces.transpose(1, 0, 2).reshape(y.shape))


# Unequal pieces, in buffers that are larger
@each("gatherv")
def test_gather_of_unequal_pieces(name: str, case: Drawn) -> None:
    counts, known, pieces = case.counts()
    x, y = case.buffers(5), case.blank(counts.sum() + 3)
    made = case.run(name, x=x, cnt=known, y=y, root=case.root).outputs["y"]
    for own, piece, count in zip(x, pieces, counts, strict=True):
        y[case.root, piece] = own[:count]
    np.testing.assert_array_equal(made, y)


@each("scatterv")
def test_scatter_of_unequal_pieces(name: str, case: Drawn) -> None:
    counts, known, pieces = case.counts()
    x, y = case.buffers(counts.sum() + 3), case.blank(5)
    made = case.run(name, x=x, cnt=known, y=y, root=case.root).outputs["y"]
    for own, piece, count in zip(made, pieces, counts, strict=True):
        np.testing.assert_array_equal(own[:count], x[case.root, piece])


@each("allgatherv")
def test_allgather_of_unequal_pieces(name: str, case: Drawn) -> None:
    counts, known, pieces = case.counts()
    x, y = case.buffers(5), case.blank(counts.sum() + 3)
    made = case.run(name, x=x, cnt=known, y=y).outputs["y"]
    for own, piece, count in zip(x, pieces, counts, strict=True):
        y[:, piece] = own[:count]
    np.testing.assert_array_equal(made[:, : counts.sum()], y[:, : counts.sum()])


@each("reduce_scatterv")
def test_reduce_scatter_of_unequal_pieces(name: str, case: Drawn) -> None:
    counts, known, pieces = case.counts()
    x, y = case.buffers(counts.sum() + 3), case.blank(5)
    made = case.run(name, x=x, cnt=known, y=y, op=case.resolve_operator).outputs["y"]
    wanted = OPERATORS[case.resolve_operator].reduce(x, axis=0)
    for own, piece, count in zip(made, pieces, counts, strict=True):
        np.testing.assert_array_equal(own[:count], wanted[piece])


@each("alltoallv")
def test_alltoall_of_unequal_pieces(name: str, case: Drawn) -> None:
    size = case.processors
    counts = case.random.integers(0, 5, (size, size))
    x, y = case.buffers(counts.sum(axis=1).max()), case.blank(counts.sum(axis=0).max())
    ran = case.run(name, x=x, cnt=counts, y=y, got=np.zeros((size, size), int))
    np.testing.assert_array_equal(ran.outputs["got"], counts.T)
    starts = np.cumsum(counts, axis=1) - counts
    for q in range(size):
        arrived = np.concatenate([x[p, starts[p, q] :][: counts[p, q]] for p in range(size)])
        np.testing.assert_array_equal(ran.outputs["y"][q, : arrived.size], arrived)
    moved = [
        sum(max(counts[q, (q + d) % size], counts[(q - d) % size, q]) for d in range(1, size)) for q in range(size)
    ]
    assert ran.counts.own["words"] == size - 1 + max(moved)
    unasked = case.run(name.replace("alltoallv", "alltoallv_into"), x=x, cnt=counts, y=y)
    np.testing.assert_array_equal(unasked.outputs["y"], ran.outputs["y"])
    assert unasked.counts.communication == ran.counts.communication
    for metric in ("words", "messages"):
        assert unasked.counts.own[metric] == ran.counts.own[metric]
        assert unasked.counts.total[metric] == ran.counts.total[metric]
    # The caller has the counts in `got`, the callee in memory of its own; one processor needs none.
    assert ran.counts.memory - unasked.counts.memory == (size == 1)


# Statements on a grid of two axes
GRID = """
use distributed.collectives
algorithm f(A: real[g*a, h*b], R: real[g, h], N: int[g, h], a: size, b: size, root: index,
            X: out real[g*a, h*b], S: out real[g, h], M: out int[g, h]) on grid(i: g, j: h):
    where a >= 2, b >= 2
    local x: real[a, b] = A[i*a ..+ a, j*b ..+ b]
    local t: real
    local k: int
    input t = R[i, j]
    input k = N[i, j]
BODY
    output X[i*a ..+ a, j*b ..+ b] = x
    output S[i, j] = t
    output M[i, j] = k
"""
Blocks = Array
"""Blocks of x by i and j, or numbers by i and j."""


def broadcast_row(x: Blocks, t: Blocks, k: Blocks, root: int) -> None:
    x[:, :, 1, :] = x[:, root : root + 1, 1, :]


def broadcast_column(x: Blocks, t: Blocks, k: Blocks, root: int) -> None:
    x[:, :, :, 1] = x[root : root + 1, :, :, 1]


def broadcast_blocks(x: Blocks, t: Blocks, k: Blocks, root: int) -> None:
    x[..., 0:2, ::2] = x[0, root, 0:2, ::2]


def numbers(x: Blocks, t: Blocks, k: Blocks, root: int) -> None:
    t[:] = t.max()
    k[:] = np.cumsum(k, axis=1)
    k[root] = k.sum(axis=0)


def reduced_blocks(x: Blocks, t: Blocks, k: Blocks, root: int) -> None:
    x[:, root] = x.min(axis=1)


def ordered_numbers(x: Blocks, t: Blocks, k: Blocks, root: int) -> None:
    t[:] = np.cumsum(t.T.ravel()).reshape(t.T.shape).T


def repeated(x: Blocks, t: Blocks, k: Blocks, root: int) -> None:
    t *= t.shape[1]


def from_the_root(x: Blocks, t: Blocks, k: Blocks, root: int) -> None:
    t[:] = t[:, root : root + 1] * (1 + np.arange(t.shape[1]))


def gathered(x: Blocks, t: Blocks, k: Blocks, root: int) -> None:
    t[:] = np.roll(t, -1, axis=1)


def unequal(x: Blocks, t: Blocks, k: Blocks, root: int) -> None:
    t[:] = 3 * t.max(axis=1, keepdims=True)


FORMS = {
    "broadcast x[1, :] along j from root using tree": broadcast_row,
    "broadcast x[:, 1] along i from root using scatter_allgather": broadcast_column,
    "broadcast x[0..2, 0..b step 2] along i, j from root": broadcast_blocks,
    "broadcast_pipeline(x[:, 1], root, 2) along i": broadcast_column,
    "allreduce t with max\nscan k along j with +\nreduce k along i onto root with + using naive": numbers,
    "reduce x along j onto root with min using reduce_scatter_gather": reduced_blocks,
    "reduce x along j onto root with min": reduced_blocks,
    "scan t along j, i with +": ordered_numbers,
    """local y: real[h]
allgather t along j into y using ring
reduce_scatter y along j into t with + using ring""": repeated,
    """local y: real[h]
local z: real[h]
gather t along j onto root into y
if j == root:
    z[0..h - 1] = y[1..h]
    z[h - 1] = y[0]
scatter z along j from root into t""": gathered,
    """local y: real[h]
local z: real[h]
for q in 0..h:
    y[q] = t*real_of(q + 1)
alltoall y along j into z using bruck
t = z[root]""": from_the_root,
    """local c: int[h] = 3
local own: real[3] = t
local y: real[3*h]
local z: real[3*h]
local n: int[h]
allgather own along j counts c into y
alltoall y along j counts c into z, n
local w: real[3*h]
alltoall y along j counts c into w
reduce_scatter w along j counts n into own with max
t = own[0] + own[1] + own[2]""": unequal,
}


@cache
def on_grid(body: str) -> Any:
    return al.loads(GRID.replace("BODY", "\n".join(f"    {line}" for line in body.splitlines())))["f"]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 5), (4, 2)])
@pytest.mark.parametrize("body", FORMS)
def test_statements_along_axes(body: str, shape: tuple[int, int], compiled: bool) -> None:
    program = on_grid(body)
    rows, columns, root = 3, 4, min(shape) - 1
    random = np.random.default_rng(1)
    x = random.integers(1, 9, (*shape, rows, columns)).astype(float)
    t, k = random.integers(1, 9, shape).astype(float), random.integers(1, 9, shape)
    whole = x.transpose(0, 2, 1, 3).reshape(shape[0] * rows, shape[1] * columns)
    data = {"A": whole, "R": t, "N": k, "X": 0 * whole, "S": 0 * t, "M": 0 * k}
    ran = program.run(**data, a=rows, b=columns, root=root, P=t.size, compiled=compiled).outputs
    FORMS[body](x, t, k, root)
    if body.startswith("allreduce"):
        np.testing.assert_array_equal(ran["M"][root], k[root])
    else:
        np.testing.assert_array_equal(ran["M"], k)
    np.testing.assert_array_equal(ran["S"], t)
    made = ran["X"].reshape(shape[0], rows, shape[1], columns).transpose(0, 2, 1, 3)
    if body.startswith("reduce x"):
        made, x = made[:, root], x[:, root]
    np.testing.assert_array_equal(made, x)


def test_only_the_root_needs_the_data() -> None:
    text = """
algorithm f(A: real[P], B: out real[P], C: out real[P], root: index) on grid(r: P):
    local x: real[P] = A when r == root
    local t: real
    scatter x from root into t using METHOD
    local y: real[P]
    gather t onto root into y using METHOD
    output B[r] = t
    output C = y when r == root
"""
    for method in ("tree", "naive"):
        for size in (1, 4, 7):
            a = np.arange(size) + 1.0
            program = al.loads(text.replace("METHOD", method))["f"]
            made = program.run(A=a, B=0 * a, C=0 * a, root=size // 2, P=size).outputs
            np.testing.assert_array_equal(made["B"], a)
            np.testing.assert_array_equal(made["C"], a)


REFUSED = {
    "broadcast x from j": "cannot have a root that depends on `j`",
    "broadcast x along i from i": "cannot have a root that depends on `i`",
    "shift x by 1": "`shift` needs `along ...`",
    "reduce x onto 0 with + using chain": "it has `using tree`, `using naive`, `using reduce_scatter_gather`\n",
    "reduce x onto 0 with + using scatter_ring": "`reduce` has no algorithm `reduce_scatter_ring`",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_refused(statement: str) -> None:
    with pytest.raises(al.ArchlineError) as problem:
        al.loads(f"algorithm f() on grid(i: 2, j: 2):\n    local x: real[4] = 0\n    {statement}\n")
    assert REFUSED[statement] in f"{problem.value}\n"


# Counts
def arguments_of(name: str, processors: int, words: int) -> dict[str, Any]:
    """Arguments: a buffer `any[w]` has so many words, any other as many from each processor."""
    found: dict[str, Any] = {}
    for parameter in LIBRARY[name].node.parameters:
        match parameter.type:
            case s.OperatorType():
                found[parameter.name] = "+"
            case s.SizeType():
                found[parameter.name] = 3
            case s.IndexType():
                found[parameter.name] = processors // 2
            case s.ArrayType(shape=(s.Name(id="P"),)):
                found[parameter.name] = np.full((processors, processors), 1)
            case s.ArrayType(shape=(s.Name(id="w"),)):
                found[parameter.name] = np.ones((processors, words))
            case _:
                found[parameter.name] = np.ones((processors, processors * words))
    return found


def log(processors: int) -> int:
    """ceil(log2(P))."""
    return (processors - 1).bit_length()


def doubling(processors: int) -> int:
    """Steps on a hypercube, two more for processors that are over."""
    return log(processors) if processors & (processors - 1) == 0 else log(processors) + 1


SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16, 17)
WORDS_AND_MESSAGES: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "broadcast_tree": lambda p, w: (w * log(p), log(p)),
    "broadcast_naive": lambda p, w: (w * (p - 1), p - 1),
    "broadcast_chain": lambda p, w: (w * (p - 1), p - 1),
    "broadcast_scatter_allgather": lambda p, w: (2 * (w // p) * (p - 1), 2 * log(p)),
    "reduce_tree": lambda p, w: (w * log(p), log(p)),
    "reduce_naive": lambda p, w: (w * (p - 1), p - 1),
    "reduce_reduce_scatter_gather": lambda p, w: (2 * (w // p) * (p - 1), 2 * log(p)),
    "allreduce_recursive_doubling": lambda p, w: (w * doubling(p), doubling(p)),
    "allreduce_reduce_scatter_allgather": lambda p, w: (2 * (w // p) * (p - 1), 2 * log(p)),
    "allreduce_ring": lambda p, w: (2 * (w // p) * (p - 1), 2 * (p - 1)),
    "allreduce_tree": lambda p, w: (2 * w * log(p), 2 * log(p)),
    "scan_recursive_doubling": lambda p, w: (w * log(p), log(p)),
    "scan_chain": lambda p, w: (w * (p - 1), p - 1),
    "gather_tree": lambda p, w: (w * (p - 1), log(p)),
    "gather_naive": lambda p, w: (w * (p - 1), p - 1),
    "scatter_tree": lambda p, w: (w * (p - 1), log(p)),
    "scatter_naive": lambda p, w: (w * (p - 1), p - 1),
    "allgather_bruck": lambda p, w: (w * (p - 1), log(p)),
    "allgather_ring": lambda p, w: (w * (p - 1), p - 1),
    "allgather_naive": lambda p, w: (w * (p - 1), p - 1),
    "reduce_scatter_recursive_halving": lambda p, w: (w * (p - 1), log(p)),
    "reduce_scatter_ring": lambda p, w: (w * (p - 1), p - 1),
    "reduce_scatter_naive": lambda p, w: (w * (p - 1), p - 1),
    "alltoall_naive": lambda p, w: (w * (p - 1), p - 1),
    # A piece moves once for each bit of its distance.
    "alltoall_bruck": lambda p, w: (w * sum(q.bit_count() for q in range(p)), log(p)),
    "barrier_dissemination": lambda p, w: (0, log(p)),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", WORDS_AND_MESSAGES)
def test_words_and_messages(name: str, size: int) -> None:
    words = 2 * size
    counts = run(name, size, **arguments_of(name, size, words)).counts
    found = (counts.communication["words"], counts.communication["messages"])
    assert found == WORDS_AND_MESSAGES[name](size, words)


@pytest.mark.parametrize("name", [each for each in LIBRARY if each != "barrier_dissemination"])
def test_a_group_of_one_sends_nothing_and_has_no_temporary(name: str) -> None:
    arguments = arguments_of(name, 1, 6)
    counts = run(name, 1, **arguments).counts
    assert set(counts.communication.values()) == {0}
    assert counts.memory == sum(each.size for each in arguments.values() if isinstance(each, np.ndarray))


@pytest.mark.parametrize("name", list(LIBRARY))
@settings(max_examples=drawn(100, 8))
@given(size=st.integers(1, 17), words=st.integers(0, 40))
def test_claims_hold_in_runs(name: str, size: int, words: int) -> None:
    node = LIBRARY[name].node
    ran = run(name, size, **arguments_of(name, size, max(words, 1) if name.count("v_") else words))
    point = {**ran.sizes, "P": size}
    assert node.ensures
    for claim in node.ensures:
        if not all(evaluate_fact(fact, point) for fact in claim.when):
            continue
        bound, found = evaluate(claim.bound, point), ran.counts.communication[claim.metric]
        assert isinstance(bound, int | Fraction), f"{name} at {point}"
        assert found == bound if claim.relation == "==" else found <= bound, f"{name} at {point}"
