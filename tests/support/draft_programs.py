"""Random first drafts: programs in the spellings of several languages that compose what the language has, and end."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

Lines = list[str]
HEADERS = ("def", "algorithm", "function", "procedure")


class Names:
    """The names that a block may use, by what they hold."""

    def __init__(self, outer: Names | None = None) -> None:
        self.reals: list[str] = list(outer.reals) if outer else []
        self.integers: list[str] = list(outer.integers) if outer else []
        self.flags: list[str] = list(outer.flags) if outer else []
        self.indices: list[str] = list(outer.indices) if outer else []
        self.vectors: list[str] = list(outer.vectors) if outer else []
        """Arrays of n reals."""
        self.written: list[str] = list(outer.written) if outer else []
        """Arrays of n reals that may be written."""
        self.sized: bool = outer.sized if outer else True
        """Whether there is a size n."""
        self.fixed: set[str] = set(outer.fixed) if outer else set()
        """Registers that the enclosing loops count with."""


def draft_from_seed(seed: int, depth: int | None = None) -> str:
    """Return a program whose last algorithm is `f`."""
    return _Writer(random.Random(seed), depth).write()


def arguments_of(text: str, seed: int, n: int) -> dict[str, Any]:
    """Return arguments of `f` for a size."""
    source = np.random.default_rng(seed * 1000 + n)
    m = max(1, (n * 2) // 3)
    given: dict[str, Any] = {
        "a": source.integers(0, 9, n) / 4.0,
        "k": source.integers(0, n, n),
        "x": source.integers(0, 9, n) / 4.0,
        "A": source.integers(0, 9, (n, m)) / 4.0,
        "C": source.integers(0, 9, (n, m)) / 4.0,
        "z": source.integers(0, 9, m) / 4.0,
        "s": float(source.integers(0, 9)) / 4.0,
        "key": int(source.integers(0, 7)),
        "c": int(source.integers(1, 5)),
        "total": 1.5,
    }
    header = text[text.rindex(" f(") :].split("\n")[0]
    return {name: value for name, value in given.items() if f"{name}:" in header}


class _Writer:
    def __init__(self, source: random.Random, depth: int | None) -> None:
        self._source = source
        self._depth = depth or source.choice((1, 2, 2, 3, 3, 4))
        self._made = 0
        self._dead: list[str] = []
        self._callees: dict[str, str] = {}
        self._loops: list[str] = []
        """What surrounds a statement: `loop` or `parallel`, the innermost last."""
        self._result: str | None = None
        self._matrices = False
        self._budget = 0
        self._records: list[str] = []

    # Choices
    def _chance(self, share: float) -> bool:
        return self._source.random() < share

    def _pick(self, *options: Any) -> Any:
        return self._source.choice(options)

    def _name(self, stem: str) -> str:
        """Return a new name, or one of a block that has ended."""
        if self._dead and not self._parallel and self._chance(0.3):
            return self._dead.pop(self._source.randrange(len(self._dead)))
        self._made += 1
        return f"{stem}{self._made}"

    def _new_name(self, stem: str) -> str:
        self._made += 1
        return f"{stem}{self._made}"

    # Programs
    def write(self) -> str:
        parts: list[str] = []
        if self._chance(0.3):
            parts.append("let half(u) = u//2\n")
            self._callees["half"] = "abbreviation"
        makers = [
            self._write_number, self._write_count, self._write_procedure, self._write_outer, self._write_recursion,
            self._write_halves, self._write_pair,
        ]  # fmt: skip
        for make in self._source.sample(makers, self._source.randint(0, 2)):
            parts.append(make())
        parts.append(self._write_main())
        return "\n".join(parts)

    def _algorithm(self, name: str, parameters: str, result: str | None, names: Names, depth: int) -> str:
        self._result, self._dead, self._loops = result, [], []
        self._budget = 4 + 4 * depth
        body = self._block(names, depth)
        if result is not None:
            value = self._real(names, 1) if result == "real" else self._integer(names, 1)
            body.append(f"return {value}")
        arrow = f" -> {result}" if result is not None and self._chance(0.4) else ""
        head = f"{self._pick(*HEADERS)} {name}({parameters}){arrow}{self._pick(':', ':', '')}"
        return "\n".join([head, *self._indent(body), ""])

    def _write_number(self) -> str:
        names = Names()
        names.reals, names.integers, names.sized = ["u"], ["v"], False
        text = self._algorithm("g", "u: real, v: int", "real", names, self._pick(0, 1))
        self._callees["g"] = "number"
        return text

    def _write_count(self) -> str:
        names = Names()
        names.integers = ["v"]
        names.vectors = ["a"]
        text = self._algorithm("h", "a: real[n], k: int[n], v: int", "int", names, self._pick(1, 2))
        self._callees["h"] = "count"
        return text

    def _write_procedure(self) -> str:
        names = Names()
        names.reals, names.vectors, names.written = ["w"], ["x"], ["x"]
        header = "k: int[n], x: inout real[n], w: inout real"
        text = self._algorithm("p", header, None, names, self._pick(1, 2))
        self._callees["p"] = "procedure"
        return text

    def _write_pair(self) -> str:
        text = f"{self._pick(*HEADERS)} split_up(v: int, low: out int, high: inout int):\n    low = v % 3\n    high += v//3\n"
        self._callees["split_up"] = "pair"
        return text

    def _write_outer(self) -> str:
        self._callees["outer"] = "outer"
        return (
            "def outer(u: real[n], v: real[m], M: out real[n, m]):\n    for i in range(n):\n        M[i, :] = u[i]*v\n"
        )

    def _write_recursion(self) -> str:
        self._callees["fib"] = "recursion"
        step = self._pick("fib(n - 1) + fib(n - 2)", "fib(n//2) + 1", "2*fib(n - 1)")
        return f"def fib(n: size)\n    if n < 2: return n\n    return {step}\n"

    def _write_halves(self) -> str:
        self._callees["halve"] = "halves"
        names = Names()
        names.reals = ["w"]
        self._loops = []
        self._result = None
        self._budget = 3
        inner = self._block(names, 0)
        lines = ["if n > 1:", "    m = n//2", "    halve(k[0..m], x[:m], w)", "    halve(k[m:], x[m..n], w)"]
        body = self._indent(inner + lines if self._chance(0.5) else lines + inner)
        return "\n".join(["def halve(k: int[n], x: inout real[n], w: real)", *body, ""])

    def _write_main(self) -> str:
        names = Names()
        parameters = ["a: real[n]", "k: int[n]", "x: inout real[n]"]
        names.vectors, names.written = ["a", "x"], ["x"]
        if self._chance(0.35) or "outer" in self._callees:
            parameters += ["A: real[n, m]", "C: inout real[n, m]", "z: real[m]"]
            self._matrices = True
        for parameter, kind in (
            ("s: real", names.reals),
            ("key: int", names.integers),
            ("total: inout real", names.reals),
        ):
            if self._chance(0.5):
                parameters.append(parameter)
                kind.append(parameter.split(":")[0])
        result = self._pick(None, None, "real", "int")
        return self._algorithm("f", ", ".join(parameters), result, names, self._depth)

    # Blocks
    @staticmethod
    def _indent(lines: Lines) -> Lines:
        return [f"    {line}" for line in lines]

    @contextmanager
    def _within(self, kind: str) -> Iterator[None]:
        self._loops.append(kind)
        try:
            yield
        finally:
            self._loops.pop()

    @property
    def _parallel(self) -> bool:
        return "parallel" in self._loops

    def _block(self, outer: Names, depth: int) -> Lines:
        names = Names(outer)
        lines: Lines = []
        count = self._source.randint(1, 3 if depth else 2)
        for number in range(count):
            self._budget -= 1
            if self._budget < 0 and lines:
                break
            lines += self._statement(names, depth)
            if number == count - 1:
                break
        for kind in ("reals", "integers", "flags") if not self._parallel else ():
            self._dead += [name for name in getattr(names, kind) if name not in getattr(outer, kind) and name[0] != "w"]
        return lines

    def _put(self, head: str, body: Lines, word: str = "do") -> Lines:
        if (
            len(body) == 1
            and not body[0].startswith((" ", "if ", "for ", "foreach ", "while ", "repeat", "parallel "))
            and self._chance(0.4)
        ):
            return [f"{head}: {body[0]}"]
        return [f"{head}{self._pick(':', ':', ':', '', f' {word}')}", *self._indent(body)]

    def _statement(self, names: Names, depth: int) -> Lines:
        choices: list[tuple[float, Callable[[Names, int], Lines]]] = [
            (3, self._set_new), (2, self._update), (2, self._set_element), (1, self._exchange), (1.2, self._reduce),
        ]  # fmt: skip
        if not self._parallel:
            choices += [(1.5, self._whole), (1, self._call)]
        if depth > 0:
            choices += [(3, self._if), (4 if names.sized else 0, self._for)]
            if not self._parallel and names.sized:
                choices += [(2.5, self._while), (0.7, self._structure), (0.6, self._over)]
            if "parallel" not in self._loops and not names.indices and names.sized:
                choices += [(1, self._in_parallel)]
        if self._loops and "parallel" not in self._loops:
            choices += [(0.8, self._leave)]
        elif not self._loops:
            choices += [(0.3, self._return)]
        weights, makers = zip(*choices, strict=True)
        return self._source.choices(makers, weights)[0](names, depth)  # type: ignore[no-any-return]

    # Statements
    def _set_new(self, names: Names, depth: int) -> Lines:
        sign = self._pick("=", "=", "=", ":=", "<-")
        match self._pick("real", "real", "int", "int", "flag", "let", "local", "zero", "choice"):
            case "real":
                name, value, kind = self._name("r"), self._real(names, 2), names.reals
            case "int":
                name, value, kind = self._name("q"), self._integer(names, 2), names.integers
            case "flag":
                name, value, kind = self._name("b"), self._pick("false", "true", self._comparison(names)), names.flags
            case "let":
                name = self._new_name("j")
                value, kind = self._index(names, False), names.indices
            case "zero":
                # A literal takes the type of what is added later.
                name = self._name("t")
                lines = [f"{name} {sign} 0"]
                kind = names.reals if self._chance(0.6) else names.integers
                lines.append(f"{name} += {self._real(names, 1) if kind is names.reals else self._integer(names, 1)}")
                kind.append(name)
                return lines
            case "choice":
                name, kind = self._name("r"), names.reals
                value = f"{self._real(names, 1)} if {self._condition(names, 1)} else {self._real(names, 1)}"
            case _:
                name, kind, sign = self._new_name("w"), names.reals, "="
                value = self._real(names, 1)
                kind.append(name)
                return [f"local {name}: real = {value}"]
        if name in value.replace("(", " ").replace(")", " ").split():
            return ["pass"]
        kind.append(name)
        return [f"{name} {sign} {value}"]

    def _update(self, names: Names, depth: int) -> Lines:
        integers = [name for name in names.integers if name not in names.fixed]
        if self._parallel:
            return self._set_element(names, depth)
        if integers and self._chance(0.5):
            name = self._source.choice(integers)
            return [
                self._pick(
                    f"{name}++",
                    f"{name} += {self._integer(names, 0) if not self._loops else 1}",
                    f"{name} = ({name}*3 + 1) mod 7",
                    f"{name} %= 5",
                    f"{name} max= 2",
                )
            ]
        if names.reals:
            name = self._source.choice(names.reals)
            return [
                self._pick(
                    f"{name} += {self._real(names, 2)}",
                    f"{name} *= 0.5",
                    f"{name} min= {self._real(names, 1)}",
                    f"{name} = {self._real(names, 2)}",
                )
            ]
        return self._set_element(names, depth)

    def _set_element(self, names: Names, depth: int) -> Lines:
        target = f"x[{self._place(names)}]" if not self._parallel else f"x[{names.indices[0]}]"
        if self._parallel:
            vector = target
        elif names.written:
            vector = f"{self._source.choice(names.written)}[{self._place(names)}]"
        else:
            return ["pass"]
        value = self._real(names, 2)
        return [
            self._pick(
                f"{vector} = {value}",
                f"{vector} += {value}",
                f"{vector} -= 0.25",
                f"{vector} *= 0.5",
                f"{vector} max= {self._real(names, 1)}",
            )
        ]

    def _exchange(self, names: Names, depth: int) -> Lines:
        if self._parallel:
            return self._set_element(names, depth)
        integers = [name for name in names.integers if name not in names.fixed]
        options: list[str] = []
        if names.written:
            one, two = (f"{self._source.choice(names.written)}[{self._place(names)}]" for _ in range(2))
            options += [f"{one}, {two} = {two}, {one}", f"swap({one}, {two})"]
        if len(names.reals) > 1:
            one, two = self._source.sample(names.reals, 2)
            options += [f"{one}, {two} = {two}, {self._real(names, 1)}", f"swap({one}, {two})"]
        if len(integers) > 1:
            one, two = self._source.sample(integers, 2)
            options += [f"{one}, {two} = {two}, {one} mod 3", f"{one}, {two} = 1, {one}"]
        if not options:
            return ["pass"]
        return [self._source.choice(options)]

    def _reduce(self, names: Names, depth: int) -> Lines:
        if not names.vectors:
            return ["pass"]
        vector, other = self._source.choice(names.vectors), self._source.choice(names.vectors)
        where = "" if self._chance(0.5) else f" if {vector}[u] > {self._pick('0.5', '1', f'{other}[u]')}"
        values = [
            f"sum({vector}[u]*0.5 for u in {self._pick('0..n', 'range(n)')}{where})", f"dot({vector}, {other})",
            f"max({vector})", f"min({vector})", f"norm({vector})", f"sum({vector})", f"max({vector}[u] + 1.0 for u in 0..n{where})",
        ]  # fmt: skip
        value = self._source.choice(values)
        if self._chance(0.25):
            name = self._name("q")
            names.integers.append(name)
            return [f"{name} = sum({vector}[u] > 1.0 for u in 0..n)"]
        name = self._name("r")
        names.reals.append(name)
        return [f"{name} = {self._pick(value, f'0.5*{value} + 1', value)}"]

    def _whole(self, names: Names, depth: int) -> Lines:
        if not names.written:
            return ["pass"]
        target, one, two = (
            self._source.choice(names.written),
            self._source.choice(names.vectors),
            self._source.choice(names.vectors),
        )
        number = self._real(names, 1)
        lines = [
            f"{target} += {number}*{one}", f"{target} = {one} + {two}*0.5", f"{target} = 0.5*{one}", f"{target}[:] = {number}",
            f"{target} = {one}", f"{target} -= {one}/2.0", f"{target}[1:] += {one}[0..n-1]", f"{target}[0..n-1] = {two}[1..n]",
            f"{target} = -{one}", f"{target} *= 0.5", f"{target} = sqrt({one}*{one})", f"{target}[1..n] = {target}[:n-1]*0.5",
        ]  # fmt: skip
        if self._matrices and "x" in names.written and "a" in names.vectors:
            lines += [
                "x += A @ z", "x = A @ z", "C += A", "C[:, 0] = a", f"C = {number}*A - C", "C = A", "x += C @ z - a",
                "C -= 0.5*C",
            ]  # fmt: skip
            if names.indices and all(index.startswith("i") for index in names.indices):
                lines += [f"C[{names.indices[-1]}, :] -= a[{names.indices[-1]}]*z"]
            if "outer" in self._callees:
                lines += [f"C = outer({one}, z)"] * 2
        if self._chance(0.3):
            name = self._new_name("V")
            names.vectors.append(name)
            if self._chance(0.5):
                names.written.append(name)
                return [f"local {name}: real[n] = {self._pick('0', '1.5', one)}"]
            return [f"{name} = {self._pick(f'{one} + {two}', f'0.5*{one}', f'-{one}')}"]
        return [self._source.choice(lines)]

    def _call(self, names: Names, depth: int) -> Lines:
        options: list[Lines] = []
        for name, kind in self._callees.items():
            match kind:
                case "procedure" if names.written:
                    vector = self._source.choice(names.written)
                    places = [*names.reals[:2]]
                    others = [other for other in names.written if other != vector]
                    if others:
                        places.append(f"{others[0]}[{self._place(names)}]")
                    if places:
                        options.append([f"{name}(k, {vector}, {self._source.choice(places)})"])
                case "halves" if names.written:
                    options.append([f"{name}(k, {self._source.choice(names.written)}, {self._real(names, 1)})"])
                case "pair":
                    one, two = self._new_name("q"), self._new_name("q")
                    if names.sized:
                        options.append([f"{two} = 1", f"split_up({self._integer(names, 1)}, {one}, {two})"])
                case "count" if names.vectors:
                    new = self._name("q")
                    options.append(
                        [f"{new} = {name}({self._source.choice(names.vectors)}, k, {self._integer(names, 1)}) + 1"]
                    )
                case _:
                    pass
        if not options:
            return self._set_new(names, depth)
        chosen = self._source.choice(options)
        if chosen[-1].startswith("split_up"):
            one, two = chosen[-1].rstrip(")").split(", ")[-2:]
            words = set(chosen[-1].replace("(", " ").replace(")", " ").replace(",", " ").split())
            names.integers += [name for name in (one, two) if name not in names.integers]
            if chosen[-1].count(one) > 1 or chosen[-1].count(two) > 1 or not words:
                return ["pass"]
        elif " = h(" in chosen[0]:
            names.integers.append(chosen[0].split(" ")[0])
        return chosen

    def _if(self, names: Names, depth: int) -> Lines:
        lines = self._put(f"if {self._condition(names, 2)}", self._block(names, depth - 1), "then")
        while self._chance(0.3):
            word = self._pick("elif", "else if", "elseif")
            lines += self._put(f"{word} {self._condition(names, 1)}", self._block(names, depth - 1), "then")
        if self._chance(0.4):
            body = self._block(names, depth - 1)
            lines += ["else:", *self._indent(body)]
        return lines

    def _loop_header(self, variable: str, names: Names) -> str:
        inner = names.indices[-1] if names.indices and names.indices[-1].startswith("i") else "0"
        return self._pick(
            f"for {variable} in 0..n", f"for {variable} in range(n)", f"for {variable} = 0 to n-1", f"for {variable} in {inner}..n",
            f"for {variable} in range({inner}, n)", f"for {variable} from 1 to n-1", f"for {variable} in n-1 downto 0",
            f"for {variable} in range(0, n, 2)", f"for {variable} in 0..n step 3", f"foreach {variable} in 0..=n-1",
            f"for {variable} in 0..n//2", f"for {variable} in 0..{inner}",
        )  # type: ignore[no-any-return]  # fmt: skip

    def _for(self, names: Names, depth: int) -> Lines:
        variable = self._new_name("i")
        head = self._loop_header(variable, names)
        inner = Names(names)
        inner.indices.append(variable)
        with self._within("loop"):
            body = self._block(inner, depth - 1)
        return self._put(head, body)

    def _in_parallel(self, names: Names, depth: int) -> Lines:
        variable = self._new_name("i")
        inner = Names(names)
        inner.indices = [variable]
        if "x" not in names.written:
            return ["pass"]
        if self._chance(0.3):
            total = self._new_name("s")
            value = self._pick(f"x[{variable}]", f"x[{variable}]*0.5")
            body = [f"{total} += {value}"]
            if self._chance(0.5):
                body = [f"if x[{variable}] > 1: {total} += {value}"]
            names.reals.append(total)
            return [
                f"{total} = 0.0",
                f"parallel for {variable} in {self._pick('0..n', 'range(n)')} with + on {total}:",
                *self._indent(body),
            ]
        inner.vectors = [vector for vector in names.vectors if vector != "x"] if "a" in names.vectors else []
        inner.written, inner.reals = [], [name for name in names.reals if name not in ("total", "w")]
        with self._within("parallel"):
            body = self._block(inner, depth - 1)
        return self._put(f"parallel for {variable} in {self._pick('0..n', 'range(n)')}", body)

    def _while(self, names: Names, depth: int) -> Lines:
        counter = self._new_name("c")
        inner = Names(names)
        inner.integers.append(counter)
        inner.fixed.add(counter)
        named = f" iterations N{counter[1:]}" if self._chance(0.3) else ""
        start = (
            f"{counter} = {self._source.choice([f'k[{self._place(names)}]', *names.integers])} mod {self._pick(3, 4)}"
            if self._chance(0.8)
            else f"{counter} = n"
        )
        step = f"{counter} -= 1" if "mod" in start else f"{counter} = {counter}//2"
        with self._within("loop"):
            body = self._block(inner, depth - 1)
        match self._pick("while", "while", "repeat", "flag", "and"):
            case "repeat":
                return [start, f"repeat{named}:", *self._indent([step, *body]), f"until {counter} <= 0"]
            case "flag":
                flag = self._new_name("b")
                return [
                    start,
                    f"{flag} = true",
                    f"while {flag}{named}:",
                    *self._indent([step, f"{flag} = {counter} > 0", *body]),
                ]
            case "and":
                condition = f"{counter} > 0 and ({self._condition(names, 1)})"
                return [start, f"while {condition}{named}:", *self._indent([step, *body])]
            case _:
                # An update may stand at the end if nothing skips it.
                skips = any("continue" in line for line in body)
                whole = [step, *body] if skips or self._chance(0.5) else [*body, step]
                return [start, *self._put(f"while {counter} > 0{named}", whole)]

    def _over(self, names: Names, depth: int) -> Lines:
        variable = self._new_name("e")
        inner = Names(names)
        if not names.vectors or self._chance(0.4):
            inner.integers.append(variable)
            inner.fixed.add(variable)
            over = "k"
        else:
            inner.reals.append(variable)
            over = self._source.choice(names.vectors)
            inner.written = [vector for vector in inner.written if vector != over]
        with self._within("loop"):
            body = self._block(inner, depth - 1)
        return self._put(f"for {variable} in {over}", body)

    def _leave(self, names: Names, depth: int) -> Lines:
        exits = ["break", "continue"]
        if self._result is not None:
            exits.append(f"return {self._real(names, 1) if self._result == 'real' else self._integer(names, 1)}")
        else:
            exits.append("return")
        return self._put(f"if {self._condition(names, 1)}", [self._source.choice(exits)], "then")

    def _return(self, names: Names, depth: int) -> Lines:
        value = (
            ""
            if self._result is None
            else f" {self._real(names, 1) if self._result == 'real' else self._integer(names, 1)}"
        )
        return self._put(f"if {self._condition(names, 1)}", [f"return{value}"], "then")

    def _structure(self, names: Names, depth: int) -> Lines:
        stem, index, item = self._new_name("Q"), self._new_name("i"), self._new_name("q")
        inner = Names(names)
        inner.integers.append(item)
        inner.fixed.add(item)
        fill = f"for {index} in 0..n:"
        match self._pick("queue", "stack", "heap", "union_find", "map"):
            case "queue" | "stack" as kind:
                with self._within("loop"):
                    body = self._block(inner, depth - 1)
                make = self._pick(f"{stem} = {kind}(n)", f"local {stem}: {kind}[n]")
                push = f"{stem}.push(k[{index}])" if self._chance(0.5) else f"if k[{index}] > 1: {stem}.push({index})"
                return [
                    make,
                    fill,
                    f"    {push}",
                    f"while not {stem}.empty():",
                    f"    {item} = {stem}.pop()",
                    *self._indent(body),
                ]
            case "heap":
                vector = self._source.choice(names.vectors or ["a"])
                with self._within("loop"):
                    body = self._block(inner, depth - 1)
                return [
                    f"{stem} = heap(n)", fill, f"    {stem}.insert({index}, {vector}[{index}])",
                    f"while not {stem}.empty():", f"    {item} = {stem}.extract_min()", *self._indent(body),
                ]  # fmt: skip
            case "union_find":
                names.integers.append(item)
                return [
                    f"local {stem}: union_find[n]", f"{item} = 0", fill, f"    if {stem}.find({index}) != {stem}.find(k[{index}]):",
                    f"        {stem}.union({index}, k[{index}])", f"        {item} += 1",
                ]  # fmt: skip
            case _:
                names.integers.append(item)
                return [
                    f"{stem} = map(n + 1)", f"{item} = 0", fill, f"    if {stem}.contains(k[{index}]): {item} += {stem}.get(k[{index}])",
                    f"    else: {stem}.put(k[{index}], {index})",
                ]  # fmt: skip

    # Expressions
    def _index(self, names: Names, data: bool = True) -> str:
        """Return an integer in 0..n."""
        if not names.sized:
            return "3"
        known = names.indices[-1] if names.indices else "0"
        options = [known, known, "n - 1", "n//2", "0"]
        if names.indices:
            options += [f"n - 1 - {known}", f"({known} + 1) % n", f"{known}//2", f"{names.indices[0]}"]
            if self._callees.get("half"):
                options.append(f"half({known})")
        return self._source.choice(options)

    def _place(self, names: Names) -> str:
        """Return a subscript in 0..n, which may be data."""
        if self._chance(0.75):
            return self._index(names)
        options = [f"k[{self._index(names)}]"]
        if names.integers:
            options.append(f"abs({self._source.choice(names.integers)}) % n")
        return self._source.choice(options)

    def _real(self, names: Names, depth: int) -> str:
        leaves = ["0.5", "1.5", "2.0"]
        if names.vectors:
            leaves += [f"{self._source.choice(names.vectors)}[{self._place(names)}]"] * 3
        if self._parallel and self._loops and names.indices:
            leaves += [f"x[{names.indices[0]}]"]
        leaves += [self._source.choice(names.reals)] * 2 if names.reals else []
        if depth <= 0 or self._chance(0.3):
            return self._source.choice(leaves)
        one, two = self._real(names, depth - 1), self._real(names, depth - 1)
        index = self._index(names)
        options = [
            f"({one} + {two})", f"{one}*0.5 - {two}", f"({one})/2.0", f"sqrt(abs({one}))", f"max({one}, {two})", f"({one})/{'n' if names.sized else 4}", f"{index}*0.5",
            f"min({one}, {two}, 1.0)", f"-({one})", f"({one} + {self._integer(names, 0)})", f"abs({one})/(1.0 + abs({two}))",
            f"0.5*({one})**2",
        ]  # fmt: skip
        if self._callees.get("g") and self._chance(0.5):
            return f"g({one}, {self._integer(names, 1)})"
        return self._source.choice(options)

    def _integer(self, names: Names, depth: int) -> str:
        leaves = ["1", "2", f"k[{self._index(names)}]" if names.vectors or names.written else "3"]
        leaves += [self._source.choice(names.integers)] * 3 if names.integers else []
        if names.vectors:
            leaves.append(self._index(names))
        if depth <= 0 or self._chance(0.3):
            return self._source.choice(leaves)
        one, two = self._integer(names, depth - 1), self._integer(names, depth - 1)
        options = [
            f"({one} + {two}) % 7",
            f"{one}//2",
            f"max({one}, {two})",
            f"abs({one} - {two})",
            f"min({one}, 5)",
            f"({one} mod 3)",
            f"({one} << 1) % 9",
        ]
        if self._callees.get("h") and names.vectors and self._chance(0.3):
            return f"h({self._source.choice(names.vectors)}, k, {one})"
        if self._callees.get("fib") and names.vectors and self._chance(0.3):
            return f"fib({self._pick('4', 'n//2 + 1', '3')})"
        return self._source.choice(options)

    def _comparison(self, names: Names) -> str:
        sign = self._pick("<", "<=", ">", ">=", "==", "!=")
        if self._chance(0.4):
            return f"{self._real(names, 1)} {sign} {self._real(names, 1)}"
        return f"{self._integer(names, 1)} {sign} {self._integer(names, 1)}"

    def _condition(self, names: Names, depth: int) -> str:
        options = [self._comparison(names)] * 3
        if names.flags:
            flag = self._source.choice(names.flags)
            options += [flag, f"not {flag}"]
        if names.indices and names.sized:
            index = names.indices[-1]
            options += [f"{index} > 0", f"{index} % 2 == 0", f"{index} < n - 1", f"{index} == n//2"]
        elif names.vectors:
            options += ["n > 3"]
        if names.integers:
            options += [f"0 <= {self._source.choice(names.integers)} < 3"]
        if depth > 0 and self._chance(0.3):
            joint = self._pick("and", "or", "&&", "||")
            return f"{self._condition(names, depth - 1)} {joint} {self._condition(names, depth - 1)}"
        return self._source.choice(options)
