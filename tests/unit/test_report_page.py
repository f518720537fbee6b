"""The page of `archline report`: its formulas, its values at the sliders, and that texts stay texts."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import random
import re
import shutil
import subprocess
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import archline
from archline.expr.sequences import RECURSIVE_SEQUENCES, SEQUENCES, compute_sequence

TEMPLATE = Path(archline.__file__).parent / "report" / "html" / "page.html"
NODE, CHROMIUM = shutil.which("node"), shutil.which("chromium")
POINTS_OF_FORMULAS = 400
FORBIDDEN = (
    *("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "createContextualFragment", "DOMParser"),
    *("eval(", "Function(", "setInterval", "javascript:", "srcdoc", "import(", "fetch(", "XMLHttpRequest", "WebSocket"),
    *("http:", "https:", "url(", "@import", "<img", "<link", "<iframe", "cssText", ".src =", ".href", "localStorage"),
)
HOSTILE = (
    "</script><script>document.title='owned'</script>",
    "v=>alert(1)",
    "<img src=x onerror=document.title='owned'>",
    "<!--<script>",
    "a\u2028b\u2029c",
    "javascript:document.title='owned'",
    "\"' onload=document.title='owned' x='",
    "&lt;b&gt; & ]]> `${document.title='owned'}`",
)


# Formulas


def evaluate_in_page(cases: list[tuple[Any, Mapping[str, int]]]) -> list[Any]:
    """Return the values of formulas at points, as the page's script computes them."""
    if NODE is None:
        print("no node: the page's formulas are not evaluated")
        pytest.skip("no node")
    script = TEMPLATE.read_text(encoding="utf-8").partition("// evaluator\n")[2].partition("// end of evaluator")[0]
    assert script
    reader = """
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
const values = cases.map(([formula, point]) => evaluate(formula, new Map(Object.entries(point))));
console.log(JSON.stringify(values));
"""
    run = subprocess.run(
        [NODE, "-e", script + reader], input=json.dumps(cases), capture_output=True, text=True, check=True, timeout=600
    )
    return json.loads(run.stdout)


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_have_the_terms_of_the_program(name: str) -> None:
    draw = random.Random(name)
    cases, expected = [], []
    for _ in range(300):
        arguments = [draw.choice([0, 1, 2, 3, 7, 8, 9, 26, 27, 28, 60, 1000]) for _ in range(SEQUENCES[name])]
        if name == "quotient_powers":
            arguments[2:] = draw.randint(0, 3), draw.randint(1, 3)
        if name in RECURSIVE_SEQUENCES:
            arguments = [draw.randint(-3, 17)]
        cases.append(([name, *arguments], {}))
        expected.append(compute_sequence(name, *arguments))
    assert sum(value is not None and value > 1 for value in expected) > 50
    assert evaluate_in_page(cases) == expected


def log2_of_integer(value: int, *, up: bool) -> int:
    """Return the rounded logarithm of an integer from its bits."""
    exponent = value.bit_length() - 1
    return exponent + 1 if up and value > 1 << exponent else exponent


def draw_formula(draw: random.Random, depth: int, point: Mapping[str, int]) -> tuple[Any, Fraction]:
    """Return a random formula and its exact value at a point."""
    if depth == 0:
        if draw.random() < 0.4:
            number = draw.randint(-9, 9)
            return number, Fraction(number)
        name = draw.choice(list(point))
        return name, Fraction(point[name])
    operator = draw.choice(["+", "-", "*", "/", "//", "%", "^", "neg", "min", "max", "floor", "ceil", "abs", "-1"])
    left, a = draw_formula(draw, draw.randrange(depth), point)
    if operator in ("neg", "-1"):
        return ["neg" if operator == "neg" else "-", left], -a
    if operator in ("floor", "ceil", "abs"):
        return [operator, left], Fraction({"floor": math.floor, "ceil": math.ceil, "abs": abs}[operator](a))
    if operator == "^":
        exponent = draw.randint(0, 3)
        return [operator, left, exponent], a**exponent
    right, b = draw_formula(draw, draw.randrange(depth), point)
    if b == 0 and operator in ("/", "//", "%"):
        operator = "+"
    results = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
        "//": lambda: Fraction(a // b),
        "%": lambda: a % b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
    }
    return [operator, left, right], results[operator]()


def rounds_before_end(formula: Any) -> bool:
    """Test whether a formula rounds or compares what may be a fraction, where doubles may differ from fractions."""
    if not isinstance(formula, list):
        return False
    operator, *parts = formula
    steps = operator in ("//", "%", "floor", "ceil")
    return (steps and any(has_quotient(part) for part in parts)) or any(map(rounds_before_end, parts))


def has_quotient(formula: Any) -> bool:
    return isinstance(formula, list) and (formula[0] == "/" or any(map(has_quotient, formula[1:])))


def test_random_formulas_have_the_values_of_exact_arithmetic() -> None:
    draw = random.Random(20)
    cases, expected = [], []
    while len(cases) < POINTS_OF_FORMULAS:
        point = {name: draw.choice([1, 2, 3, 7, 8, 63, 64, 65, 1000, -5]) for name in ("n", "m", "Z", "L")}
        formula, value = draw_formula(draw, draw.randint(1, 5), point)
        if isinstance(formula, list) and abs(value) < 2**50 and not rounds_before_end(formula):
            cases.append((formula, point))
            expected.append(value)
    assert sum(value.denominator == 1 for value in expected) > POINTS_OF_FORMULAS // 2
    for (formula, point), value, found in zip(cases, expected, evaluate_in_page(cases), strict=True):
        if has_quotient(formula):
            assert found == pytest.approx(float(value), rel=1e-9, abs=1e-9), (formula, point)
        else:
            assert found == value, (formula, point)


def test_quotients_and_remainders_of_integers_are_those_of_python() -> None:
    draw = random.Random(21)
    pairs = [
        (draw.randint(-(10**e), 10**e), draw.choice([-1, 1]) * draw.randint(1, 10**k))
        for e in range(15)
        for k in range(8)
    ]
    pairs += [(a, b) for a in range(-7, 8) for b in (-3, -2, -1, 1, 2, 3)]
    for operator, compute in (("//", lambda a, b: a // b), ("%", lambda a, b: a % b)):
        found = evaluate_in_page([([operator, "n", "m"], {"n": a, "m": b}) for a, b in pairs])
        assert found == [compute(a, b) for a, b in pairs]
    rounded = evaluate_in_page([(["ceil", ["/", "n", "m"]], {"n": a, "m": b}) for a, b in pairs])
    assert rounded == [-(-a // b) for a, b in pairs]


def test_logarithms_are_rounded_exactly_beside_powers_of_two() -> None:
    sizes = [size for e in range(53) for size in (2**e - 1, 2**e, 2**e + 1) if 0 < size < 2**53]
    for operator in ("floor", "ceil"):
        found = evaluate_in_page([([operator, ["log2", "n"]], {"n": size}) for size in sizes])
        assert found == [log2_of_integer(size, up=operator == "ceil") for size in sizes]
    assert evaluate_in_page([(["log2", "n"], {"n": 2**e}) for e in range(53)]) == list(range(53))


def test_powers_of_integers_are_exact_below_two_to_the_53() -> None:
    cases = [(base, exponent) for base in range(-12, 13) for exponent in range(53) if abs(base**exponent) < 2**53]
    found = evaluate_in_page([(["^", "n", exponent], {"n": base}) for base, exponent in cases])
    assert found == [base**exponent for base, exponent in cases]


def test_facts_are_decided_and_the_unknown_stays_unknown() -> None:
    point = {"n": 12, "m": 16}
    cases = [
        (["<", "n", "m"], True),
        ([">=", "n", "m"], False),
        (["==", "n", 12], True),
        (["!=", "n", 12], False),
        (["divides", 4, "n"], True),
        (["divides", 5, "n"], False),
        (["power", "m", 2], True),
        (["power", "n", 2], False),
        (["power", 1, 3], True),
        (["square", "m"], True),
        (["square", "n"], False),
        (["and", ["<", "n", "m"], ["<", "x", 1]], None),
        (["and", [">", "n", "m"], ["<", "x", 1]], False),
        (["or", ["<", "n", "m"], ["<", "x", 1]], True),
        (["not", ["<", "n", "m"]], False),
        (["not", ["<", "x", "m"]], None),
        (["gcd", "n", 18], 6),
        (["sqrt", "m"], 4),
        (["exp", 0], 1),
        (["log", 1], 0),
        (["big", "100000000000000000000"], 1e20),
        (["real", "2.5e-1"], 0.25),
        (["min", "n", "m", 3], 3),
        (["max", "n", "m", 3], 16),
        (["fib", "n"], None),
        (["constructor", "n"], None),
        (["+", "n", "unknown"], None),
        (["+", "n", "__proto__"], None),
        (["/", "n", 0], None),
        (["%", "n", 0], None),
        (["log2", 0], None),
        (["sqrt", -1], None),
        (["+", ["<", "n", "m"], 1], None),
        (["floor", ["log2", 0]], None),
        ([], None),
        (None, None),
    ]
    found = evaluate_in_page([(formula, point) for formula, _ in cases])
    for (formula, expected), value in zip(cases, found, strict=True):
        assert value == expected, formula
        assert isinstance(value, bool) == isinstance(expected, bool), formula
    assert evaluate_in_page([("pi", {}), ("pi", {"pi": 3})]) == [pytest.approx(math.pi), 3]


# The template


def test_the_template_loads_nothing_and_makes_no_markup_of_texts() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    names = ("http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML")
    rest = text
    for name in names:
        assert name in rest
        rest = rest.replace(f'"{name}"', "")
    assert [word for word in FORBIDDEN if word in rest] == []
    assert not re.search(
        r"""setTimeout\(\s*["'`]|\bon[a-z]+\s*=\s*["'`]|\.on[a-z]+\s*=|setAttribute\("(?:on|style|href|src)""", rest
    )
    assert text.count("<!--DATA-->") == 1
    assert '<script type="application/json" id="data"><!--DATA--></script>' in text
    assert "<title>archline report</title>" in text
    assert text.count("CSP-SCRIPT") == 1
    assert text.count("<script>") == 1


def test_the_policy_comes_first_and_allows_nothing_else() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    head = text.partition("<head>")[2]
    policy = re.match(
        r'\s*<meta charset="utf-8">\s*<meta http-equiv="Content-Security-Policy" content="([^"]*)">', head
    )
    assert policy is not None
    rules = dict(rule.split(maxsplit=1) for rule in policy[1].split(";"))
    assert rules["default-src"] == rules["img-src"] == rules["connect-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == "'CSP-SCRIPT'"
    assert rules["style-src"] == "'unsafe-inline'"


def test_the_template_is_readable() -> None:
    lines = TEMPLATE.read_text(encoding="utf-8").splitlines()
    assert max(map(len, lines)) <= 120
    assert all(line == line.rstrip() for line in lines)


# Pages in Chromium


def escape_for_script(data: Any) -> str:
    """Write JSON that no parser of HTML or scripts sees as anything else."""
    text = json.dumps(data, ensure_ascii=False)
    return "".join(f"\\u{ord(each):04x}" if each in "<>&\u2028\u2029" else each for each in text)


def fill_template(data: Any, shown: str = "work", alone: str = "") -> str:
    """Return the page of data, with the digest of its script in the policy.

    Buttons are set to the metric whose shares are shown, and to the size that grows alone.
    """
    text = TEMPLATE.read_text(encoding="utf-8").replace('let counted = "work"', f'let counted = "{shown}"')
    assert 'alone = ""' in text
    text = text.replace('alone = ""', f'alone = "{alone}"', 1)
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    return text.replace("CSP-SCRIPT", f"sha256-{digest}").replace("<!--DATA-->", escape_for_script(data))


def show(folder: Path, data: Any, fragment: str = "", shown: str = "work", alone: str = "") -> str:
    """Return the document that Chromium makes of a page, without its own script."""
    if CHROMIUM is None:
        print("no chromium: the page is not shown")
        pytest.skip("no chromium")
    page = folder / "page.html"
    page.write_text(fill_template(data, shown, alone), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom"]
    command = [CHROMIUM, *options, f"--user-data-dir={folder / 'profile'}", page.as_uri() + fragment]
    document = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout
    return re.sub(r"<script.*?</script>|<style>.*?</style>", "", document, flags=re.DOTALL)


def read_text(document: str) -> str:
    """Return the text of a document, with thin spaces as none."""
    return unescape(re.sub(r"<[^>]*>", "", document)).replace("\u202f", "").replace("\u200b", "")


def read_cards(document: str) -> list[str]:
    """Return the values that cards show, with their units."""
    return [read_text(value) for value in re.findall(r'<div class="value">(.*?)</div>', document)]


def exact(form: Any) -> dict[str, Any]:
    return {"lower": form, "upper": form, "exact": True, "reason": None, "grid": None}


def bounded(lower: Any, upper: Any, grid: Any = None) -> dict[str, Any]:
    return {"lower": lower, "upper": upper, "exact": False, "reason": None, "grid": grid}


def build_metric(name: str, *cases: dict[str, Any], status: str = "exact") -> dict[str, Any]:
    return {"metric": name, "unit": name, "meaning": "counted", "status": status, "growth": None, "cases": list(cases)}


def for_all(amount: dict[str, Any]) -> dict[str, Any]:
    return {"where": [], "text": "", "amount": amount}


CUBE, SQUARE = ["^", "n", 3], ["^", "n", 2]
LU_FLOPS = ["-", ["-", ["*", ["/", 2, 3], CUBE], ["*", ["/", 1, 2], SQUARE]], ["*", ["/", 1, 6], "n"]]
LU_WORK = ["+", ["+", CUBE, "n"], 1]
ROWS = ["ceil", ["/", "n", "L"]]


def lu_lines() -> list[dict[str, Any]]:
    """Return the lines of a sketch whose executions, flops and work are polynomials."""
    texts = {
        3: "algorithm lu(A: inout real[n, n]):",
        10: "    for i in 0..n:",
        13: "            A[i, j] -= A[i, k]*A[k, j]",
    }
    costs = {10: ("n", None, "n"), 13: (CUBE, LU_FLOPS, CUBE)}
    return [
        {"line": line, "text": text, "rule": None}
        | {
            name: None if form is None else exact(form)
            for name, form in zip(("executions", "flops", "work"), costs.get(line, (None,) * 3), strict=True)
        }
        for line, text in texts.items()
    ]


def build_target(name: str = "lu", **changes: Any) -> dict[str, Any]:
    """Return a target like `dense.lu::lu`."""
    kept = [
        {"array": "A", "lines": [10, 13], "loop": "`for i` (line 10)", "held": ROWS, "fetched": ["*", "n", ROWS]},
        {"array": "A", "lines": [13], "loop": None, "held": 0, "fetched": ["-", SQUARE, "n"]},
    ]
    regimes = [
        {"where": [[">=", "Z", "L"]], "text": "Z >= L", "value": CUBE, "kept": []},
        {"where": [[">=", "Z", ["*", "L", "n"]]], "text": "Z >= L*n", "value": ["*", 2, SQUARE], "kept": kept},
    ]
    return {
        "name": name,
        "place": "lu.algo:3",
        "summary": "LU row by row.",
        "grid": False,
        "sizes": ["n"],
        "where": [[">=", "n", 1]],
        "assumptions": [],
        "scale": [{"n": 2**e} for e in range(4, 11, 2)],
        "metrics": [
            build_metric("flops", for_all(exact(LU_FLOPS))),
            build_metric("work", for_all(exact(LU_WORK))),
            build_metric(
                "span",
                {"where": [["<=", "n", 8]], "text": "n <= 8", "amount": exact("n")},
                {"where": [], "text": "otherwise", "amount": bounded("n", ["*", 2, "n"])},
                status="bounded",
            ),
        ],
        "io": {
            "metric": "io",
            "unit": "lines",
            "status": "bounded",
            "growth": "O(n^3)",
            "optimality": [],
            "lowers": [{"by": "footprint", "value": ["*", "n", ROWS]}, {"by": "runs", "value": ["-", SQUARE, "Z"]}],
            "regimes": regimes,
            "grid": None,
        },
        "lines": lu_lines(),
        "outside": {"work": 1},
        "lines_note": None,
        "claims": [{"text": "flops <= n^3", "outcome": "holds", "reason": "proved", "place": "lu.algo:4"}],
        "sources": [],
    } | changes


def build_page(*targets: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the data of a page of costs, with sliders of n, Z and L."""
    ranges = {"n": (1, 2**20), "Z": (8, 10**8), "L": (1, 64)}
    return {
        "version": 1,
        "kind": "comparison" if len(targets) > 1 else "cost",
        "title": "lu",
        "command": "archline report dense.lu::lu",
        "release": "archline 0.1.0",
        "point": {"n": 100, "Z": 1024, "L": 8},
        "sliders": [
            {"name": name, "least": least, "most": most, "meaning": "given"} for name, (least, most) in ranges.items()
        ],
        "targets": list(targets),
        "machines": [],
        "comparison": None,
        "notes": [],
    } | changes


def flops_of_lu(n: int) -> int:
    return n * (n - 1) * (4 * n + 1) // 6


@cache
def hostile_data() -> dict[str, Any]:
    """Return a page each of whose texts is hostile, with a number so that no two are the same."""
    count = iter(range(10**6))

    def spoil(value: Any, key: str = "") -> Any:
        kept_keys = ("kind", "value", "where", "lower", "upper", "held", "fetched", "scale", "point", "metric", "sizes")
        if key in kept_keys or (isinstance(value, str) and key == "name_of_slider"):
            return value
        if isinstance(value, dict):
            slider = "least" in value
            return {k: spoil(v, "name_of_slider" if slider and k == "name" else k) for k, v in value.items()}
        if isinstance(value, list):
            return [spoil(each, key) for each in value]
        if isinstance(value, str):
            number = next(count)
            return f"{number} {HOSTILE[number % len(HOSTILE)]}"
        return value

    strange = [*HOSTILE, "constructor", "__proto__"]
    case = {"where": [], "text": "x", "amount": exact(["+", "n", *[0]])}
    shown = {
        "where": [["<=", 0, "n"]],
        "text": "x",
        "amount": bounded([HOSTILE[2], HOSTILE[0], "n"], ["real", HOSTILE[0]]),
    }
    target = build_target(
        assumptions=["a"],
        bytes=build_target()["io"],
        sources=[{"name": "s", "bound": "b", "source": "c"}],
        lines_note="a note",
        metrics=[build_metric("flops", case), build_metric(HOSTILE[0], shown, status=HOSTILE[2])],
    )
    machine = {"name": "m", "title": "t", "peak": 1e12, "bandwidth": 1e11, "word": 8, "energy": None, "source": "s"}
    page = build_page(target, target, machines=[machine], notes=["a", "b", "c", "d"])
    page["comparison"] = [{"metric": "flops", "text": "t", "certainty": "c"}]
    page = spoil(page)
    page["sliders"] += [{"name": name, "least": 1, "most": 64, "meaning": name} for name in strange]
    page["point"] |= dict.fromkeys(strange, 4)
    for target in page["targets"]:
        target["scale"] = [dict(sizes) | dict.fromkeys(strange, 2) for sizes in target["scale"]]
    return page


def list_texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in list_texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in list_texts(each)]
    return [value] if isinstance(value, str) else []


def test_hostile_texts_are_shown_and_run_nothing(tmp_path: Path) -> None:
    data = hostile_data()
    document = show(tmp_path, data)
    assert unescape(re.search(r"<title>(.*?)</title>", document, re.DOTALL)[1]) == data["title"]
    assert not re.search(r"<img|<b>&amp;|<[^>]* on[a-z]+=", document)
    assert not re.search(r'<[a-z][^>]*="[^"]*(?:owned|alert)', document)
    text = re.sub(r"\s+", " ", read_text(document))
    targets = data["targets"]
    wanted = [data["title"], data["command"], data["release"], *data["notes"], data["machines"][0]["title"]]
    wanted += [data["machines"][0]["source"], data["comparison"][0]["text"], data["comparison"][0]["certainty"]]
    wanted += [slider["meaning"] for slider in data["sliders"]] + [slider["name"] for slider in data["sliders"]]
    for target in targets:
        wanted += [target["name"], target["place"], target["summary"], target["lines_note"], *target["assumptions"]]
        wanted += list_texts([target["claims"], target["sources"], [line["text"] for line in target["lines"]]])
        wanted += [metric["meaning"] for metric in target["metrics"]]
    for each in wanted:
        assert re.sub(r"\s+", " ", each).strip() in text, each
    assert "Costs at n = 100" in text


def test_values_on_cards_are_those_of_the_forms_at_the_sliders(tmp_path: Path) -> None:
    data = build_page(build_target())
    first = show(tmp_path, data)
    assert read_cards(first) == ["661650 flops", "1000101 work", "100 ... 200 span", "8976 ... 20000 lines"]
    assert flops_of_lu(100) == 661650
    second = show(tmp_path, data, "#n=1000&Z=16&L=4")
    assert read_cards(second) == [
        f"{flops_of_lu(1000)} flops",
        f"{1000**3 + 1001} work",
        "1000 ... 2000 span",
        f"{1000**2 - 16} ... {1000**3} lines",
    ]
    assert "Costs at n = 1000, Z = 16, L = 4" in read_text(second)
    assert "claims: 1 hold, 0 fail, 0 unknown" in read_text(second)


def test_states_that_no_slider_has_are_ignored(tmp_path: Path) -> None:
    data = build_page(build_target())
    document = show(tmp_path, data, "#n=8&Z=0&L=2.5&x=1&__proto__=3&n=-4&n=%E0%A4%A&Z=1e9&=&L=99")
    assert "Costs at n = 8, Z = 1024, L = 8" in read_text(document)
    assert read_cards(document)[2] == "8 span"


def test_nothing_is_shown_where_a_fact_of_the_header_fails(tmp_path: Path) -> None:
    document = show(tmp_path, build_page(build_target(where=[["power", "n", 2]])))
    assert [value.split()[0] for value in read_cards(document)] == ["–"] * 4
    assert "lu asks for n\u00a0is a power of\u00a02" in read_text(document)
    assert "661650" not in read_text(document)


def test_costs_by_line_sum_to_the_metric(tmp_path: Path) -> None:
    text = read_text(show(tmp_path, build_page(build_target())))
    assert "lines: 1000100; the call itself: 1; together 1000101" in text
    loose = lu_lines()
    loose[1]["work"] = bounded("n", ["*", 2, "n"])
    text = read_text(show(tmp_path, build_page(build_target(lines=loose))))
    assert "lines: 1000100 ... 1000200; the call itself: 1; together 1000101 ... 1000201; the metric is 1000101" in text


def test_lines_that_are_held_together_count_once(tmp_path: Path) -> None:
    document = show(tmp_path, build_page(build_target()), shown="io")
    text = read_text(document)
    assert "lines: at most 11200; the metric is bounded to 8976 ... 20000" in text
    assert "a array A, lines 10, 13 together: at most 1300 lines fetched; held: 13 lines over for i (line 10)" in text
    rows = re.findall(r'<tr[^>]*><th class="right" scope="row">(\d+)</th><td class="right">(.*?)</td>', document)
    assert [(line, read_text(cell)) for line, cell in rows] == [("3", ""), ("10", "a1300"), ("13", "a9900")]


def test_formulas_have_the_parentheses_they_need(tmp_path: Path) -> None:
    forms = {
        "a": (["^", ["+", "n", 1], 2], "(n+1)2"),
        "b": (["-", "n", ["-", "L", 1]], "n−(L−1)"),
        "c": (["+", "n", ["-", "L", 1]], "n+L−1"),
        "d": (["*", ["*", ["/", 1, 3], "n"], ["+", "L", 1]], "13n(L+1)"),
        "e": (["*", ["log2", "n"], "L"], "log2(n)L"),
        "f": (["*", "L", ["log2", "n"]], "Llog2n"),
        "g": (["+", "n", ["neg", ["*", 2, "L"]]], "n−2L"),
        "h": (["*", 2, ["^", 3, "L"]], "2·3L"),
        "i": (["+", ["%", "n", "L"], 1], "(n mod L)+1"),
        "j": (["//", ["+", "n", 1], "L"], "⌊n+1L⌋"),
        "k": (["min", "n", ["max", 1, "L"]], "min(n,max(1,L))"),
        "l": (["^", ["/", "n", "L"], 2], "(nL)2"),
        "m": (["-", ["neg", "n"], -3], "−n−(−3)"),
        "n": (["*", ["+", "n", 1], 12345], "(n+1)·12345"),
        "o": (["unheard", "n", ["+", "L", 1]], "unheard(n,L+1)"),
    }
    metrics = [build_metric(name, for_all(exact(form))) for name, (form, _) in forms.items()]
    document = show(tmp_path, build_page(build_target(metrics=metrics, io=None)))
    found = [read_text(each) for each in re.findall(r'<div class="form">(.*?)</div>', document)]
    found = [re.sub("[\u2061\u2062]", "", each).replace("\u00a0", " ") for each in found]
    assert found == [text for _, text in forms.values()]
    assert read_cards(document)[-1] == "? o"
    assert "<mfrac><mrow><mn>1</mn></mrow><mrow><mn>3</mn></mrow></mfrac>" in document


def test_values_at_sizes_replace_forms_only_at_these_sizes(tmp_path: Path) -> None:
    grid = {"lower": [20, 70, 300, 1100], "upper": [30, 80, 300, 1200]}
    span = build_metric("span", for_all(bounded("n", SQUARE, grid)), status="bounded")
    data = build_page(build_target(metrics=[span], io=None))
    for fragment, value, note in (
        ("#n=64", "70 ... 80 span", "values at sizes, n = 64"),
        ("#n=256", "300 span", "values at sizes, n = 256"),
        ("#n=63", "63 ... 3969 span", "bounds of the forms"),
    ):
        document = show(tmp_path, data, fragment)
        assert read_cards(document) == [value]
        assert note in read_text(document)


def test_values_of_io_at_sizes_hold_at_these_alone(tmp_path: Path) -> None:
    """Between caches with values, the lower bound is that of the larger one, and the upper one that of the smaller."""
    target = build_target()
    caches = [8, 64, 512, 4096]
    target["io"]["grid"] = {
        "Z": caches,
        "L": [8],
        "lower": [[[size["n"] * 60 - cache // 512 for cache in caches]] for size in target["scale"]],
        "upper": [[[size["n"] * 70 - cache // 512 for cache in caches]] for size in target["scale"]],
    }
    for fragment, value, remark in (
        ("#n=64&Z=512&L=8", "3839 ... 4479 lines", "values at sizes"),
        ("#n=64&Z=600&L=8", "3832 ... 4479 lines", "values at sizes, of the next caches with values"),
        ("#n=64&Z=5000&L=8", "512 ... 4472 lines", "values at sizes, of the next caches with values"),
        ("#n=70&Z=512&L=8", None, "bounds of the forms; sharper values are known at n = 64, L = 8"),
        ("#n=64&Z=512&L=4", None, "bounds of the forms; sharper values are known at n = 64, L = 8"),
    ):
        document = show(tmp_path, build_page(target), fragment)
        plain = show(tmp_path, build_page(build_target()), fragment)
        assert read_cards(document)[3] == (value or read_cards(plain)[3])
        assert remark in read_text(document)


def test_growth_in_one_size_keeps_the_others(tmp_path: Path) -> None:
    metric = build_metric("work", for_all(exact(["*", ["*", "n", "n"], "m"])))
    target = build_target(metrics=[metric], io=None, scale=[{"n": 4, "m": 4}, {"n": 8, "m": 8}], lines=[])
    sliders = [{"name": name, "least": 1, "most": 64, "meaning": "a size"} for name in "nm"]
    data = build_page(target, point={"n": 8, "m": 2}, sliders=sliders)
    for alone, slope in (
        ("", "slope 3.00, near n = 8"),
        ("n", "slope 2.00, near n = 8"),
        ("m", "slope 1.00, near m = 2"),
    ):
        assert slope in read_text(show(tmp_path, data, alone=alone))


def test_curves_of_two_algorithms_end_at_the_same_sizes(tmp_path: Path) -> None:
    other = build_target("other", scale=[{"n": 2**e} for e in range(6, 13, 2)])
    caches = [64, 512, 4096]
    values = [[[size["n"] * cache for cache in caches]] for size in other["scale"]]
    other["io"]["grid"] = {"Z": caches, "L": [8], "lower": values, "upper": values}
    document = show(tmp_path, build_page(build_target(), other))
    for label in ("io against the size of the cache", "growth with the sizes"):
        chart = re.search(rf'<svg[^>]*aria-label="{label}".*?</svg>', document, re.DOTALL)
        assert chart is not None
        paths = re.findall(r'<path class="upper" d="M(\S+) [^"]*?([^L "]+) [^ "]+"', chart[0])
        assert len(paths) == 2, label
        assert paths[0] == paths[1], label


def test_a_ratio_needs_two_exact_values(tmp_path: Path) -> None:
    other = build_target("other")
    other["metrics"][1] = build_metric("work", for_all(exact(["*", 2, LU_WORK])))
    comparison = [
        {"metric": name, "text": f"{name}: sentence", "certainty": "proved"} for name in ("work", "span", "io")
    ]
    document = show(tmp_path, build_page(build_target(), other, comparison=comparison))
    text = read_text(document)
    assert re.findall(r"lu : other at the sliders: (.*?)Costs", text) == ["flops 1, work 0.5"]
    assert all(f"{each['text']}proved" in text for each in comparison)
    assert len(read_cards(document)) == 8


def test_time_and_energy_lie_between_those_of_the_bounds(tmp_path: Path) -> None:
    energy = {"flop": 1e-9, "byte": 1e-9, "constant": 0}
    machine = {
        "name": "m",
        "title": "a machine",
        "peak": 1e9,
        "bandwidth": 1e9,
        "word": 8,
        "energy": energy,
        "source": "s",
    }
    target = build_target()
    lines = target["io"]
    target["bytes"] = lines | {
        side: [bound | {"value": ["*", 64, bound["value"]]} for bound in lines[side]] for side in ("lowers", "regimes")
    }
    data = build_page(target, machines=[machine])
    row = re.search(r"flops a byte.*?<tbody>(.*?)</tbody>", show(tmp_path, data), re.DOTALL)
    cells = [read_text(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row[1])]
    # 661650 flops, 64*8976 to 64*20000 bytes
    assert cells == ["lu", "0.517 ... 1.15", "either", "662µs", "1.28ms", "1.24mJ ... 1.94mJ"]


def test_a_document_shows_its_blocks(tmp_path: Path) -> None:
    blocks = [
        {"type": "heading", "text": "head"},
        {"type": "text", "text": HOSTILE[0], "tone": "bad"},
        {"type": "table", "title": None, "head": ["a", "b"], "rows": [["x", "1"], [HOSTILE[2], "2"]], "right": [1]},
        {"type": "pre", "text": "  kept\n    so"},
    ]
    verdicts = {"holds": 3, "fails": 1, "unknown": 0}
    page = {
        "version": 1,
        "kind": "document",
        "title": "check",
        "command": "archline check",
        "release": "archline 0.1.0",
    }
    document = show(tmp_path, page | {"verdicts": verdicts, "blocks": blocks})
    text = read_text(document)
    assert "claims: 3 hold, 1 fail, 0 unknown" in text
    assert HOSTILE[0] in text
    assert HOSTILE[2] in text
    assert "  kept\n    so" in text
    assert '<th class="right" scope="col">b</th>' in document
    assert "<title>check</title>" in document
