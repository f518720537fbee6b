"""The tables of a page, read back from what it looks like in Markdown, LaTeX and plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Rows = list[list[str]]
"""A head and rows of cells, formulas as they are written in programs."""
ESCAPED = re.compile(r"\\([\\`*<>\[\]|#_])")


def of_markdown(page: str) -> Iterator[Rows]:
    """Those of a page in Markdown, without its marks."""
    rows: Rows = []
    for line in [*page.split("\n"), ""]:
        if line.startswith("|"):
            cells = re.split(r" \| ", line.strip()[2:-2])
            rows.append([ESCAPED.sub(r"\1", cell.replace("`", "")).strip() for cell in cells])
        elif rows:
            yield [rows[0], *rows[2:]]
            rows = []


def of_latex(page: str) -> Iterator[Rows]:
    """The arrays of a page in LaTeX."""
    for width, body in re.findall(r"\\begin\{array\}\{(l+)\}\n(.*?)\n\\end\{array\}", page, flags=re.S):
        rows = [re.split(r"(?<!\\)&", line) for line in body.split(" \\\\\n")]
        assert {len(row) for row in rows} <= {len(width)}
        yield [[read_latex(cell) for cell in row] for row in rows]


_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[A-Za-z]|[^\s]")
_NAMED = {
    r"\,": "*", r"\cdot": "*", r"\bmod": " % ", r"\le": " <= ", r"\ge": " >= ", r"\ne": " != ", "=": " == ",
    "<": " < ", ">": " > ", "+": " + ", "-": " - ", r"\Theta": "Theta", r"\Omega": "Omega", r"\min": "min",
    r"\max": "max", r"\gcd": "gcd", ",": ", ", r"\sim": "~",
}  # fmt: skip
_OPENING = {"(": "(", r"\lceil": "ceil(", r"\lfloor": "floor(", "|": "abs("}
_UNESCAPED = {r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~"}


def read_latex(cell: str) -> str:
    """What a cell says: its texts, and its formulas as programs write them."""
    cell = cell.strip()
    read = _Latex(cell).read() if cell != "=" else cell
    return re.sub(r"\s+", " ", read).replace("~ ", "~").replace("( ", "(").strip()


def _closing(text: str) -> int:
    """Where the bracket that a text begins with is closed."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if not depth:
            return at
    raise AssertionError(f"a bracket is not closed in {text}")


class _Latex:
    """A cell that is read from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self, closing: str = "") -> str:
        """All up to the end, or up to and with a closing mark."""
        found = ""
        while (token := self._next()) != closing:
            assert token, f"{closing} is missing in {self._text}"
            found += self._of(token)
        return found

    def _next(self) -> str:
        match = _TOKEN.search(self._text, self._at)
        if match is None:
            self._at = len(self._text)
            return ""
        self._at = match.end()
        return match[0]

    def _of(self, token: str) -> str:
        match token:
            case "{":
                inner = self.read("}")
                if inner == "~":
                    assert self._next() == r"\,"
                    return inner
                return inner if inner.startswith("(") and _closing(inner) == len(inner) - 1 else f"({inner})"
            case "^":
                return f"^({self._group()})"
            case r"\text" | r"\mathit":
                return self._words()
            case r"\frac":
                top = self._group()
                return f"(({top})/({self._group()}))"
            case r"\sqrt":
                return f"sqrt({self._group()})"
            case r"\left":
                inner = _OPENING[self._next()] + self.read(r"\right")
                self._next()
                return f"{inner})"
            case r"\log":
                assert self._next() + self._next() == "_2"
                before = self._at
                token = self._next()
                if token == r"\left":
                    self._at = before
                    return "log2"
                return f"log2({self._of(token)})"
            case _:
                assert token in _NAMED or re.fullmatch(r"[\w.]+|[()/%:;~]", token), f"{token} in {self._text}"
                return _NAMED.get(token, token)

    def _group(self) -> str:
        assert self._next() == "{"
        return self.read("}")

    def _words(self) -> str:
        """Plain text up to the brace that closes it."""
        start = self._text.index("{", self._at) + 1
        end, depth = start, 1
        while depth:
            if self._text[end] == "\\" and self._text[end + 1] in "#$%&_{}":
                end += 1
            else:
                depth += (self._text[end] == "{") - (self._text[end] == "}")
            end += 1
        self._at = end
        words = self._text[start : end - 1]
        for mark, plain in _UNESCAPED.items():
            words = words.replace(mark, plain)
        return re.sub(r"\\([#$%&_{}])", r"\1", words).replace("$<$", "<").replace("$>$", ">")


_GROWTH = re.compile(r"(?:O|Omega|Theta)\(|0 where ")
_STATUS = re.compile(r"where |otherwise$|exact$|bounds$|unknown$")
COSTS = ("metric", "cost", "status", "growth")


def of_text(page: str) -> Iterator[Rows]:
    """The tables of the first block of a page in plain text: of metrics, and of a first page those by the cache."""
    lines = [line[2:] for line in page.split("\n\n")[1].rstrip().split("\n")]
    if lines[0].startswith("metric"):
        yield _text_rows(lines, 4)
        return
    # A sentence, a title of a table by the cache, and what stands below it begin with one cell at the left.
    count = next((at for at, line in enumerate(lines) if _is_sentence(line) or (line.startswith("  ")
                  and line[2] != " ")), len(lines))  # fmt: skip
    rows = _text_rows(lines[:count], len(COSTS))
    yield [list(COSTS), *rows]
    metric = next((row[0].split()[0] for row in rows if "by cache size" in row[1]), "")
    while count < len(lines):
        if _is_sentence(lines[count]):
            metric, count = lines[count].split()[0], count + 1
        inside = []
        while count < len(lines) and lines[count].startswith("  "):
            inside, count = [*inside, lines[count][2:]], count + 1
        end = next((at for at, line in enumerate(inside) if _is_sentence(line)), len(inside))
        if end:
            yield [["in the cache", f"{metric} at most", "where"], *_text_rows(inside[:end], 3)]


def _is_sentence(line: str) -> bool:
    return line[0] != " " and "  " not in line.strip()


def _text_rows(lines: Sequence[str], width: int) -> Rows:
    """Aligned columns; what a row continues with, and on a narrow page its condition and growth, stand below it."""
    found = [[(match.start(), match[0]) for match in re.finditer(r"\S+(?: \S+)*", line)] for line in lines]
    starts = {start for line in found for start, _ in line}
    columns = sorted(start for start in starts if start - 2 not in starts)
    rows: Rows = []
    stacked = 1
    for line in found:
        cells = [""] * width
        for start, text in line:
            if start == columns[0] + 2 and width == len(COSTS):
                # A kind of flops: labels are not wrapped.
                cells[0] = text
            elif start in columns:
                cells[columns.index(start)] = text
            else:
                column = columns.index(start - 2)
                rows[-1][stacked if column == 1 else column] += f" {text}"
        below = cells[1] if not (cells[0] or any(cells[2:])) else ""
        if rows and "cost" not in rows[0] and (_GROWTH.match(below) or _STATUS.match(below)):
            stacked = 3 if _GROWTH.match(below) else 2
            rows[-1][stacked] = below.removeprefix("where ") if width == 3 else below
        elif any(cells):
            rows.append(cells)
            stacked = 1
    return rows
