"""The papers re-derived: no verdict is typed in, and each is seen to depend on what is printed."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from functools import cache
from math import isclose
from pathlib import Path

import pytest

import archline as al
from archline.expr.values import evaluate
from archline.language.parser import parse_expression, parse_facts
from archline.papers.findings import DIFFERS, EQUAL, READING, UNDECIDED, RowVerdict, is_relation_true
from archline.papers.forms import evaluate_at
from archline.papers.recipes import RECIPE_INPUTS, derive_verdict
from archline.papers.report import derive_row_verdicts, iterate_entry_lines
from archline.papers.rows import read_paper
from archline.records import replace
from archline.resources import find_resource
from changed_forms import changes
from cli_support import cli
from effort import EFFORT, long, some

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")
NAMES = sorted(path.stem for path in find_resource("papers").glob("*.toml"))


SLOW = ("growth", "run")
TRIED = {"quick": 8, "full": 7}.get(EFFORT, 1)
"""Of the changes of a row every so-many-th is tried; all by hand."""
"""Recipes that derive or execute whole algorithms: a quick run leaves them to others."""


@cache
def findings(name: str) -> list[RowVerdict]:
    rows = read_paper(name, RECIPE_INPUTS).rows
    kept = [row for row in rows if EFFORT != "quick" or row.kind not in SLOW]
    return [each for row in some(kept, 9) for each in some(derive_row_verdicts(row), 8)]


def found(name: str, verdict: str) -> list[RowVerdict]:
    return [each for each in findings(name) if each.verdict == verdict]


@pytest.mark.parametrize("name", some(NAMES, len(NAMES)))
def test_what_holds_fails_once_the_printed_form_is_changed(name: str) -> None:
    for each in found(name, EQUAL):
        rows = list(changes(each.row))
        assert rows, each.row.place
        tried = rows[:2] if each.row.kind in SLOW and EFFORT != "deep" else rows[::TRIED]
        for row in tried:
            verdict = derive_verdict(row)
            assert verdict.verdict == DIFFERS or verdict.within_rounding, (row.place, row.subject, row.printed)


@pytest.mark.parametrize("name", NAMES)
def test_what_differs_holds_once_the_derived_form_is_printed(name: str) -> None:
    for each in found(name, DIFFERS):
        assert each.reason
        assert derive_verdict(each.row.with_printed(each.derived)).verdict == EQUAL, (
            each.row.place,
            each.row.subject,
            each.derived,
        )


@pytest.mark.parametrize("name", NAMES)
def test_what_differs_has_a_witness_that_another_evaluation_confirms(name: str) -> None:
    for each in found(name, DIFFERS):
        assert each.witness is not None, (each.row.place, each.row.subject)
        assert each.witness.is_confirmed(), (each.row.place, each.row.subject, str(each.witness))


@pytest.mark.parametrize("name", NAMES)
def test_a_witness_lies_where_the_facts_of_its_row_hold(name: str) -> None:
    for each in found(name, DIFFERS) + found(name, READING):
        facts = [fact for text in each.row.texts("where") for fact in parse_facts(text, "where")]
        assert each.witness is not None
        assert all(is_relation_true(fact, each.witness.at) is not False for fact in facts), (
            each.row.place,
            str(each.witness),
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_reading_differs_word_for_word_and_a_change_of_the_print_is_no_longer_one(name: str) -> None:
    for each in found(name, READING):
        assert each.reason
        assert each.witness is not None
        assert each.witness.is_confirmed(), (each.row.place, each.row.subject)
        if each.within_rounding:
            continue
        assert "says" in each.row.table("reading"), (each.row.place, each.row.subject)
        otherwise = each.row.under_reading
        assert derive_verdict(otherwise).verdict == EQUAL
        for changed in changes(otherwise) if otherwise.kind not in (*SLOW, "claim") else ():
            if changed.printed != otherwise.printed:
                reading = {**each.row.table("reading"), "printed": changed.printed}
                row = replace(each.row, inputs={**each.row.inputs, "reading": reading})
                verdict = derive_verdict(row)
                assert verdict.verdict == DIFFERS or verdict.within_rounding, (row.place, row.subject, changed.printed)


@pytest.mark.parametrize("name", NAMES)
def test_each_reading_of_a_row_counts(name: str) -> None:
    """A row with a reading is right under it, or has none."""
    for each in findings(name):
        if each.row.has("reading") and "quantity" not in each.row.inputs:
            assert each.verdict == READING, (each.row.place, each.row.subject, each.reason)


@pytest.mark.parametrize("name", NAMES)
def test_few_rows_are_undecided_and_say_why(name: str) -> None:
    left = found(name, UNDECIDED)
    assert 10 * len(left) <= len(findings(name)) or EFFORT == "quick"
    assert all(each.reason for each in left)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_what_does_not_hold(name: str) -> None:
    for each in found(name, DIFFERS) + found(name, READING):
        assert "\n".join(iterate_entry_lines(each)) in PAGE, (
            each.row.place,
            "archline papers --format markdown >docs/papers.md",
        )


@long
def test_the_page_is_what_the_command_prints() -> None:
    assert cli("papers", "--format", "markdown").out == PAGE


ROW = """[[row]]
place = "(1)"
kind = "limit"
printed = "a + b"
of = "b + a"
"""
WRONG = {
    "another recipe": (ROW.replace("limit", "limes"), 3, "there is no recipe `limes`", "did you mean `limit`?"),
    "an input lacks": (ROW.replace("limit", "optimum"), 3, "lacks the input `over`", ""),
    "an input too many": (ROW + 'off = "1"\n', 6, "has no input `off`", "did you mean `of`?"),
    "no origin": (ROW.replace("of =", "names =").replace("names", "with"), 1, "the row has no text `of`", ""),
    "no form": (ROW.replace("a + b", "a + "), 4, "`a + ` cannot be read", ""),
    "no TOML": (ROW + "with =\n", 6, "is not TOML", "texts are in quotes"),
    "no place": (ROW.replace("place", "# place"), 1, "the row has no text `place`", ""),
    "no metric": (
        ROW.replace('limit"', 'model"\nmodel = "linear"').replace('"b + a"', '"time"'),
        6,
        "lacks `flops`",
        "",
    ),
    "no model": (
        ROW.replace('limit"', 'model"\nmodel = "lineal"'),
        4,
        "no energy model `lineal`",
        "did you mean `linear`?",
    ),
    "no number": (ROW.replace("limit", "cell").replace("of =", "rule ="), 4, "`a + b` is not a number with a unit", ""),
    "no machine": (ROW + '[numbers]\nmachine = "none"\n', 6, "there is no machine `none`", ""),
}


@pytest.mark.parametrize(("text", "line", "message", "hint"), WRONG.values(), ids=WRONG)
def test_a_wrong_row_is_an_error_with_its_place(tmp_path: Path, text: str, line: int, message: str, hint: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    ran = cli("papers", str(path))
    assert ran.code == 2
    assert f"{path}:{line}:" in ran.err
    assert message in ran.err
    assert f"hint: {hint}" in ran.err


def test_what_is_asked_for_and_is_not_there() -> None:
    assert "did you mean `scaling`?" in cli("papers", "scalin").err
    assert "did you mean `(16)`?" in cli("papers", "scaling", "--place", "(166)").err
    assert "places are Table I, Table II" in cli("papers", "scaling", "--place", "Table of contents").err


def at_place(name: str, place: str) -> dict[str, RowVerdict]:
    """The findings of a place by subject."""
    return {each.row.subject: each for each in al.papers(name, place=place).rows}


def test_equation_20_with_c_as_printed_and_d_as_derived_takes_all_the_power() -> None:
    """The power of a processor is 300 W at M of (20) with +C, and 101.7 W with -C, gamma_e in the root put right."""
    rows = at_place("scaling", "(20)")
    assert rows["C"].verdict == EQUAL
    assert rows["C"].row.printed.startswith("gamma_t*f*Pmax - gamma_e*f")
    gamma_t, gamma_e, f, m, limit = 2.5202e-12, 3.78024e-10, 20.0, 2.0**34, 300.0
    beta_t, alpha_t, beta_e, alpha_e, delta_e, eps_e = 1.56e-10, 6e-8, 3.78024e-10, 1.0, 5.7742e-9, 1.0
    words, joules = beta_t + alpha_t / m, beta_e + alpha_e / m
    at = {"beta_t": beta_t, "alpha_t": alpha_t, "beta_e": beta_e, "alpha_e": alpha_e, "gamma_t": gamma_t}
    at |= {"gamma_e": gamma_e, "f": f, "m": m, "Pmax": limit, "delta_e": delta_e, "eps_e": eps_e}
    exact = {name: Fraction(value) for name, value in at.items()}
    exact |= {name: Fraction(evaluate(parse_expression(rows[name].derived, name), exact)) for name in ("C", "D")}
    root = rows[""].derived.removeprefix("M <= ")
    for sign, power in ((1, 300.0), (-1, 101.732)):
        found = evaluate_at(parse_expression(root, "M"), {**exact, "C": sign * exact["C"]})
        memory = float(found.middle)
        used = (gamma_e * f + joules / memory) / (gamma_t * f + words / memory) + delta_e * memory + eps_e
        assert isclose(used, power, rel_tol=1e-5)


@long
def test_reasons_name_what_was_mistaken() -> None:
    assert at_place("scaling", "section V.F")["list of parameters"].reason == "lists gamma_e twice, lacks gamma_t"
    rows = at_place("scaling", "Table I")
    said = {subject.partition(",")[0]: each.reason for subject, each in rows.items()}
    assert "the print is that with memory_max = 17179869184 B" in said["delta_e"]
    assert rows["delta_e, Dual-socket Jaketown, one socket"].verdict == READING
    assert "the print is 3.78024e-10, as that of gamma_e" in said["beta_e"]
    sign, under = (each.reason for each in al.papers("scaling", place="(20)", only="differs").rows)
    assert under == "under the root gamma_e stands where delta_e follows"
    assert sign.startswith("prints -eps_e*(alpha_t + beta_t*m)/m where eps_e*(alpha_t + beta_t*m)/m follows")
    rows = at_place("scaling", "Table II")
    ivy = rows["peak, Intel Core i7-3770K (Ivy Bridge)"].reason
    assert "the print is that with 1/2 times flops*gpu_cores*gpu_frequency*gpu_simd" in ivy
    assert "that with two digits exchanged" in at_place("roofline", "section V.B")["power at I = B_tau"].reason
    (words,) = (each.reason for each in al.papers("scaling", place="(17)", only="differs").rows)
    assert "the factor pl of betan_e*n^2*pl/Mn is too much, delta_e stands where deltal_e follows, in 2 terms" in words
    assert "the print is 1/2 times that" in rows["peak, ARM Cortex-A9, 2 GHz"].reason


@long
def test_witnesses_of_relations_print_both_sides_and_nothing_put_in_is_no_step() -> None:
    """35000^2/36070 = 33962, and 35000^2/2 = 6.125*10^8."""
    (found,) = al.papers("scaling", place="footnote 4", only="differs").rows
    assert found.steps == ("(6) lower: n^2/p <= M",)
    said = "printed 3.397e+04 <= 3.607e+04 holds, derived 6.125e+08 <= 3.607e+04 fails at M = 3.607e+04, n = 35000"
    assert str(found.witness).startswith(said)


@long
def test_a_section_has_those_inside_it_and_reasons_are_whole() -> None:
    out = cli("papers", "scaling", "--place", "section V").out
    held = [re.sub(r" \(.*\)", "", each) for each in " ".join(out.partition("equal: ")[2].split()).split(", ")]
    assert held == [f"section V.{each}" for each in "ABCDEF"]
    assert "..." not in out
    out = cli("papers", "roofline", "--only", "differs").out
    assert "2 rows: 2 do not hold\n" in out
    assert "..." not in cli("papers", "roofline").out
    assert "..." not in out


def test_formats(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(ROW + ROW.replace("a + b", "a - b").replace("(1)", "(2)"), encoding="utf-8")
    document = json.loads(cli("papers", str(path), "--format", "json").out)
    assert document["version"] == 1
    (differs, equal) = document["rows"]
    assert (differs["place"], differs["verdict"], differs["derived"]) == ("(2)", "differs", "a + b")
    assert differs["reason"] == "prints -b where b follows: -1 times"
    assert (equal["paper"], equal["kind"], equal["verdict"], equal["assumes"]) == ("own", "limit", "equal", [])
    assert [each.verdict for each in al.papers(str(path), only="equal").rows] == ["equal"]
    page = cli("papers", str(path), "--format", "markdown").out
    assert "2 rows: 1 does not hold, 1 holds." in page
    assert "**(2)**\n\n- printed: `a - b`\n- follows: `a + b`\n- because prints -b where b follows: -1 times\n" in page
    assert page.index("**(2)**") < page.index("### What holds\n\n- **(1)**: `a + b`\n")
    explained = cli("papers", str(path), "--explain", "--place", "(1)").out
    assert "the difference of printed and derived form is 0" in explained


@pytest.mark.parametrize(
    ("row", "code", "said"),
    [
        ('kind = "limit"\nprinted = "10^10^10"\nof = "a"', "AL613", "exponent above 1000"),
        ('kind = "limit"\nprinted = "1e999999999"\nof = "a"', "AL462", "too large"),
        (
            'kind = "growth"\nprinted = "n"\nuse = "scan.reduce"\ncost = "work(sum)"\nrelation = "Thetaa"',
            "AL612",
            "not one of Theta, O, Omega",
        ),
        ('kind = "growth"\nprinted = "n"\nform = "n"', "AL612", "lacks the input `use`"),
        ('kind = "limit"\nprinted = "a"\nof = "b"\nreading = { of = "a" }', "AL612", "needs `says`"),
        ('kind = "limit"\nprinted = "a"\nof = "b"\nreading = { says = "x", off = "a" }', "AL612", "no input `off`"),
        (
            'kind = "crossing"\nprinted = "3"\nleft = "t"\nright = "3"\nover = "t"\nbetween = ["0"]',
            "AL612",
            "two numbers",
        ),
    ],
)
def test_rows_that_cannot_be_derived_have_their_place(tmp_path: Path, row: str, code: str, said: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(f'title = "Own"\n\n[[row]]\nplace = "(1)"\n{row}\n', encoding="utf-8")
    ran = cli("papers", str(path))
    assert ran.code == 2
    assert re.match(rf".*own\.toml:\d+:\d+: {code}: own \(1\): .*{said}", ran.err)


def test_a_paper_without_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("", encoding="utf-8")
    assert "AL612: own: the paper has no table" in cli("papers", str(path)).err


def own(tmp_path: Path, row: str) -> RowVerdict:
    """The verdict on a row of one's own."""
    path = tmp_path / "own.toml"
    path.write_text(f'[[row]]\nplace = "(1)"\n{row}\n', encoding="utf-8")
    (only,) = al.papers(str(path)).rows
    return only


@pytest.mark.parametrize(
    ("printed", "right"),
    [
        ("14.4 flop/J", "14.4 flop/B"),
        ("14.4", "14.4 flop/B"),
        ("14.4 op/B", "14.4 flop/B"),
        ("14.4 flop/B/s", "14.4 flop/B"),
        ("14400 mflop/B", None),
        ("14.4 flop/B", None),
    ],
)
def test_a_cell_is_of_its_unit(tmp_path: Path, printed: str, right: str | None) -> None:
    """360 pJ/B over 25 pJ/flop are 14.4 flop/B."""
    row = 'kind = "cell"\nrule = "a/b"\ninputs = { a = "360 pJ/B", b = "25 pJ/flop" }\nprinted = '
    verdict = own(tmp_path, row + f'"{printed}"')
    assert (verdict.verdict, verdict.derived) == (EQUAL if right is None else DIFFERS, right or verdict.derived)
    assert right is None or "is in flop/B" in verdict.reason
    assert derive_verdict(verdict.row.with_printed(verdict.derived)).verdict == EQUAL


def test_numbers_of_other_units_are_no_cells(tmp_path: Path) -> None:
    watts = 'kind = "cell"\nprinted = "3.354e-10 W"\nrule = "a*b"\ninputs = { a = "1.56e-10 s/word", b = "2.15 W" }'
    assert own(tmp_path, watts).derived == "3.354e-10 J/word"
    rate = 'kind = "cell"\nprinted = "1.03 s"\nrule = "a*b"\ninputs = { a = "0.515 flop/s", b = "2" }'
    assert own(tmp_path, rate).derived == "1.03 flop/s"


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        ("1/(t - 3)", "0", "jumps or has a pole"),
        ("1/(t - 5)", "0", "jumps or has a pole"),
        ("1/(t - 7)^3", "2*t - 14", "more than once"),
        ("floor(t)", "7/2", "jumps or has a pole"),
        ("(t - 3)*(t - 4)", "0", "more than once"),
        ("t*t", "0 - 1", "do not cross"),
        ("t^2 - 8*t + 10", "0", "more than once"),
    ],
)
def test_curves_that_do_not_meet_once_have_no_crossing(tmp_path: Path, left: str, right: str, reason: str) -> None:
    row = f'kind = "crossing"\nprinted = "3"\nover = "t"\nbetween = ["0", "10"]\nleft = "{left}"\nright = "{right}"'
    verdict = own(tmp_path, row)
    assert (verdict.verdict, reason in verdict.reason) == (UNDECIDED, True), verdict.reason


@pytest.mark.parametrize("left", ["t^2 - 9", "(t - 3)^3", "2^(20*t) - 2^60", "sqrt(t) - sqrt(3)"])
def test_steep_and_flat_curves_have_their_crossing(tmp_path: Path, left: str) -> None:
    row = f'kind = "crossing"\nprinted = "3 s"\nover = "t"\nbetween = ["0 s", "10 s"]\nleft = "{left}"\nright = "0"'
    assert own(tmp_path, row).verdict == EQUAL
    assert own(tmp_path, row.replace("3 s", "3 J")).derived == "3 s"


def test_a_reading_is_evaluated(tmp_path: Path) -> None:
    row = 'kind = "limit"\nprinted = "a"\nof = "b*a"\nreading = { says = "b is 1", with = { b = "1" } }'
    assert own(tmp_path, row).verdict == READING
    assert own(tmp_path, row.replace('printed = "a"', 'printed = "c"')).verdict == DIFFERS
    assert own(tmp_path, row.replace('of = "b*a"', 'of = "a"')).verdict == EQUAL
    out = cli("papers", str(tmp_path / "own.toml"), "--only", "equal").out
    assert "1 row: 1 holds" in out
    own(tmp_path, row)
    document = json.loads(cli("papers", str(tmp_path / "own.toml"), "--format", "json").out)
    assert [(each["verdict"], each["reading"]) for each in document["rows"]] == [("reading", "b is 1")]
    assert "1 row: 1 holds under a reading" in cli("papers", str(tmp_path / "own.toml"), "--only", "reading").out


NAMED = {
    "scaling": ["(17)"],
    "balance": [],
    "roofline": ["Table I, Table II", "section V.B"],
    "ice": ["section 6.2", "(14), Table 3"],
}
"""Places that are wrong under every reading that was thought of."""
READ_OTHERWISE = {
    "scaling": ["section VI", "Figure 7"],
    "balance": ["section 3", "(5)"],
    "roofline": ["section VII", "section II.B"],
    "ice": ["(17)", "Table 5"],
}
"""Places that are wrong word for word, each with the reading that makes them right."""
TAKEN_BACK = {
    "scaling": ["(12) E", "section V.D", "Table II"],
    "balance": ["Figure 2", "section 2"],
    "roofline": ["Table III", "section V.A", "section II.D"],
    "ice": ["Figure 5", "Figure 6", "Table 7", "section 4.3", "section 6.6"],
}


def places_of(name: str, verdict: str) -> set[str]:
    """The places of rows of a verdict, alone and with what they are about."""
    return {
        place for each in found(name, verdict) for place in (each.row.place, f"{each.row.place} {each.row.subject}")
    }


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_to_be_wrong(name: str) -> None:
    places = places_of(name, DIFFERS)
    assert EFFORT == "quick" or not set(NAMED[name]) - places
    assert EFFORT == "quick" or not set(READ_OTHERWISE[name]) - places_of(name, READING)
    assert not set(TAKEN_BACK[name]) & places


def test_figure_7_needs_six_halvings_by_equation_10() -> None:
    """2^5/(gamma_e + beta_e/sqrt(M) + delta_e*(gamma_t*M + beta_t*sqrt(M))) with the numbers of Table I."""
    memory = 2.0**34
    joules = 3.78024e-10 * (1 + memory**-0.5) + 5.7742e-9 * (2.5202e-12 * memory + 1.56e-10 * memory**0.5)
    assert isclose(2**5 / joules / 1e9, 50.9, abs_tol=0.05)
    assert 2**6 / joules / 1e9 > 75
