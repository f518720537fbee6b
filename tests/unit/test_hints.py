"""Hints for what readers typed first: folders, near names of machines, formulas as mathematics writes them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import archline as al
from archline.analysis.checks.races import find_certain_races
from archline.energy.models import load_models
from archline.expr.tree import Source
from archline.language import source
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from archline.language.parser import parse
from archline.language.words import CONTEXTUAL_WORDS, INTRINSICS
from cli_support import ROOT, cli, process
from effort import long

# Folders.
PROGRAM = "algorithm f(x: out real[n]):\n  for i in 0..n:\n      x[i]=0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inside").mkdir()
    for name in ("a.algo", "inside/b.algo", "c.txt"):
        (tmp_path / name).write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def test_fmt_takes_folders(folder: Path) -> None:
    found = [str(folder / "a.algo"), str(folder / "inside" / "b.algo")]
    checked = cli("fmt", "--check", str(folder), found[0])
    assert (checked.code, checked.err) == (1, "".join(f"would reformat {each}\n" for each in found))
    assert cli("fmt", str(folder)).code == 0
    assert cli("fmt", "--check", str(folder)).code == 0
    assert (folder / "c.txt").read_text(encoding="utf-8") == PROGRAM


@pytest.mark.parametrize("command", ["fmt", "check"])
def test_a_folder_without_programs(tmp_path: Path, command: str) -> None:
    ran = cli(command, str(tmp_path))
    assert ran.code == 2
    assert f"AL002: the folder `{tmp_path}` has no `.algo` file" in ran.err


@pytest.mark.parametrize("command", [["cost"], ["run"], ["energy", "--machine", "gtx-580"]])
def test_other_commands_say_what_to_do_with_a_folder(folder: Path, command: list[str]) -> None:
    ran = cli(*command, str(folder))
    assert ran.refused("AL002")
    assert f"name a file in it, such as `{folder / 'a.algo'}`" in ran.err


# Machines.
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("xeon", "did you mean `xeon-e5-2650l-v3`, `xeon-phi-31s1p`, `xeon-phi-knc-5110p` or `xeon-8480`?"),
        ("XEON-PHI-K", "did you mean `xeon-phi-knc-5110p`?"),
        ("bobcat-e2-1700", "did you mean `bobcat-e2-1800`?"),
        ("zzz", "`archline machines` lists the machines"),
    ],
)
def test_an_unknown_machine_has_candidates(name: str, hint: str) -> None:
    ran = cli("energy", "scan.reduce::sum", "--machine", name)
    assert ran.refused("AL450")
    assert f"hint: {hint}\n" in ran.err


def test_a_folder_is_no_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "jaketown").mkdir()
    monkeypatch.chdir(tmp_path)
    ran = cli("machines", "mine")
    assert ran.refused("AL450")
    assert "`mine` is a folder; a machine is a name or a `.toml` file" in ran.err
    assert cli("machines", "jaketown").code == 0


# Formulas.
@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["order", "n log n", "n^2"], "n*log2(n)"),
        (["order", "n^2", "n lg n"], "n*log2(n)"),
        (["order", "(n + 1) log(n + 1)", "n^2"], "(...)*log2(n + 1)"),
        (["order", "2n", "n^2"], "2*n"),
        (["order", "1.5n^2", "n^2"], "1.5*n"),
        (["recurrence", "T(n) = 2T(n/2) + n, T(1) = 1"], "2*T(n/2)"),
        (["recurrence", "T(n) = 2*T(n/2) + 3n, T(1) = 1"], "3*n"),
        (["recurrence", "T(n) = 2*T(n/2) + n log n, T(1) = 1"], "n*log2(n)"),
    ],
)
def test_what_mathematics_leaves_out(command: list[str], text: str) -> None:
    ran = cli(*command)
    assert ran.refused("AL101")
    assert f": `{text}`\n" in ran.err


@pytest.mark.parametrize("text", ["n*log2(n)", "(...)*log2(n + 1)", "2*T(n/2)"])
def test_what_the_hints_say_can_be_written(text: str) -> None:
    assert cli("recurrence", f"T(n) = 2*T(n/2) + {text.replace('...', 'n')}, T(1) = 1").code == 0


def test_claims_and_statements_have_these_hints(tmp_path: Path) -> None:
    path = tmp_path / "f.algo"
    text = "algorithm f(x: out real[n]):\n    ensures work is O(n log n)\n    for i in 0..n:\n        x[i] = 2i\n"
    path.write_text(text, encoding="utf-8")
    ran = cli("check", str(path))
    assert ran.refused("AL101")
    assert "`work is O(n*log2(n))`" in ran.err
    assert "`2*i`" in ran.err


@pytest.mark.parametrize("command", [["cost"], ["run"], ["energy", "--machine", "gtx-580"]])
@pytest.mark.parametrize("cache", ["32768", "32K", "32768,8", "Z=32K,L=8"])
def test_a_cache_is_words_and_a_line(command: list[str], cache: str) -> None:
    ran = cli(*command, "scan.reduce::sum", "--at", "n=10", "--cache", cache)
    assert ran.refused("AL101")
    assert "hint: write --cache Z=32768,L=8:" in ran.err
    assert cli(*command, "scan.reduce::sum", "--at", "n=10", "--cache", "Z=32768,L=8").code == 0


def test_a_value_given_twice_has_no_hint_of_another_mistake() -> None:
    assert cli("run", "scan.reduce::sum", "--at", "n=10", "--cache", "Z=8,Z=8").err.count("hint: give `Z` once\n") == 1


# Reports of unknown names, costs and options.
def test_an_unknown_name_is_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "f.algo"
    text = "    ensures flops == N*N\n    ensures work is O(N) when N >= 2\n    for i in 0..N:\n        x[i] = z\n"
    path.write_text("algorithm f(x: out real[n]):\n" + text, encoding="utf-8")
    ran = cli("check", str(path))
    assert ran.refused("AL201")
    found = re.findall(r"(\d+:\d+): AL201: .*?(`\w+`)", ran.err)
    assert found == [("2:22", "`N`"), ("5:16", "`z`")]


@long
def test_a_recursion_that_is_not_proved_to_end_is_told_how(tmp_path: Path) -> None:
    """Nothing says that k is not negative; with a measure, the recursion is proved to end."""
    path = tmp_path / "f.algo"
    text = "algorithm f(x: inout real[n], k: index):\n{}    x[0] += 1\n    if k > 0:\n        f(x, k - 1)\n"
    path.write_text(text.format(""), encoding="utf-8")
    ran = cli("energy", str(path), "--machine", "gtx-580")
    assert ran.refused("AL414")
    assert "`where k >= 0` in its header makes `k` a size" in ran.err
    assert "decreases n - k" in cli("explain", "AL414").out
    path.write_text(text.format("    decreases k\n"), encoding="utf-8")
    assert "is not proved to end" not in cli("cost", str(path)).out


def test_greenup_names_the_option_that_it_needs() -> None:
    ran = cli("plot", "--kind", "greenup", "--machine", "gtx-580")
    assert ran.refused("AL411")
    assert "needs `--intensity`" in ran.err
    assert re.search(r"--intensity I .*required by greenup", process("plot", "--help").out)


# Words of the language.
def listed() -> set[str]:
    """The words in the section on reserved words."""
    page = (ROOT / "docs" / "reference" / "language.md").read_text(encoding="utf-8")
    found = re.search(r"^## Reserved words\n\n```text\n(.*?)```$", page, re.MULTILINE | re.DOTALL)
    return set(found[1].split())


def grammar_words() -> set[str]:
    """The words in the grammar: literals, and choices in patterns that end where a word ends."""
    lines = (ROOT / "grammar" / "archline.lark").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("//"))
    choices = {word for group in re.findall(r"\(([a-z_|]+)\)\\b", text) for word in group.split("|")}
    return choices | set(re.findall(r'"([a-z_]+)"', text))


def test_the_list_of_reserved_words_is_that_of_the_grammar() -> None:
    """A word of the grammar is reserved or can be a name; what else is reserved is a function, or pi."""
    contextual = {word for word in grammar_words() if named_so(word)}
    assert contextual == CONTEXTUAL_WORDS
    assert listed() == (grammar_words() - contextual) | INTRINSICS.keys() | {"pi"}


@pytest.mark.parametrize("word", sorted(listed()))
def test_reserved_words_are_no_names(word: str) -> None:
    assert not named_so(word)
    assert named_so(f"{word}_")


def named_so(word: str) -> bool:
    """Whether a parameter and its use in an expression can have this name."""
    text = f"algorithm f({word}: index, x: out real[n]):\n    for i in 0..{word} + 1:\n        x[0] = 1\n"
    return not parse(Source("<text>", text)).diagnostics


MISTAKES = {
    "AL201": ("f(u: inout real[n])", "u[0] = s", "`local s: real = 0`"),
    "AL226": ("f(u: inout real[n])", "u[u[0]] = 1.0", "index[n] below m"),
    "AL255": ("f(u: inout real[n]) -> real", "u[0] = 1.0", "end every path with `return` and a value"),
    "AL272": ("f(u: inout local real[n]) on grid(r: P)", "broadcast u[1] along r from 0", "`u[1 ..+ 1]`"),
}


@pytest.mark.parametrize("code", MISTAKES)
def test_a_hint_says_what_to_write(code: str) -> None:
    header, line, hint = MISTAKES[code]
    with pytest.raises(al.ArchlineError) as raised:
        al.loads(f"algorithm {header}:\n    {line}\n")
    (found,) = raised.value.diagnostics
    assert found.code == code
    assert hint in (found.hint or "")


def test_an_iteration_is_no_flop(tmp_path: Path) -> None:
    file = tmp_path / "f.algo"
    file.write_text("algorithm f(x: inout real[n]):\n    for i in 0..n:\n        x[i] += 1.0\n", encoding="utf-8")
    page = cli("cost", str(file), "--explain", "--metric", "flops", "--at", "n=4").out
    assert "flops = n  (sum over i of body)" in page
    assert "are assumed" not in page
    assert "(sum over i of (1 + body))" in cli("cost", str(file), "--explain", "--metric", "work").out


# What to write instead.
LOOP = "algorithm f(x: inout real[n]):\n    for i in 0..n:\n        "
ON_GRID = "algorithm f(x: local real[n], C: out real[n]) on grid(k: P):\n    "
ADVICE = [
    (LOOP + "x[i] = y[i]\n", "AL201", "declare the array: a parameter `y: real[n]`"),
    (LOOP + "A[i, 0] = x[i]\n", "AL201", "or `local A: real[n, m]`"),
    (LOOP + "x[i] = t\n", "AL201", "such as `local t: real = 0`"),
    (LOOP + "x[t] = 1.0\n", "AL201", "make it a parameter, `t: size`"),
    ("algorithm f(x: inout real[n]):\n    for i in 0..m:\n        x[i] = 1.0\n", "AL201", "a parameter, `m: size`"),
    ("algorithm f(x: inout real[n]):\n    let h = q//2\n    x[0] = real_of(h)\n", "AL201", "a parameter, `q: size`"),
    (LOOP.replace("    for", "    where n >= q\n    for", 1) + "x[i] = 1.0\n", "AL201", "or is a parameter, `q: size`"),
    (ON_GRID + "reduce x along k onto 0 with sum\n", "AL201", "an operator is `+`, `*`, `min` or `max`"),
    (ON_GRID + "output C[0..n] = x\n", "AL535", "with a guard such as `when k == 0`"),
    (
        LOOP.replace("for", "parallel for") + "x[i + 1] = x[i]\n",
        "AL301",
        "make the loop sequential: `for i in 0..n - 1:`",
    ),
    (LOOP.replace("for", "parallel for") + "x[0] += 1.0\n", "AL301", "make the update atomic"),
    (LOOP + "atomic x[i] = 1.0\n", "AL244", "as `x[i] += ...` does"),
    (LOOP + "local t: real = 0\n        atomic t += x[i]\n", "AL244", "`atomic s[0] += ...`"),
    (LOOP + "x[i] = spawn f(x)\n", "AL101", "or let the algorithm write it to an array of one element"),
    (LOOP + "spawn x[i] = 1.0\n", "AL101", "`spawn f(x[0..n//2])`"),
]


@pytest.mark.parametrize(("text", "code", "advice"), ADVICE)
def test_hints_say_what_to_write(tmp_path: Path, text: str, code: str, advice: str) -> None:
    path = tmp_path / "f.algo"
    path.write_text(text.replace("i in 0..n:\n        x[i + 1]", "i in 0..n - 1:\n        x[i + 1]"))
    ran = cli("check", str(path))
    assert ran.code == 2
    assert re.match(rf"\S+:\d+:\d+: {code}: ", ran.err)
    assert advice in ran.err.partition("  hint: ")[2]


def test_a_missing_order_of_two_indices_is_named(tmp_path: Path) -> None:
    head, body = "algorithm f(a: real[n], lo: index, hi: index):\n", "    if a[0] > 0.0:\n        f(a, lo, hi - 1)\n"
    unknown = al.loads(head + body)["f"].cost().work
    assert "`where lo <= hi` in its header would prove it" in str(unknown.reason)
    assert al.loads(head + "    where lo <= hi\n" + body)["f"].cost().work.status != "unknown"


def test_metrics_come_in_lists() -> None:
    def shown(text: str) -> set[str]:
        return set(re.findall(r"^  (flops|work|span|io|accesses)\b", text, flags=re.M))

    assert shown(cli("cost", "dense.gemv::gemv", "--metric", "flops,accesses").out) == {"flops", "accesses"}
    assert shown(cli("cost", "dense.gemv::gemv", "--metric", "io").out) == {"io"}
    wrong = cli("cost", "dense.gemv::gemv", "--metric", "flops,spam")
    assert (wrong.code, "there is no metric `spam`: did you mean `span`?" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("    ensures flops < 2*n", "unexpected `<`", "a bound is written with `<=`, `>=` or `==`"),
        ("    ensures flops > n", "unexpected `>`", "a bound is written with `<=`, `>=` or `==`"),
        ("    ensures energy <= 1 J", "unexpected `J`", 'claim energy(f) <= 1 on "MACHINE"'),
        ("    ensures power <= 1", "unknown metric `power`", 'claim power(f) <= 1 on "MACHINE"'),
        ("    ensures time <= 1", "unknown metric `time`", "did you mean `time(P)`?"),
        ("claim energi(f) <= 1", "unknown metric `energi`", "did you mean `energy`?"),
        ("claim 2*energi(f) <= work(f)", "unknown metric `energi`", "did you mean `energy`?"),
        ("claim n <= 1", "this claim names no algorithm", "write a cost such as `io(matmul)` in it"),
        ("claim f(n) <= 1", "this claim names no algorithm", "write a cost such as `io(matmul)` in it"),
    ],
)
def test_what_is_ensured_and_claimed(tmp_path: Path, line: str, message: str, hint: str) -> None:
    head, _, body = "algorithm f(x: out real[n]):\n    for i in 0..n:\n        x[i] = 0\n".partition("\n")
    file = tmp_path / "f.algo"
    file.write_text(f"{head}\n{line}\n{body}" if line.startswith(" ") else f"{PROGRAM}{line}\n", encoding="utf-8")
    ran = cli("check", str(file))
    assert ran.code == 2
    assert message in ran.err
    assert hint in ran.err


GRID = ("optimise", "distributed.matmul::matmul_25d", "--machine", "jaketown")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--over g=1..8,c --at n=4096.5", "AL405", "a size is an integer"),
        ("--over g=1..8,c --at n=-4", "AL406", "`n` is -4; it must be at least 1"),
        ("--over g=1..,c --at n=64", "AL411", "the range `1..` has no end\n  hint: write --over g=1..64"),
        ("--over g=..8,c --at n=64", "AL411", "the range `..8` has no start"),
        ("--over g,c --at n=64 --subject power:<=:20:kw", "AL490", "`kw` is not a unit\n  hint: did you mean `kW`?"),
        ("--over g,c --at n=64 --subject time:<=:1:ms,power:<=:2:kW", "AL490", "repeat --subject"),
        ("--over g,c --at n=64 --subject time:<=:1ms,power:<=:2:kW", "AL490", "repeat --subject"),
    ],
)
def test_what_is_optimised(options: str, code: str, said: str) -> None:
    ran = cli(*GRID, *(each.replace(":", " ") for each in options.split()))
    assert ran.code == 2
    assert code in ran.err
    assert said in ran.err


@pytest.mark.parametrize("bound", ["time < 2 ms", "time <= 2ms", "time<=0.2e1ms", "time <= 4/2 ms", "time <= 2e-3"])
def test_bounds_of_optima_are_written_in_several_ways(bound: str) -> None:
    options = ("--over", "g=1..8,c", "--at", "n=64", "--minimise", "power")
    shown = [cli(*GRID, *options, "--subject", each) for each in (bound, "time <= 2 ms")]
    assert shown[0].code == 0
    assert shown[0].out == shown[1].out.replace("time <= 2 ms", bound)


def test_whole_numbers_of_optima_have_all_digits() -> None:
    """8192^2 processors in the middle, and what a processor holds: whole numbers, in no power of ten."""
    found = cli(*GRID, "--over", "g", "--at", "n=16384,c=1,P=67108864").out
    assert re.search(r"\n  P +67108864\n", found)
    assert "e+" not in found


def test_metrics_are_shown_alone_and_an_assumption_once(tmp_path: Path) -> None:
    file = tmp_path / "f.algo"
    text = "algorithm f(x: inout real[n], b: size):\n    where b divides n - 2, n >= 2\n"
    file.write_text(f"{text}    for i in 0..(n - 2)/b:\n        x[i] += 1.0\n", encoding="utf-8")
    page = cli("cost", str(file), "--metric", "flops", "--all").out
    assert not {"work", "span", "io"} & {*page.split()}
    assert page.count("b divides n - 2") == 1
    assert json.loads(cli("cost", str(file), "--metric", "flops", "--format", "json").out)[0]["costs"].keys() == {
        "flops"
    }


def test_costs_take_the_facts_and_the_cache_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text('[tool.archline]\nwhere = "n >= 2"\ncache = "Z=64, L=4"\n', encoding="utf-8")
    loop = "    for i in 0..n:\n        x[i] += 1.0\n"
    Path("f.algo").write_text(f"algorithm f(x: inout real[n]):\n    ensures work >= 5\n{loop}", encoding="utf-8")
    pages = [cli("cost", "f.algo", *more).out for more in ((), ("--at", "n=8"))]
    assert all("assuming n >= 2" in page and "1 claim holds" in page for page in pages)
    assert "Z = 64, L = 4 (16 lines)" in pages[1]
    assert "are assumed" not in pages[1]
    assert "1 claim fails" in cli("cost", "f.algo", "--isolated").out
    assert "1 claim fails" in cli("cost", "f.algo", "--where", "n >= 1").out


def test_hints_name_what_is_accepted_and_errors_what_is_given(tmp_path: Path) -> None:
    ran = cli("run", "distributed.collectives::allreduce_ring", "--at", "w=12,P=4,q=3")
    assert "a run takes" in ran.err
    assert "`P`" in ran.err
    text = "algorithm f(x: inout real[n]):\n    for i in 0..n:\n        x[i] += 1.0\n"
    (tmp_path / "f.algo").write_text(text, encoding="utf-8")
    one = f"{tmp_path / 'f.algo'}::f"
    ran = cli("compare", one, one, "--machine", "jaketown", "--model", "linear", "--at", "n=12,P=4")
    assert ran.refused("AL411")
    assert "--procs" not in ran.err


@long
def test_open_comparisons_on_grids_name_no_cache() -> None:
    both = "distributed.matmul::cannon", "distributed.matmul::summa"
    page = cli("compare", *both, "--machine", "jaketown", "--at", "n=m=p=64,g=4,h=4,w=4").out
    assert "undecided: the bounds overlap" in page
    assert "another cache" not in page
    assert page.count("where g >= 2") == 1


@pytest.mark.parametrize("command", ["energy", "compare", "optimise"])
def test_help_lists_the_models_there_are(command: str) -> None:
    page = cli(command, "--help").out
    known = [each.name for each in load_models()]
    assert all(re.search(rf"\b{name}\b", page) for name in known)


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        ("mid = (lo + hi) / 2", "for a real write `real_of(lo + hi)/2`, to round down `//`"),
        ("mid = lo + 1", None),
        ("mid = x[0]", None),
        ("mid = x[0] / 2", None),
    ],
)
def test_an_unknown_name_has_the_type_of_what_it_is_given(statement: str, advice: str | None) -> None:
    text = f"algorithm f(x: inout real[n]):\n    local lo: int = 0\n    local hi: int = n\n    {statement}\n    x[0] = mid\n"
    if advice is None:
        load_text(text)
        return
    with pytest.raises(ArchlineError) as raised:
        load_text(text)
    assert raised.value.diagnostics[0].hint == advice


@pytest.mark.parametrize(
    ("type_", "advice"),
    [
        ("real[m, n] cols", "a layout is `rowmajor`, `colmajor` or `zmorton`"),
        ("real[m, n] by columns", "a layout is `rowmajor`, `colmajor` or `zmorton`"),
        ("real[m, n] column_major", "a layout is `rowmajor`, `colmajor` or `zmorton`"),
        ("real[n] inout", "the mode stands before the type: `A: inout real[n]`"),
    ],
)
def test_shapes_and_layouts_are_written_so(type_: str, advice: str) -> None:
    for more in ("", ", y: real[n]"):
        with pytest.raises(ArchlineError) as raised:
            load_text(f"algorithm f(A: {type_}{more}):\n    pass\n")
        assert raised.value.diagnostics[0].hint == advice
    with pytest.raises(ArchlineError) as raised:
        load_text("algorithm f(A: real[n] y: real[n]):\n    pass\n")
    assert "layout" not in (raised.value.diagnostics[0].hint or "")


@pytest.mark.parametrize(
    ("given", "number"), [("n=1k", "1000"), ("n=2, m=1.5M", "1500000"), ("n=64Ki", "65536"), ("n=3G", "3000000000")]
)
def test_a_number_with_a_unit_is_written_out(given: str, number: str) -> None:
    assert f"hint: write {number} for `" in cli("cost", "dense.gemv::gemv", "--at", given).err


def test_lists_of_three_have_one_and() -> None:
    pages = [cli("cost", "dense.gemv::gemv", "--metric", given).out for given in ("writebacks,bytes,io", "bytes,io")]
    assert "; of writebacks, bytes and io, for L >= 2" in pages[0]
    assert "; of bytes and io, for L >= 2" in pages[1]


def test_a_baseline_that_is_not_there(folder: Path) -> None:
    ran = cli("check", str(folder / "a.algo"), "--baseline", str(folder / "none.txt"))
    assert (ran.code, "none.txt` does not exist" in ran.err) == (2, True)


def test_a_race_on_a_register_says_how_it_is_summed() -> None:
    text = "algorithm f(x: real[n]) -> real:\n    local s: real = 0\n    parallel for i in 0..n:\n        s += x[i]\n    return s\n"
    module = load_text(text)
    hint = find_certain_races(module, module.algorithms["f"])[0].hint or ""
    assert "write `parallel for i in 0..n with + on s:`" in hint


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("return 7/2", "`7//2` rounds down, `7.0/2` is real"),
        ("let h = n/2\n    return h", "`n//2` rounds down, `ceil(n/2)` rounds up"),
    ],
)
def test_a_quotient_without_a_value_has_two_ways_out(tmp_path: Path, body: str, hint: str) -> None:
    (tmp_path / "f.algo").write_text(f"algorithm f(x: real[n]) -> int:\n    {body}\n")
    ran = cli("run", str(tmp_path / "f.algo::f"), "--at", "n=3")
    assert ran.refused("AL507")
    assert f"hint: {hint}" in ran.err


def test_operations_that_a_record_does_not_have_are_told_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "f.algo"
    path.write_text("algorithm f(G: graph[V, E]):\n    for v in G.edges(0): pass\n", encoding="utf-8")
    said = cli("check", str(path)).err
    assert "it has no operations, but fields: `G.ptr`, `G.adj`" in said
    assert "`G.ptr[i]..G.ptr[i + 1]`" in said


@pytest.mark.parametrize(("name", "hint"), [("A.size", "`n` of `x: real[n]`"), ("x.head", "`x` is no record")])
def test_arrays_have_no_fields(tmp_path: Path, name: str, hint: str) -> None:
    path = tmp_path / "f.algo"
    path.write_text(f"algorithm f(A: real[n, m], x: inout real[n]):\n    x[0] = {name}\n", encoding="utf-8")
    assert hint in cli("check", str(path)).err


@pytest.mark.parametrize(
    ("call", "races"),
    [
        ("copy(x[:n-1], x[1:])", True),
        ("copy(x[2:], x[:n-2])", True),
        ("copy(x[0..1], x[1..2])", False),
        ("copy(x, x)", False),
        ("copy(x[:n//2], x[n - n//2:])", False),
    ],
)
def test_a_copy_in_a_callee_between_parts_that_overlap_is_a_race(call: str, races: bool) -> None:
    text = (
        f"def copy(a: real[n], b: out real[n]):\n    b = a\n\ndef f(x: inout real[n]):\n    where n >= 3\n    {call}\n"
    )
    module = load_text(text)
    found = find_certain_races(module, module.algorithms["f"])
    assert [diagnostic.rule.code for diagnostic in found] == ["AL301"] * races


# Files, sizes and caches.
@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("cost", "aa.algo"), "did you mean `a.algo`?"),
        (("cost", "inside/c.algo"), "the folder `inside` has `b.algo`"),
        (("cost", "unlike.algo"), "this folder has `a.algo`"),
        (("cost", "outside/b.algo"), "there is no folder `outside`"),
        (("machines", "mine.toml"), "this folder has no `.toml` file"),
        (("fmt", "a.alg"), "this folder has no `.alg` file"),
        (("cost", "a"), "did you mean `a.algo`?"),
        (("cost", "-"), "`archline check` and `archline fmt` read standard input"),
        (("list", "zzz"), "the library's families are arithmetic, "),
    ],
)
def test_a_missing_file_says_what_there_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], hint: str
) -> None:
    monkeypatch.chdir(folder)
    ran = cli(*arguments)
    assert ran.refused("AL001")
    assert f"hint: {hint}" in ran.err


def test_a_missing_file_among_buffers_says_what_they_are(folder: Path) -> None:
    buffers = {str(folder / "x.algo"): "use yy\n" + PROGRAM, str(folder / "yyy.algo"): PROGRAM}
    with (
        pytest.raises(ArchlineError) as refused,
        source.replace_files({path: text.encode() for path, text in buffers.items()}, str(folder)),
    ):
        source.read_source(folder / "yy.algo")
    assert refused.value.diagnostics[0].hint == f"did you mean `{folder / 'yyy.algo'}`?"


TRIPLE = "dense.matmul::matmul_ikj"


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (("cost", TRIPLE, "--at", "n=1,m=1,p=1,n=2"), "AL403", "give `n` once, `n=1` or `n=2`"),
        (("cost", TRIPLE, "--at", "n=1,m=1,p=1,n=2/2"), "AL403", "give `n` once"),
        (("cost", TRIPLE, "--at", "n=1,n=m"), "AL403", "give `n` once"),
        (("run", TRIPLE, "--at", "n=1,m=1,p=1", "--cache", "Z=8,L=1,Z=4"), "AL403", "give `Z` once, `Z=8` or `Z=4`"),
        (
            ("energy", TRIPLE, "--machine", "gtx-580", "--sweep", "n=2..8", "--at", "n=1,m=1,p=1"),
            "AL403",
            "leave `n` out of one of them",
        ),
        (("cost", TRIPLE, "--at", "n=0,m=1,p=1"), "AL406", "give `n=1` or more; under `where n >= 0` the algorithm"),
        (("cost", TRIPLE, "--at", "n=-1,m=1,p=1"), "AL406", "give `n=1` or more"),
        (("cost", "stencil.jacobi_1d", "--at", "n=2,steps=1"), "AL406", "give `n=3` or more"),
        (("cost", TRIPLE, "--at", "n=1,m=1,p=1,Z=0,L=8"), "AL406", "give `Z=1` or more"),
        (("cost", TRIPLE, "--at", "n=1,m=1,p=1,Z=4,L=8"), "AL408", "give Z=8 or more, or L=4 or less"),
        (("run", TRIPLE, "--at", "n=1,m=1,p=1", "--cache", "Z=4,L=8"), "AL408", "give Z=8 or more, or L=4 or less"),
        (
            ("run", TRIPLE, "--at", "n=1,m=1,p=1", "--cache", "Z=8,L=1/2"),
            "AL408",
            "write words, not bytes, such as L=8",
        ),
        (
            ("run", TRIPLE, "--at", "n=1,m=1,p=1", "--cache", "Z=0,L=8"),
            "AL408",
            "write words, not bytes, such as Z=32768",
        ),
        (("plot", TRIPLE, "--at", "n=1,m=1,p=1", "--cache", "L=0"), "AL408", "--cache L=8"),
        (
            ("energy", TRIPLE, "--machine", "gtx-580", "--at", "n=1,m=1,p=1,Z=64,L=8", "--cache", "Z=64,L=8"),
            "AL408",
            "leave out --cache, or Z and L",
        ),
    ],
)
def test_wrong_sizes_and_caches_say_what_to_give(arguments: tuple[str, ...], code: str, hint: str) -> None:
    ran = cli(*arguments)
    assert ran.refused(code)
    part = ran.err[ran.err.index(f"{code}: ") :]
    assert f"hint: {hint}" in part
    # The advice is whole: no second value, and no zero, where there is none to choose.
    assert hint.endswith("the algorithm") or f"hint: {hint}\n" in part


def test_under_the_fact_that_the_hint_names_a_size_may_be_zero(tmp_path: Path) -> None:
    (tmp_path / "f.algo").write_text("algorithm f(x: out real[n]):\n    where n >= 0\n    for i in 0..n: x[i] = 0\n")
    assert cli("cost", str(tmp_path / "f.algo"), "--at", "n=0").code == 0


def test_processors_and_lines_of_python_have_hints() -> None:
    subject = al.algorithm(TRIPLE)
    for ask, hint in (
        (lambda: subject.cost().time(0), "give 1 processor or more, or `P` for any number"),
        (lambda: al.plot_io(subject, n=1, m=1, p=1, L=0), "give a positive number, such as L=8"),
    ):
        with pytest.raises(ArchlineError) as refused:
            ask()
        assert refused.value.diagnostics[0].hint == hint
