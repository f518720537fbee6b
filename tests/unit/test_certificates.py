"""The checker of growth certificates: it accepts what the prover gives, and no certificate with a mistake in it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from archline.certificates.check import Checked, check, check_counterexample
from archline.certificates.constants import RejectedError, read_constant
from archline.certificates.terms import Facts
from archline.cli.main import main
from archline.expr.text import format_fact
from archline.growth.is_big_o import Proved, Refuted
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_facts
from cli_support import cli
from effort import long, some
from growth_questions import order_texts
from test_growth import FAILS, FAR, HOLDS

DATA = Path(__file__).parents[1] / "data"
Question = tuple[str, str, str]


def growths() -> Iterator[Question]:
    """The growth of every recurrence of the corpus, against itself and neighbours, both ways."""
    for each in json.loads((DATA / "recurrences.json").read_text()):
        g = each["growth"]
        if g is None:
            continue
        name = re.findall(r"\b[a-z]\b", g)[0]
        where = ", ".join(each.get("facts") or [])
        for other in (g, f"({g})*log2({name})", f"({g})*{name}^0.1", f"({g}) + {name}", f"({g})/2 + 7"):
            yield g, other, where
            yield other, g, where


def answered(questions: list[Question]) -> Iterator[tuple[Question, Proved | Refuted]]:
    for question in questions:
        answer = order_texts(*question)
        if isinstance(answer, Proved | Refuted):
            yield question, answer


def outcome(question: Question, answer: Proved | Refuted) -> Checked:
    f, g, where = question
    if isinstance(answer, Proved):
        return check(json.loads(json.dumps(answer.certificate)))
    facts = [format_fact(fact) for fact in parse_facts(where)] if where else []
    return check_counterexample(f, g, facts, json.loads(json.dumps(answer.counterexample)))


@pytest.mark.parametrize("question", [*HOLDS, *FAR, *FAILS])
def test_hand_made_cases(question: Question) -> None:
    assert outcome(question, order_texts(*question)).accepted  # type: ignore[arg-type]


@long
def test_the_same_cases_the_other_way_round() -> None:
    seen = 0
    for f, g, where in (*HOLDS, *FAILS):
        try:
            answers = list(answered([(g, f, where)]))
        except ArchlineError:
            continue
        for question, answer in answers:
            assert str(outcome(question, answer)) == "accepted", question
            seen += 1
    assert seen > 100


@long
def test_growths_of_recurrences() -> None:
    found = {Proved: 0, Refuted: 0}
    for question, answer in answered(list(growths())):
        assert str(outcome(question, answer)) == "accepted", question
        found[type(answer)] += 1
    assert found[Proved] > 400
    assert found[Refuted] > 150


# Mutations by hand
Edit = Callable[[dict[str, Any]], object]
MEAN = ("(n*m*p)^(2/3)", "n*m + m*p + n*p", "")
LOGS = ("n*log2(n)", "n*log2(m) + n^2/m", "")
CACHE = ("L*sqrt(Z)", "Z", "Z >= L^2")
STRASSEN = ("n^log2(7)/(L*Z^(log2(7)/2 - 1))", "n^2/L + n^3/(L*sqrt(Z))", "Z >= L^2")
CHAIN = ("log2(log2(n))", "log2(log2(m))", "n <= m^3")
SPLIT = ("p", "max(n, m)", "p <= n + m")
MINUS = ("n^2", "n^2 - n", "n >= 2")
ROUND = ("n", "floor(n/2)", "n >= 2")
QUOTIENT = ("log2(n)", "log2(n/Z) + log2(Z)", "")
BOUNDED = ("log2(n/m)", "1", "n <= m")
SLOW = ("n*log2(n)", "n^1.001", "")
TWO_BOUNDS = ("n + m", "n*m", "")
SHIFTED = ("n*m", "n*m - n - m + 1", "n >= 2, m >= 2")
FAR_OUT = ("2^n", "3*2^n - 2*n - 4", "n >= 3")
LOG_BELOW = ("n", "2*n - log2(n)", "")


def proof(certificate: dict[str, Any]) -> dict[str, Any]:
    return certificate["bounds"][0]["proof"]  # type: ignore[no-any-return]


def case(certificate: dict[str, Any], index: int) -> dict[str, Any]:
    return proof(certificate)["cases"][index]  # type: ignore[no-any-return]


def cover(certificate: dict[str, Any]) -> dict[str, Any]:
    return certificate["differences"][0]["covers"][0]  # type: ignore[no-any-return]


def use(certificate: dict[str, Any]) -> dict[str, Any]:
    return proof(certificate)["uses"][0]  # type: ignore[no-any-return]


def write(path: Callable[[dict[str, Any]], dict[str, Any]], **entries: object) -> Edit:
    return lambda certificate: path(certificate).update(entries)


def weights(certificate: dict[str, Any], *texts: str) -> None:
    for entry, text in zip(proof(certificate)["right"], texts, strict=True):
        entry[1] = text


def every_atom(certificate: dict[str, Any], name: str, power: str) -> None:
    (bound,) = certificate["bounds"]
    bound["largest_of"] = [{name: power}]
    bound["proof"]["right"] = [[{name: power}, "1"]]


MUTATIONS: list[tuple[str, Question, Edit]] = [
    ("format", MEAN, lambda c: c.update(format=2)),
    ("larger f", MEAN, lambda c: c.update(f="(n*m*p)^(3/4)")),
    ("smaller g", MEAN, lambda c: c.update(g="n*m + m*p")),
    ("smallest in place of the sum", MEAN, lambda c: c.update(g="min(n*m, m*p, n*p)")),
    ("weights", MEAN, lambda c: weights(c, "1/2", "1/4", "1/4")),
    ("weights of sum 2", MEAN, lambda c: weights(c, "2/3", "2/3", "2/3")),
    ("a negative weight", MEAN, lambda c: weights(c, "-1/3", "2/3", "2/3")),
    ("weights close to 1/3", MEAN, lambda c: weights(c, "0.33333333333333333333", "1/3", "0.33333333333333333334")),
    ("a monomial that is not there", MEAN, lambda c: proof(c)["right"][0].__setitem__(0, {"n": "2"})),
    ("no bounds", MEAN, lambda c: c.update(bounds=[])),
    ("bounds of other clauses", TWO_BOUNDS, lambda c: c["bounds"].pop(0)),
    ("the last bound dropped", TWO_BOUNDS, lambda c: c["bounds"].pop()),
    ("a bound of more than f has", TWO_BOUNDS, lambda c: c["bounds"][0]["smallest_of"].append({})),
    ("a bound by more than g has", TWO_BOUNDS, lambda c: c["bounds"][0]["largest_of"].append({"n": "9"})),
    ("a case removed", LOGS, lambda c: proof(c)["cases"].pop()),
    ("the other case removed", LOGS, lambda c: proof(c)["cases"].pop(0)),
    ("the same case twice", LOGS, lambda c: proof(c)["cases"].__setitem__(1, case(c, 0))),
    ("cases of another comparison", LOGS, lambda c: proof(c)["split"].update(right={"m": "3"})),
    ("more assumed in a case", LOGS, lambda c: case(c, 0)["assume"].append({"small": {"n": "1"}, "large": {}})),
    ("a stronger assumption", LOGS, lambda c: case(c, 0)["assume"][0].update(large={"m": "1"})),
    ("depth of a case", LOGS, lambda c: case(c, 1)["proof"]["uses"][0]["because"].update(depth=1)),
    ("depth below the outermost", LOGS, lambda c: case(c, 1)["proof"]["uses"][0]["because"].update(depth=-1)),
    ("order of logs negated", LOGS, lambda c: case(c, 0)["proof"]["uses"][0]["because"].update(power="-2")),
    ("order of logs with another power", LOGS, lambda c: case(c, 0)["proof"]["uses"][0]["because"].update(power="3")),
    ("order of logs not shown", LOGS, lambda c: case(c, 0)["proof"]["uses"][0].update(uses=[])),
    ("cases of a made-up rule", LOGS, lambda c: proof(c)["split"].update(rule="trust")),
    ("a fact left out", CACHE, lambda c: c.update(facts=[])),
    ("a weaker fact", CACHE, lambda c: c.update(facts=["Z >= L^1.9"])),
    ("a fact turned round", CACHE, lambda c: c.update(facts=["Z <= L^2"])),
    ("one fact or another", CACHE, lambda c: c.update(facts=["Z >= L^2 or Z >= 2"])),
    ("index of a fact", CACHE, lambda c: use(c)["because"].update(fact=1)),
    ("negative index of a fact", CACHE, lambda c: use(c)["because"].update(fact=-1)),
    ("a multiplier", CACHE, write(use, times="1")),
    ("an inequality dropped", CACHE, lambda c: proof(c).update(uses=[])),
    ("an inequality turned round", CACHE, lambda c: use(c).update(small=use(c)["large"], large=use(c)["small"])),
    ("an irrational weight", STRASSEN, lambda c: weights(c, "3 - log2(6.9)", "-2 + log2(6.9)")),
    ("weights exchanged", STRASSEN, lambda c: weights(c, "-2 + log2(7)", "3 - log2(7)")),
    ("an irrational exponent", STRASSEN, lambda c: c.update(f="n^log2(8)/(L*Z^(log2(7)/2 - 1))")),
    ("a weaker fact under logarithms", CHAIN, lambda c: c.update(facts=["n <= 2^m"])),
    ("log of log, inner step dropped", CHAIN, lambda c: use(c)["uses"][0].update(uses=[])),
    ("log of log, inner step for the outer", CHAIN, lambda c: use(c).update(uses=use(c)["uses"][0]["uses"])),
    ("a sum taken for one term", SPLIT, lambda c: c["bounds"].__setitem__(0, {**c["bounds"][0], "proof": {
        "left": [[{"p": "1"}, "1"]], "right": [[{"n": "1"}, "1"]],
        "uses": [{"small": {"p": "1"}, "large": {"n": "1"}, "times": "1", "because": {"rule": "fact", "fact": 0}}]}})),
    ("a case of a fact removed", SPLIT, lambda c: proof(c)["cases"].pop()),
    ("a fact with a third case", SPLIT, lambda c: c.update(facts=["p <= n + m + q"])),
    ("g zero at a point", MINUS, lambda c: c.update(facts=["n >= 1"])),
    ("g negative at a point", MINUS, lambda c: c.update(g="n^2 - 3*n")),
    ("no difference", MINUS, lambda c: c.update(differences=[])),
    ("a difference of something else", MINUS, lambda c: c["differences"][0].update(of="n^2 - n/2")),
    ("too small a factor", MINUS, lambda c: cover(c)["uses"][0].update(factor="1/3")),
    ("a factor of the cover", MINUS, write(cover, factor="1/4")),
    ("too little covered", MINUS, write(cover, amount="1/2")),
    ("too much taken", MINUS, write(cover, factor="1")),
    ("covered with itself", MINUS, write(cover, into={"n": "1"})),
    ("a use of a cover dropped", MINUS, write(cover, uses=[])),
    ("a cover dropped", MINUS, lambda c: c["differences"][0].update(covers=[])),
    ("what is kept is not there", MINUS, lambda c: c["differences"][0].update(keeps=[{"n": "3"}])),
    ("rounded down to zero", ROUND, lambda c: c.update(facts=["n >= 1"])),
    ("rounded without a difference", ROUND, lambda c: c.update(differences=[])),
    ("log2(n) <= 3/2*n at n = 1", LOG_BELOW, lambda c: (
        cover(c).update(factor="3/2"), cover(c)["uses"][0].update(factor="3/2"))),
    ("log2(n) <= m", LOG_BELOW, lambda c: c.update(g="2*m - log2(n)")),
    ("a quotient's logarithm, one case", QUOTIENT, lambda c: proof(c).update(cases=proof(c)["cases"][:1])),
    ("the logarithm of what is not bounded", BOUNDED, lambda c: c.update(facts=["n <= 2*m^2"])),
    ("bounded by nothing", BOUNDED, lambda c: use(c).update(uses=[])),
    ("a power below 0", SLOW, lambda c: use(c)["because"].update(power="-1/1024")),
    ("a power of 0", SLOW, lambda c: use(c).update(large={}, because={"rule": "log below power", "power": "0"})),
    ("another power", SLOW, lambda c: use(c)["because"].update(power="1/512")),
    ("a logarithm below a constant", SLOW, lambda c: use(c).update(large={}, because={"rule": "log of bounded"})),
    ("a rule that is not the one", SLOW, lambda c: use(c)["because"].update(rule="cache")),
    ("a logarithm as a size", ("log2(n)", "log2(n)^2", ""), lambda c: use(c)["because"].update(rule="size")),
    ("L <= Z of others", ("L", "Z", ""), lambda c: (c.update(f="n", g="m"), every_atom(c, "m", "1"))),
    ("Z <= L", ("L", "Z", ""), lambda c: c.update(f="Z", g="L")),
    ("too large a share", SHIFTED, lambda c: c["differences"][0].update(share="1/3")),
    ("no share", SHIFTED, lambda c: c["differences"][0].update(share="0")),
    ("a negative share", SHIFTED, lambda c: c["differences"][0].update(share="-1")),
    ("no fact for a least value", SHIFTED, lambda c: c.update(facts=["m >= 2"])),
    ("a least value less", SHIFTED, lambda c: c["differences"][0]["least"].pop()),
    ("too large a least value", SHIFTED, lambda c: c["differences"][0]["least"][0].update(factor="1/3")),
    ("a least value of the square", SHIFTED, lambda c: c["differences"][0]["least"][0].update(large={"n": "2"})),
    ("a negative coefficient", SHIFTED, lambda c: (
        c.update(g="n*m - n - m + 1/2"), c["differences"][0].update(of="n*m - n - m + 1/2"))),
    ("2^n >= 5", ("2^n", "2^n - 1", ""), lambda c: cover(c)["uses"][0].update(factor="1/5")),
    ("2^n >= 4 at n = 1", FAR_OUT, lambda c: c.update(facts=["n >= 1"])),
    ("n <= 2^n/2 at n = 3/2", ("2^n", "2^n - n", ""), lambda c: (
        cover(c).update(factor="1/2"), cover(c)["uses"][0].update(factor="1/2"))),
    ("n^2 <= 2^n", ("2^n", "2*2^n - n^2", ""), lambda c: (
        cover(c).update(factor="1"), cover(c)["uses"][0].update(factor="1"))),
    ("m <= 2^n", ("2^n", "2^n - n", ""), lambda c: c.update(g="2^n - m")),
    ("m < 2^n", ("n", "2^n", ""), lambda c: c.update(f="m")),
    ("m below a power of 2^n", ("n^9", "2^n", ""), lambda c: (c.update(f="m^9"), every_atom(c, "n", "m"))),
    ("2^n <= n^k", ("n^9", "2^n", ""), lambda c: c.update(f="2^n", g="n^9")),
]  # fmt: skip


@pytest.mark.parametrize(("question", "edit"), [each[1:] for each in MUTATIONS], ids=[each[0] for each in MUTATIONS])
def test_mistakes_are_found(question: Question, edit: Edit) -> None:
    answer = order_texts(*question)
    assert isinstance(answer, Proved)
    certificate = copy.deepcopy(answer.certificate)
    assert check(certificate).accepted
    edit(certificate)
    assert certificate != answer.certificate
    assert not check(certificate).accepted


def certificate(f: str, g: str, *facts: str, uses: list[Any], small: Any, large: Any, **more: Any) -> dict[str, Any]:
    """A certificate of one bound, made by hand."""
    shown = {"left": [[small, "1"]], "right": [[large, "1"]], "uses": uses}
    bound = {"smallest_of": [small], "largest_of": [large], "proof": shown}
    return {"format": 1, "f": f, "g": g, "facts": list(facts), "differences": [], "bounds": [bound], **more}


def by(rule: str, small: Any, large: Any, times: str = "1", **more: Any) -> dict[str, Any]:
    inner = {"uses": more.pop("uses")} if "uses" in more else {}
    return {"small": small, "large": large, "times": times, "because": {"rule": rule, **more}, **inner}


N, M, NM = {"n": "1"}, {"m": "1"}, {"m": "1", "n": "1"}
BY_FACT = [by("fact", N, M, fact=0)]
FALSE_PROOFS = [
    ("a divisor that may be zero", certificate("n/(n - m)*(n - m)", "n", uses=[], small=N, large=N)),
    ("a root of what may be negative", certificate("sqrt(m - n)*0 + n", "n", uses=[], small=N, large=N)),
    ("a product of what may be negative", certificate("min(1 - n, 0)*min(1 - m, 0)", "n", uses=[], small=N, large=N)),
    ("g may be negative", certificate("n", "min(n, n - m)", uses=[], small=N, large=N)),
    ("a remainder may be zero", certificate("n", "n + n%m - n", uses=[], small=N, large=N)),
    ("a fact with a term that may be negative", certificate(
        "n", "m", "n + min(0, m - n) <= m", uses=BY_FACT, small=N, large=M)),
    ("divides what may be zero", certificate("n", "m", "n divides m - k", uses=BY_FACT, small=N, large=M)),
    ("not equal", certificate("n", "m", "n != m", uses=BY_FACT, small=N, large=M)),
    ("a power of what is below 1", certificate(
        "m", "n", "n/m is power of 1/2", uses=[by("fact", {}, {"n": "1", "m": "-1"}, fact=0)], small=M, large=N)),
    ("no cache", certificate("L", "n", uses=[by("cache", {"L": "1"}, {"Z": "1"})], small={"L": "1"}, large=N)),
    ("a logarithm of what may be near 0", certificate(
        "log2(n/m)", "n/m", small={"log2(n/m)": "1"}, large={"n": "1", "m": "-1"},
        uses=[by("log below power", {"log2(n/m)": "1"}, {"n": "1", "m": "-1"}, power="1", uses=[])])),
    ("what is to be shown is used the wrong way", certificate(
        "log2(n)", "log2(m)", "n >= m", small={"log2(n)": "1"}, large={"log2(m)": "1"},
        uses=[by("order of logs", {"log2(n)": "1"}, {"log2(m)": "1"}, power="1",
                 uses=[by("fact", M, N, fact=0)])])),
    ("a difference shown by the fact that it makes", certificate(
        "n", "n - m", "n - m >= floor(n - m)", uses=[], small=N, large=N,
        differences=[{"of": "n - m", "keeps": [N], "covers": []}])),
    ("a factor that may be zero is cancelled", certificate(
        "n", "n*m - n", "n%m <= m*(n%m)", uses=[], small=N, large=NM,
        differences=[{"of": "n*m - n", "keeps": [NM], "covers": [
            {"term": N, "amount": "1", "into": NM, "factor": "1/2", "uses": [
                {"small": {"n%m": "1"}, "large": {"m": "1", "n%m": "1"}, "factor": "1/2", "times": "1",
                 "because": {"rule": "fact", "fact": 0}}]}]}])),
]  # fmt: skip


@pytest.mark.parametrize("false", [each[1] for each in FALSE_PROOFS], ids=[each[0] for each in FALSE_PROOFS])
def test_false_proofs(false: dict[str, Any]) -> None:
    assert not check(false).accepted


@pytest.mark.parametrize("data", [{}, {"format": 1}, [], None, {"format": 1, "f": "n", "g": "n", "facts": "n"}, {
    "format": 1, "f": "n +", "g": "n", "facts": [], "differences": [], "bounds": []}])  # fmt: skip
def test_what_is_no_certificate(data: Any) -> None:
    assert not check(data).accepted


@pytest.mark.parametrize("text", ["10^10^10", "n^(10^10)", "(n + m + p + q + r + s)^12 - n", "+".join(["n"] * 2000)])
def test_large_expressions_are_rejected_not_waited_for(text: str) -> None:
    assert not check(certificate(text, "n", uses=[], small=N, large={"n": "2"})).accepted


def test_a_rejection_says_where() -> None:
    answer = order_texts(*LOGS)
    assert isinstance(answer, Proved)
    broken: Any = copy.deepcopy(answer.certificate)
    broken["bounds"][0]["proof"]["cases"][1]["proof"]["uses"][0]["times"] = "-1"
    found = check(broken)
    assert (found.reason, found.place) == ("a multiplier is negative", "bounds[0].proof.cases[1].proof.uses[0]")


# Counterexamples
def counterexample(question: Question) -> dict[str, Any]:
    answer = order_texts(*question)
    assert isinstance(answer, Refuted)
    return copy.deepcopy(answer.counterexample)


POINT = ("n^2", "n^2 - n", "")
CURVE = ("c^4", "P", "c^3 <= P")
WRONG: list[tuple[str, Question, Edit]] = [
    ("a size below 1", POINT, lambda d: d.update(at={"n": "0"}, f="0", g="0")),
    ("g positive", POINT, lambda d: d.update(at={"n": "2"}, f="4", g="2")),
    ("another value", POINT, lambda d: d.update(f="2")),
    ("a missing size", POINT, lambda d: d.update(at={})),
    ("a value of a sample", CURVE, lambda d: d["samples"][0].update(f="65537.1e1")),
    ("a ratio of a sample", CURVE, lambda d: d["samples"][1].update(ratio="65000")),
    ("samples where sizes are equal", ("n", "1", "n != m"), lambda d: [
        each["at"].update(m=each["at"]["n"]) for each in d["samples"]]),
    ("a sample that breaks a fact", CURVE, lambda d: d["samples"][0]["at"].update(P="4095")),
    ("samples in another order", CURVE, lambda d: d["samples"].reverse()),
    ("a curve along which it does not grow", CURVE, lambda d: d.update(curve={"P": "2^T", "c": "2^(1/4*T)"})),
    ("a curve that breaks a fact", CURVE, lambda d: d.update(curve={"P": "2^T", "c": "2^(1/2*T)"})),
    ("another growth", CURVE, lambda d: d.update(ratio="2^(1/2*T)")),
    ("no growth", CURVE, lambda d: d.update(ratio="1")),
    ("a missing size on the curve", CURVE, lambda d: d.update(curve={"P": "2^T"})),
]  # fmt: skip


@pytest.mark.parametrize(("question", "edit"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
def test_wrong_counterexamples(question: Question, edit: Edit) -> None:
    f, g, where = question
    data = counterexample(question)
    facts = [where] if where else []
    assert check_counterexample(f, g, facts, data).accepted
    edit(data)
    assert not check_counterexample(f, g, facts, data).accepted


def test_a_fact_may_join_others_by_and() -> None:
    facts = Facts(["n >= 1 and m >= 2", "k >= 3"])
    assert [len(facts.list_comparisons(place)) for place in (0, 1)] == [2, 1]
    with pytest.raises(RejectedError, match="must be one fact"):
        Facts(["n >= 1, m >= 2"]).list_comparisons(0)


def test_a_counterexample_to_what_holds() -> None:
    """Samples along which f/g rises for a while prove nothing."""
    data = {"kind": "curve", "curve": {"n": "2^T"}, "ratio": "T", "samples": [
        {"at": {"n": "16"}, "f": "16", "g": "33", "ratio": "0.484848"},
        {"at": {"n": "256"}, "f": "256", "g": "513", "ratio": "0.499025"}]}  # fmt: skip
    assert "grow" in check_counterexample("n", "2*n + 1", [], data).reason


# The command
def test_the_command_verifies() -> None:
    ran = cli("order", "n", "n^2", "--verify")
    assert (ran.code, ran.out) == (0, "holds: n is O(n^2)\n\ncertificate verified\n")
    failed = cli("order", "n^2", "n", "--verify")
    assert failed.code == 1
    assert failed.out.endswith("\ncounterexample verified\n")
    document = json.loads(cli("order", "n", "n^2", "--relation", "compare", "--verify", "--format", "json").out)
    assert document["verified"] is True
    assert "verified" not in json.loads(cli("order", "n", "n^2", "--format", "json").out)
    assert json.loads(cli("order", "(n + 1)^m", "n", "--verify", "--format", "json").out)["verified"] is False


def test_the_command_fails_if_a_certificate_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archline.api.growth.check", lambda certificate: check({**certificate, "bounds": []}))
    ran = cli("order", "n", "n^2", "--verify")
    assert ran.code == 1
    assert ran.out.endswith("\ncertificate rejected: no bound proves n = O(n^2)\n")
    document = json.loads(cli("order", "n", "n^2", "--verify", "--format", "json").out)
    assert (document["verified"], document["holds"]) == (False, True)
    assert document["rejected"] == "rejected: no bound proves n = O(n^2)"


def test_a_certificate_of_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = order_texts("n", "n^2")
    monkeypatch.setattr("archline.api.growth.is_O", lambda f, g, domain, eventually: answer)
    ran = cli("order", "n", "n^3", "--verify")
    assert ran.code == 1
    assert "the certificate answers a different question" in ran.out


# Constants
@pytest.mark.parametrize(("one", "other"), [
    ("sqrt(12)", "2*sqrt(3)"), ("log2(12)", "2 + log2(3)"), ("log2(4)/log2(3)", "2/log2(3)"), ("(8/27)^(2/3)", "4/9"),
    ("(log2(5) + 1)/(log2(3) + 1)*(1 + log2(3))", "1 + log2(5)"), ("4^log2(3)", "9"), ("1^log2(3)", "1"),
    ("1/sqrt(2)", "sqrt(2)/2"), ("floor(log2(7))", "ceil(7/4)"), ("7%4", "max(1, 3)"), ("0.125", "2^-3"),
])  # fmt: skip
def test_equal_constants(one: str, other: str) -> None:
    assert (read_constant(one) - read_constant(other)).is_zero


def test_constants_in_order() -> None:
    texts = [
        "-sqrt(2)",
        "0",
        "0.6942419136306",
        "log2((1 + sqrt(5))/2)",
        "0.6942419136307",
        "log2(3)",
        "2.8",
        "log2(7)",
    ]
    numbers = [read_constant(text) for text in texts]
    assert all(a < b and not b <= a for a, b in pairwise(numbers))
    with pytest.raises(RejectedError):
        read_constant("1/(sqrt(2) - sqrt(2))")
    with pytest.raises(RejectedError):
        read_constant("log2(0)")


# Certificates of growth that `archline check` gives: each is verified by the checker, which knows nothing of the prover


TARGETS = [
    "dense.matmul",
    "dense.lu_recursive",
    "sparse.csr",
    "sparse.csc",
    "sort.mergesort",
    "fft.fft",
    "stencil.trapezoid",
    "string.lcs",
    "dense.transpose_recursive",
]


@pytest.mark.parametrize("target", some(TARGETS[2:] + TARGETS[:2], len(TARGETS)))
def test_growth_that_holds_has_certificates(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", target, "--certificates", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["targets"]
    proved = 0
    for algorithm in found["algorithms"]:
        for contract in algorithm["ensures"]:
            growth = any(f" is {name}(" in contract["text"] for name in ("O", "Omega", "Theta"))
            assert bool(contract["certificates"]) == (growth and contract["outcome"] == "holds"), contract["text"]
            for certificate in contract["certificates"]:
                assert check(certificate).accepted, contract["text"]
                proved += 1
    assert proved


def test_proofs_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "sparse.csr::spmv_csr", "--certificates"]) == 0
    shown = capsys.readouterr().out
    assert "is O(n/L + nz + 1) where" in " ".join(shown.split())
    assert main(["check", "sparse.csr::spmv_csr"]) == 0
    assert "where nz" not in capsys.readouterr().out
