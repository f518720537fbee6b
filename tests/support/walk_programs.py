"""Generated programs whose integers the data moves along rows: up, down, by turns, from known places and unknown ones."""

from __future__ import annotations

import random

from io_programs import ArrayProgram, Lines, indented


def walk_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: counters that move through two vectors and a matrix, in loops of several kinds."""
    return ArrayProgram(
        "\n".join(_Walks(random.Random(seed)).text()) + "\n", {"a": ("n",), "b": ("n",), "A": ("m", "n")}, ("n", "m")
    )


class _Walks:
    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._counters: tuple[str, ...] = ()
        self._iterate_sharing_policies: dict[str, str] = {}

    def text(self) -> Lines:
        source = self._source
        body: Lines = []
        for number in range(source.choice((1, 1, 2))):
            self._counters = tuple(f"{name}{number}" for name in ("i", "j")[: source.choice((1, 1, 2))])
            body += self._nest()
        return ["algorithm main(a: inout real[n], b: inout real[n], A: inout real[m, n]):", *indented(body)]

    def _nest(self) -> Lines:
        """Counters, and a loop in which they move, perhaps around it another one that sets them anew, or does not."""
        source = self._source
        self._iterate_sharing_policies = {
            each: source.choice(("+=", "-=", "+=", "-=", "both")) for each in self._counters
        }
        start = [f"local {name}: int = {self._start(name)}" for name in self._counters]
        if source.random() < 0.2:
            start += [f"if a[0] > 0.5:\n{' ' * 12}{self._counters[0]} = n//2"]
        name = self._counters[0]
        if source.random() < 0.5:
            return [*start, *self._loop(name)]
        outer = source.choice(("for t in 0..3:", "for t in 0..min(n, 6):", "for t in 1..min(n, 9):"))
        if source.random() < 0.7:
            start = [each.replace("= 0", f"= {source.choice(('t', '0', 't//2'))}") for each in start]
            if source.random() < 0.4:
                start = [f"local {each}: int = t" for each in self._counters]
            return [outer, *indented([*start, *self._make_bound_rows(self._loop(name), name)])]
        return [*start, outer, *indented(self._loop(name))]

    def _make_bound_rows(self, loop: Lines, name: str) -> Lines:
        """What is accessed where the counters begin, and where they have come to."""
        source = self._source
        array = source.choice(("a[{}]", "b[{}]", "A[0, {}]", "A[m - 1, {}]"))
        before = ["if t < n:", f"    {array.format(source.choice(('t', 't', 'max(0, t - 1)')))} *= 0.5"]
        place = source.choice((name, name, f"{name} + 1", f"{name} - 1"))
        behind = [f"if {place} >= 0 and {place} < n:", f"    {array.format(place)} += 0.25"]
        before, behind = (each if source.random() < 0.6 else [] for each in (before, behind))
        return [*before, *loop, *behind]

    def _start(self, name: str) -> str:
        """Mostly where there is room to move."""
        if self._source.random() < 0.2:
            return self._source.choice(("1", "n", "n//2"))
        return {"+=": "0", "-=": "n - 1"}.get(self._iterate_sharing_policies[name], "n//2")

    def _loop(self, name: str) -> Lines:
        source = self._source
        ways = self._iterate_sharing_policies
        head = source.choice(
            (
                "for k in 0..n:",
                "for k in 0..n:",
                f"while {name} < n and {name} >= 0 at most {'n' if ways[name] != 'both' else '4*n'} + 3 times:",
                "for k in 0..min(n, 4):",
                "for k in n - 1 downto 0:",
            )
        )
        lines: Lines = []
        counted = head.startswith("for")
        for _ in range(source.choice((1, 2))):
            lines += self._step(counted)
        if not counted:
            sign = ways[name] if ways[name] != "both" else "+="
            lines = [each for each in lines if ways[name] != "both" or f"{name} -=" not in each] or ["pass"]
            lines += [f"{name} {sign} 1"]
        if source.random() < 0.2:
            lines = ["for s in 0..2:", *indented(lines)]
        return [head, *indented(lines)]

    def _step(self, counted: bool) -> Lines:
        """Accesses beside counters, and their moves, under conditions of the data."""
        source = self._source
        name = source.choice(self._counters)
        others = [each for each in self._counters if each != name]
        shifts = [source.choice((0, 0, 0, 0, 1, -1, 3)) for _ in range(3)]
        places = [f"{name} + {each}" if each >= 0 else f"{name} - {-each}" for each in shifts]
        if others and source.random() < 0.3:
            places[1] = f"{name} + {others[0]}"
        elif others and source.random() < 0.5:
            places[source.randrange(3)] = others[0]
        if counted and source.random() < 0.3:
            places[2] = source.choice((f"k - {name}", f"k - {name}", f"n - 1 - {name}", f"{name} + k"))
        row = source.choice(("0", "m - 1", "m//2"))
        arrays = [source.choice(("a[{}]", "a[{}]", "b[{}]", f"A[{row}, {{}}]")) for _ in range(3)]
        if source.random() < 0.15:
            arrays[0] = "v[{}]"
        guard = " and ".join(f"{each} >= 0 and {each} < n" for each in dict.fromkeys(places))
        one, two, three = (array.format(place) for array, place in zip(arrays, places, strict=True))
        way = (
            self._iterate_sharing_policies[name]
            if self._iterate_sharing_policies[name] != "both"
            else source.choice(("+=", "-="))
        )
        move = f"{name} {way} {source.choice((1, 1, 1, 2, 3))}"
        inner = [f"if {one} > 0.5:", *indented([f"{two} = {three}*0.7", move])]
        if source.random() < 0.5:
            more = [f"{two} += {three}", *([move] if source.random() < 0.5 else [])]
            inner += ["else:", *indented(more)]
        view = [f"let v = a[{source.choice(('0..n', '0..n', ':'))}]"] if arrays[0] == "v[{}]" else []
        return [f"if {guard}:", *indented([*view, *inner])]
