"""What the records of the standard library, and its algorithms of graphs, compute: states to draw, and Python's results.

The fields of a record are arguments of their own, `Q.items` and `Q.head`.
"""

from __future__ import annotations

import heapq
from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from stdlib_case import SIZE, Arguments, Build, Case, Expected, Random, Results

RETURNED = "return"
NEVER = np.iinfo(np.int64).max
"""What `inf` is where integers are stored."""

STRUCTURES: dict[str, Case] = {}
MANY = st.integers(1, 30)
FROM_ZERO = st.integers(0, 40)


def add(target: str, build: Build, expected: Expected, **sizes: st.SearchStrategy[int]) -> None:
    """Add the case of one algorithm."""
    assert target not in STRUCTURES
    STRUCTURES[target] = Case(sizes, build, expected)


def field(a: Any, name: str) -> Any:
    return vars(a)[name]


# Queues and stacks.
def queue(least: int, free: int = 0, **values: int) -> Build:
    """A queue with at least so many items and free places."""

    def build(rng: Random, cap: int) -> Arguments:
        cap += least + free
        head = int(rng.integers(cap - least - free + 1))
        tail = int(rng.integers(head + least, cap - free + 1))
        return {"Q.items": rng.integers(0, 99, cap), "Q.head": head, "Q.tail": tail, **values}

    return build


def queued(a: Any) -> deque[int]:
    return deque(field(a, "Q.items")[field(a, "Q.head") : field(a, "Q.tail")])


def pushed(a: Any) -> Results:
    items = field(a, "Q.items").copy()
    items[field(a, "Q.tail")] = a.x
    return {"Q.items": items, "Q.tail": field(a, "Q.tail") + 1}


def popped(a: Any) -> Results:
    return {"Q.head": field(a, "Q.head") + 1, RETURNED: queued(a).popleft()}


def unchanged(result: Any, *names: str) -> Expected:
    return lambda a: {**{name: field(a, name) for name in names}, RETURNED: result(a)}


add("structures.queue::queue.push", queue(0, 1, x=7), lambda a: {"Q.head": field(a, "Q.head"), **pushed(a)}, cap=SIZE)
add(
    "structures.queue::queue.pop",
    queue(1),
    lambda a: {"Q.items": field(a, "Q.items"), "Q.tail": field(a, "Q.tail"), **popped(a)},
    cap=SIZE,
)
add("structures.queue::queue.peek", queue(1), unchanged(lambda a: queued(a)[0]), cap=SIZE)
add("structures.queue::queue.length", queue(0), unchanged(lambda a: len(queued(a))), cap=SIZE)
add("structures.queue::queue.empty", queue(0), unchanged(lambda a: not queued(a)), cap=SIZE)


def stack(least: int, free: int = 0, **values: int) -> Build:
    def build(rng: Random, cap: int) -> Arguments:
        cap += least + free
        return {"S.items": rng.integers(0, 99, cap), "S.count": int(rng.integers(least, cap - free + 1)), **values}

    return build


def stacked(a: Any) -> list[int]:
    return list(field(a, "S.items")[: field(a, "S.count")])


def put_on_top(a: Any) -> Results:
    items, count = field(a, "S.items").copy(), field(a, "S.count")
    items[: count + 1] = [*stacked(a), a.x]
    return {"S.items": items, "S.count": count + 1}


def taken_from_top(a: Any) -> Results:
    items = stacked(a)
    top = items.pop()
    return {"S.items": field(a, "S.items"), "S.count": len(items), RETURNED: top}


add("structures.stack::stack.push", stack(0, 1, x=7), put_on_top, cap=SIZE)
add("structures.stack::stack.pop", stack(1), taken_from_top, cap=SIZE)
add("structures.stack::stack.peek", stack(1), unchanged(lambda a: stacked(a)[-1]), cap=SIZE)
add("structures.stack::stack.length", stack(0), unchanged(lambda a: len(stacked(a))), cap=SIZE)
add("structures.stack::stack.empty", stack(0), unchanged(lambda a: not stacked(a)), cap=SIZE)


# Heaps, whose keys differ, so that they determine where items are.
def write_heap(item: Any, key: Any, layout: list[int]) -> Arguments:
    place = np.zeros(len(item), dtype=np.int64)
    place[layout] = 1 + np.arange(len(layout))
    item = item.copy()
    item[: len(layout)] = layout
    return {"H.item": item, "H.key": key, "H.place": place, "H.count": len(layout)}


def make_heap(rng: Random, cap: int, count: int) -> tuple[Any, list[int]]:
    """Keys of all items, and the items of a heap as they lie in it."""
    key = rng.permutation(cap).astype(float)
    pairs = [(key[item], int(item)) for item in rng.permutation(cap)[:count]]
    heapq.heapify(pairs)
    return key, [item for _, item in pairs]


def heap(least: int, free: int = 0) -> Build:
    def build(rng: Random, cap: int) -> Arguments:
        cap += least + free
        key, layout = make_heap(rng, cap, int(rng.integers(least, cap - free + 1)))
        return write_heap(np.zeros(cap, dtype=np.int64), key, layout)

    return build


def outside_heap(rng: Random, cap: int) -> Arguments:
    """A heap with a free place, an item that is not in it, and its key."""
    arguments = heap(0, 1)(rng, cap)
    outside = np.flatnonzero(arguments["H.place"] == 0)
    return {**arguments, "v": int(rng.choice(outside)), "k": float(rng.integers(cap + 1)) + 0.5}


def layout_of(a: Any) -> list[int]:
    return [int(item) for item in field(a, "H.item")[: field(a, "H.count")]]


def inserted(a: Any) -> Results:
    key = field(a, "H.key").copy()
    key[a.v] = a.k
    pairs = [(key[item], item) for item in layout_of(a)]
    heapq.heappush(pairs, (a.k, a.v))
    return write_heap(field(a, "H.item"), key, [item for _, item in pairs])


def with_hole_below(rng: Random, cap: int) -> Arguments:
    """A heap whose last position is for a further item, which has its key already."""
    arguments = outside_heap(rng, cap)
    key = arguments["H.key"].copy()
    key[arguments["v"]] = arguments.pop("k")
    count = arguments["H.count"]
    return {**arguments, "H.key": key, "H.count": count + 1, "position": count}


def sifted_up(a: Any) -> Results:
    state = vars(a) | {"H.count": a.position, "k": field(a, "H.key")[a.v]}
    return inserted(SimpleNamespace(**state))


def extracted(a: Any) -> Results:
    key, layout = field(a, "H.key"), layout_of(a)
    pairs = [(key[item], item) for item in layout]
    _, least = heapq.heappop(pairs)
    return {**write_heap(field(a, "H.item"), key, [item for _, item in pairs]), RETURNED: least}


def with_hole_above(rng: Random, cap: int) -> Arguments:
    """A heap whose first position is for the item that was the last one."""
    arguments = heap(2)(rng, cap)
    count, place = arguments["H.count"] - 1, arguments["H.place"].copy()
    first, last = arguments["H.item"][0], arguments["H.item"][count]
    place[first] = 0
    return {**arguments, "H.place": place, "H.count": count, "v": int(last)}


def sifted_down(a: Any) -> Results:
    results = extracted(SimpleNamespace(**(vars(a) | {"H.count": field(a, "H.count") + 1})))
    return {name: value for name, value in results.items() if name != RETURNED}


def with_smaller_key(rng: Random, cap: int) -> Arguments:
    arguments = outside_heap(rng, cap)
    v = int(rng.integers(len(arguments["H.key"])))
    return {**arguments, "v": v, "k": min(float(arguments["H.key"][v]), arguments["k"]) - 0.25}


def decreased(a: Any) -> Results:
    if field(a, "H.place")[a.v] == 0:
        return inserted(a)
    key, layout = field(a, "H.key").copy(), layout_of(a)
    key[a.v] = a.k
    at = layout.index(a.v)
    while at > 0 and key[layout[(at - 1) // 2]] > a.k:
        parent = (at - 1) // 2
        layout[at], layout[parent] = layout[parent], layout[at]
        at = parent
    return write_heap(field(a, "H.item"), key, layout)


def with_item(build: Build) -> Build:
    return lambda rng, cap: {**build(rng, cap), "v": int(rng.integers(cap))}


def emptied(a: Any) -> Results:
    state = {name: field(a, name) for name in ("H.item", "H.key", "H.count")}
    return {**state, "H.place": np.zeros_like(field(a, "H.place"))}


add("structures.heap::heap.start", heap(0), emptied, cap=SIZE)
add("structures.heap::heap.insert", outside_heap, inserted, cap=MANY)
add("structures.heap::heap.sift_up", with_hole_below, sifted_up, cap=MANY)
add("structures.heap::heap.extract_min", heap(1), extracted, cap=MANY)
add("structures.heap::heap.sift_down", with_hole_above, sifted_down, cap=MANY)
add("structures.heap::heap.decrease_key", with_smaller_key, decreased, cap=MANY)
add("structures.heap::heap.peek", heap(1), unchanged(lambda a: layout_of(a)[0]), cap=SIZE)
add("structures.heap::heap.contains", with_item(heap(0)), unchanged(lambda a: a.v in layout_of(a)), cap=SIZE)
add("structures.heap::heap.length", heap(0), unchanged(lambda a: len(layout_of(a))), cap=SIZE)
add("structures.heap::heap.empty", heap(0), unchanged(lambda a: not layout_of(a)), cap=SIZE)


# Maps: a key goes to the first free place from its remainder on.
def map_of(free: int, known: bool = False) -> Build:
    """A map with so many free places, and a key `k`, one that has a value or any."""

    def build(rng: Random, cap: int) -> Arguments:
        cap += free + known
        keys = [int(k) for k in rng.permutation(3 * cap)[: rng.integers(known, cap - free + 1)]]
        key, value = np.zeros(cap, dtype=np.int64), rng.integers(0, 99, cap)
        for k in keys:
            key[next(place for place in places(k, cap) if key[place] == 0)] = k + 1
        k = int(rng.choice(keys)) if known else int(rng.integers(3 * cap))
        return {"M.key": key, "M.value": value, "M.count": len(keys), "k": k}

    return build


def places(k: int, cap: int) -> list[int]:
    return [(k + step) % cap for step in range(cap)]


def place_of(a: Any) -> int:
    key = field(a, "M.key")
    return next(place for place in places(a.k, len(key)) if key[place] in (0, a.k + 1))


def read_map(a: Any) -> dict[int, int]:
    pairs = zip(field(a, "M.key"), field(a, "M.value"), strict=True)
    return {int(k) - 1: int(value) for k, value in pairs if k}


def put(a: Any) -> Results:
    key, value = field(a, "M.key").copy(), field(a, "M.value").copy()
    key[place_of(a)], value[place_of(a)] = a.k + 1, a.x
    return {"M.key": key, "M.value": value, "M.count": len({*read_map(a), a.k})}


def with_value(build: Build) -> Build:
    return lambda rng, cap: {**build(rng, cap), "x": int(rng.integers(99))}


def without(build: Build, *names: str) -> Build:
    return lambda rng, **sizes: {name: value for name, value in build(rng, **sizes).items() if name not in names}


def cleared(a: Any) -> Results:
    return {"M.key": np.zeros_like(field(a, "M.key")), "M.value": field(a, "M.value"), "M.count": field(a, "M.count")}


add("structures.map::map.start", without(map_of(1), "k"), cleared, cap=SIZE)
add("structures.map::map.place", map_of(1), unchanged(place_of), cap=SIZE)
add("structures.map::map.put", with_value(map_of(2)), put, cap=SIZE)
add("structures.map::map.get", map_of(1, known=True), unchanged(lambda a: read_map(a)[a.k]), cap=SIZE)
add("structures.map::map.contains", map_of(1), unchanged(lambda a: a.k in read_map(a)), cap=SIZE)
add("structures.map::map.length", without(map_of(1), "k"), unchanged(lambda a: len(read_map(a))), cap=SIZE)


# Disjoint sets: trees in which each parent has a larger rank.
def forest(*names: str) -> Build:
    def build(rng: Random, n: int) -> Arguments:
        rank = rng.integers(0, 4, n)
        above = [np.flatnonzero(rank > rank[v]) for v in range(n)]
        parent = [int(rng.choice(found)) if len(found) and rng.random() < 0.8 else v for v, found in enumerate(above)]
        return {"U.parent": np.array(parent), "U.rank": rank, **{name: int(rng.integers(n)) for name in names}}

    return build


def roots(rng: Random, n: int) -> Arguments:
    arguments = forest()(rng, n + 1)
    parent = arguments["U.parent"].copy()
    parent[:2] = (0, 1)
    return {**arguments, "U.parent": parent, "a": 0, "b": 1}


def path_from(parent: Any, v: int) -> list[int]:
    path = [v]
    while parent[path[-1]] != path[-1]:
        path.append(int(parent[path[-1]]))
    return path


def halve(parent: Any, v: int) -> int:
    """Let every other element of the path from v point to its grandparent; return the last one."""
    path = path_from(parent, v)
    for at in range(0, len(path) - 1, 2):
        parent[path[at]] = path[min(at + 2, len(path) - 1)]
    return path[-1]


def found(a: Any) -> Results:
    parent = field(a, "U.parent").copy()
    root = halve(parent, a.v)
    return {"U.parent": parent, "U.rank": field(a, "U.rank"), RETURNED: root}


def linked(parent: Any, rank: Any, a: int, b: int) -> Results:
    parent, rank = parent.copy(), rank.copy()
    low, high = (a, b) if rank[a] < rank[b] else (b, a)
    rank[high] += rank[a] == rank[b]
    parent[low] = high
    return {"U.parent": parent, "U.rank": rank}


def united(a: Any) -> Results:
    parent, rank = field(a, "U.parent").copy(), field(a, "U.rank")
    first, second = halve(parent, a.u), halve(parent, a.v)
    return {"U.parent": parent, "U.rank": rank} if first == second else linked(parent, rank, first, second)


def singles(a: Any) -> Results:
    n = len(field(a, "U.parent"))
    return {"U.parent": np.arange(n), "U.rank": np.zeros(n)}


add("structures.union_find::union_find.start", forest(), singles, n=MANY)
add("structures.union_find::union_find.find", forest("v"), found, n=MANY)
add("structures.union_find::union_find.union", forest("u", "v"), united, n=MANY)
add(
    "structures.union_find::union_find.link",
    roots,
    lambda a: linked(field(a, "U.parent"), field(a, "U.rank"), a.a, a.b),
    n=MANY,
)


# Graphs, with loops, parallel edges and vertices without any.
def graph(rng: Random, vertices: int, edges: int) -> Arguments:
    counts = rng.multinomial(edges, rng.dirichlet(np.full(vertices, 0.5)))
    return {
        "G.ptr": np.concatenate(([0], np.cumsum(counts))),
        "G.adj": rng.integers(0, vertices, edges),
        "s": int(rng.integers(vertices)),
    }


def list_edges(a: Any) -> list[tuple[int, int]]:
    ptr = field(a, "G.ptr")
    sources = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    return list(zip(sources.tolist(), field(a, "G.adj").tolist(), strict=True))


def levels(a: Any) -> Results:
    """Distances by rounds over all edges."""
    count = len(field(a, "G.ptr")) - 1
    dist = [0 if v == a.s else NEVER for v in range(count)]
    for level in range(count):
        for u, v in list_edges(a):
            if dist[u] == level and dist[v] == NEVER:
                dist[v] = level + 1
    return {"dist": np.array(dist)}


def lengths(a: Any) -> Results:
    """Bellman and Ford's distances."""
    count = len(field(a, "G.ptr")) - 1
    dist = [0.0 if v == a.s else np.inf for v in range(count)]
    for _ in range(count):
        for (u, v), length in zip(list_edges(a), a.w, strict=True):
            dist[v] = min(dist[v], dist[u] + length)
    return {"dist": np.array(dist)}


def weighted(rng: Random, vertices: int, edges: int) -> Arguments:
    return {**graph(rng, vertices, edges), "w": rng.uniform(0, 3, edges)}


def network(rng: Random, n: int, m: int) -> Arguments:
    """Edges whose weights differ, so that the lightest forest is unique."""
    return {"n": n, "u": rng.integers(0, n, m), "v": rng.integers(0, n, m), "w": rng.permutation(m) + 0.5}


def lightest_forest(a: Any) -> Results:
    """An edge is in the forest unless lighter ones join its ends."""
    tree = np.zeros(len(a.w), dtype=np.int64)
    for e, weight in enumerate(a.w):
        lighter = [other for other in range(len(a.w)) if a.w[other] < weight]
        reached, grew = {int(a.u[e])}, True
        while grew:
            near = {int(x) for o in lighter for x in (a.u[o], a.v[o]) if {int(a.u[o]), int(a.v[o])} & reached}
            grew, reached = not near <= reached, reached | near
        tree[e] = int(a.v[e]) not in reached
    return {"tree": tree, RETURNED: float(a.w[tree == 1].sum())}


add("graph.bfs::bfs", graph, levels, vertices=SIZE, edges=FROM_ZERO)
add("graph.dijkstra::dijkstra", weighted, lengths, vertices=SIZE, edges=FROM_ZERO)
add("graph.kruskal::kruskal", network, lightest_forest, n=SIZE, m=st.integers(0, 20))


# Sorting with what belongs to the keys, with few distinct keys.
def keyed(rng: Random, n: int) -> Arguments:
    key = rng.integers(0, 6, n).astype(float)
    return {"key": key, "first": rng.integers(0, 99, n), "second": np.arange(n)}


def sorted_by(a: Any) -> Results:
    order = np.argsort(a.key, kind="stable")
    return {"key": a.key[order], "first": a.first[order], "second": a.second[order]}


def two_keyed(rng: Random, n: int, m: int) -> Arguments:
    a, b = np.sort(rng.integers(0, 6, n)).astype(float), np.sort(rng.integers(0, 6, m)).astype(float)
    return {"a": a, "p": np.arange(n), "q": -np.arange(n), "b": b, "r": 100 + np.arange(m), "s": -100 - np.arange(m)}


def merged_by(a: Any) -> Results:
    order = np.argsort(np.concatenate((a.a, a.b)), kind="stable")
    pairs = {"c": (a.a, a.b), "t": (a.p, a.r), "u": (a.q, a.s)}
    return {name: np.concatenate(pair)[order] for name, pair in pairs.items()}


def sorted_parts(rng: Random, p: int, q: int) -> Arguments:
    key = rng.integers(0, 6, p + q + 1).astype(float)
    at = rng.permutation(p + q + 1)[: p + q]
    first, second = (part[np.argsort(key[part], kind="stable")] for part in (at[:p], at[p:]))
    return {"key": key, "a": first, "b": second}


def merged_places(a: Any) -> Results:
    both = np.concatenate((a.a, a.b))
    return {"c": both[np.argsort(a.key[both], kind="stable")]}


def some_places(rng: Random, n: int, more: int) -> Arguments:
    return {"key": rng.integers(0, 6, n + more).astype(float), "place": rng.permutation(n + more)[:n]}


def split(a: Any) -> Results:
    """Lomuto's exchanges: keys up to the last one change places with those above it."""
    keys, last = list(a.a), a.a[-1]
    small = 0
    for at in range(len(keys)):
        if keys[at] <= last:
            keys[at], keys[small] = keys[small], keys[at]
            small += 1
    return {"a": np.array(keys), RETURNED: small - 1}


add("sort.sort::sort", lambda rng, n: {"a": keyed(rng, n)["key"]}, lambda a: {"a": np.sort(a.a)}, n=FROM_ZERO)
add("sort.sort::sort_by", keyed, sorted_by, n=FROM_ZERO)
add("sort.sort::merge_by", two_keyed, merged_by, n=FROM_ZERO, m=FROM_ZERO)
add("sort.sort::merge_order", sorted_parts, merged_places, p=FROM_ZERO, q=FROM_ZERO)
add(
    "sort.sort::sort_places",
    some_places,
    lambda a: {"place": a.place[np.argsort(a.key[a.place], kind="stable")]},
    n=FROM_ZERO,
    more=SIZE,
)
add(
    "sort.sort::order",
    lambda rng, n: {"key": keyed(rng, n)["key"]},
    lambda a: {"place": np.argsort(a.key, kind="stable")},
    n=FROM_ZERO,
)
add("sort.sort::partition", lambda rng, n: {"a": keyed(rng, n)["key"]}, split, n=SIZE)
