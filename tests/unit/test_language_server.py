"""`archline lsp`, spoken to as an editor does: over the pipes of a process, in JSON-RPC."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import archline as al
from archline.language.diagnostics import ArchlineError
from archline.resources import find_resource
from cli_support import cli
from effort import all_of, drawn
from language_client import LanguageClient, apply_changes

pytest.importorskip("pygls", reason="the language server needs the extra lsp")

EDITS = all_of(drawn(1_000, least=1_000), quick=200)
"""The number of random edits: 10,000 in a deep run."""
PROGRAM = """use dense.gemv

algorithm scale(x: inout real[n], a: real):
    "Scales a vector."
    ensures flops == n
    ensures work <= n
    for i in 0..n:
        x[i] *= a

algorithm twice(x: inout real[n]):
    t = 2.0
    # each element
    for i in 0..n:
        x[i] = x[i]*t
    scale(x, t)
"""
# n iterations of one multiplication cost 2*n and the call 1 more; `twice` has the same loop, and calls `scale`.
LENSES = [
    "flops n is Theta(n)",
    "work 2*n + 1 is Theta(n)",
    "span 2*n + 1 is Theta(n)",
    "claims: 1 holds, 1 fails",
    "flops 2*n is Theta(n)",
    "work 4*n + 2 is Theta(n)",
    "span 4*n + 2 is Theta(n)",
]
WRONG = "algorithm f(a: inout int[n]):\n    for i in 0..n:\n        if a[i] = 0 then\n            a[i] = a[i] / 2\n"
ALL = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}


@pytest.fixture(scope="module")
def client() -> Iterator[LanguageClient]:
    """One server for all tests, which must end without a word."""
    with LanguageClient() as started:
        yield started
    assert started.process.returncode == 0
    assert "Traceback" not in started.errors.decode()
    assert started.notifications["window/logMessage"] == []


@pytest.fixture
def uri(client: LanguageClient, tmp_path: Path) -> str:
    """The program, open as a file that is not on the disk."""
    place = (tmp_path / "main.algo").as_uri()
    assert client.open(place, PROGRAM) == []
    return place


def hover(client: LanguageClient, uri: str, line: int, character: int) -> str:
    answer = client.at("hover", uri, line, character)
    return "" if answer is None else str(answer["contents"]["value"])


def lens_texts(client: LanguageClient, uri: str) -> list[str]:
    lenses = client.about("codeLens", uri)
    return [client.request("codeLens/resolve", **lens)["command"]["title"] for lens in lenses]


def actions(client: LanguageClient, uri: str, line: int) -> dict[str, Any]:
    """The code actions of a line by their kinds."""
    place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
    answer = client.about("codeAction", uri, range=place, context={"diagnostics": []})
    return {action["kind"]: action for action in answer}


def edited(text: str, action: Any) -> str:
    (changes,) = action["edit"]["changes"].values()
    return apply_changes(text, changes)


def test_lenses_have_the_costs_and_verdicts_of_each_algorithm(client: LanguageClient, uri: str) -> None:
    assert lens_texts(client, uri) == LENSES


def test_claims_that_fail_and_outputs_that_no_run_sets_are_found(client: LanguageClient, tmp_path: Path) -> None:
    place = (tmp_path / "claims.algo").as_uri()
    assert client.open(place, PROGRAM.replace("*t\n", "*t # a longer line\n")) == []
    (found,) = client.claims_of(place)
    assert (found["code"], found["severity"]) == ("AL601", 1)
    assert found["range"] == {"start": {"line": 5, "character": 4}, "end": {"line": 5, "character": 21}}
    assert found["message"].startswith("scale: fails: work <= n\n")
    # The claim moves with its algorithm, and is checked again where it changes.
    assert client.change(place, "\n" + PROGRAM) == []
    assert [each["range"]["start"]["line"] for each in client.claims_of(place)] == [6]
    client.change(place, PROGRAM.replace("work <= n", "work == 2*n + 1") + "\nalgorithm g(y: out real[n]):\n    pass\n")
    (found,) = client.claims_of(place)
    assert (found["code"], found["range"]["start"]["line"]) == ("AL606", 16)
    assert "claims: 2 hold" in lens_texts(client, place)
    # A comment in the program ignores it, as in a check.
    ignored = PROGRAM.replace("work <= n\n", "work <= n # archline: ignore AL601\n")
    client.change(place, ignored + "\nalgorithm h(y: out real[n]):\n    pass\n")
    assert [each["code"] for each in client.claims_of(place)] == ["AL606"]


def test_a_run_that_certainly_fails_is_found(client: LanguageClient, tmp_path: Path) -> None:
    place = (tmp_path / "sum.algo").as_uri()
    client.open(place, "algorithm f(x: real[n], s: out real):\n    for i in 0..n:\n        s += x[i]\n")
    (found,) = client.claims_of(place)
    assert (found["code"], found["range"]["start"]) == ("AL503", {"line": 2, "character": 8})
    assert "`s` is read before it is set" in found["message"]
    assert actions(client, place, 1) == {}
    client.change(place, "algorithm f(x: real[n], s: out real):\n    s = 0.0\n    for i in 0..n:\n        s += x[i]\n")
    (action,) = actions(client, place, 1).values()
    text = action["edit"]["changes"][place][0]
    assert text["range"]["start"]["line"] == 1
    assert "ensures flops == n" in text["newText"]


def test_a_cost_too_long_for_a_line_is_shown_by_its_growth(client: LanguageClient, tmp_path: Path) -> None:
    place = (tmp_path / "strassen.algo").as_uri()
    client.open(place, al.algorithm("dense.strassen::strassen").module.program.source.text)
    titles = lens_texts(client, place)
    assert "flops is Theta(n^log2(7))" in titles
    assert max(map(len, titles)) < 120


def test_hovers_have_types_costs_and_what_a_line_costs(client: LanguageClient, uri: str) -> None:
    assert "x: inout real[n]" in hover(client, uri, 7, 8)
    assert "t: real" in hover(client, uri, 13, 20)
    assert "in one call: executions `n`, flops `n`, work `n`" in hover(client, uri, 13, 20)
    costs = hover(client, uri, 2, 12)
    assert "Scales a vector." in costs
    assert "| work | `2*n + 1` | Theta(n) |" in costs
    assert "in one call: executions `1`, flops `n`, work `2*n + 1`" in hover(client, uri, 14, 5)
    assert hover(client, uri, 8, 0) == ""


def test_hints_have_the_work_of_lines(client: LanguageClient, uri: str) -> None:
    hints = client.about("inlayHint", uri, range=ALL)
    shown = {hint["position"]["line"]: hint["label"] for hint in hints}
    assert shown == {6: "work n", 7: "work n", 12: "work n", 13: "work n", 14: "work 2*n + 1"}
    last = PROGRAM.splitlines()[14]
    assert hints[-1]["position"]["character"] == len(last)


def test_hints_can_be_switched_off(tmp_path: Path) -> None:
    with LanguageClient(inlayHints=False) as client:
        client.open((tmp_path / "main.algo").as_uri(), PROGRAM)
        assert client.about("inlayHint", (tmp_path / "main.algo").as_uri(), range=ALL) == []


def test_completions_fit_their_place(client: LanguageClient, uri: str) -> None:
    labels = {item["label"] for item in client.at("completion", uri, 0, 6)}
    assert {"dense.gemv", "sort.mergesort"} <= labels
    items = {item["label"]: item for item in client.at("completion", uri, 10, 5)}
    assert {"for", "while", "x", "n", "t", "i", "scale", "gemv", "sqrt"} <= items.keys()
    assert items["for"]["insertText"].startswith("for ${1:i} in ")
    assert items["matmul_basic"]["additionalTextEdits"][0]["newText"] == "use dense.matmul\n"
    assert {item["label"] for item in client.at("completion", uri, 9, 3)} >= {"algorithm", "claim", "use"}
    assert {item["label"] for item in client.at("completion", uri, 4, 14)} >= {"flops", "work", "io"}
    assert {item["label"] for item in client.at("completion", uri, 2, 18)} >= {"real", "inout", "size"}


def test_completion_knows_names_while_the_text_has_errors(client: LanguageClient, uri: str) -> None:
    assert client.change(uri, PROGRAM.replace("t = 2.0", "t = 2.0 +")) != []
    assert {"x", "t", "twice"} <= {item["label"] for item in client.at("completion", uri, 14, 5)}


def test_definitions_are_in_the_file_or_the_library(client: LanguageClient, uri: str) -> None:
    place = client.at("definition", uri, 14, 6)
    assert (place["uri"], place["range"]["start"]) == (uri, {"line": 2, "character": 10})
    assert client.at("definition", uri, 13, 20)["range"]["start"] == {"line": 10, "character": 4}
    client.change(uri, PROGRAM + "    gemv(1.0, 1.0, A, x, x)\n")
    library = client.at("definition", uri, 15, 5)
    assert library["uri"] == (find_resource("stdlib") / "dense" / "gemv.algo").as_uri()


def test_symbols_are_algorithms_with_their_names(client: LanguageClient, uri: str) -> None:
    symbols = client.about("documentSymbol", uri)
    assert [(symbol["name"], symbol["range"]["end"]["line"]) for symbol in symbols] == [("scale", 7), ("twice", 14)]
    assert [child["name"] for child in symbols[1]["children"]] == ["x", "n", "t", "i"]


def test_formatting_writes_what_fmt_writes(client: LanguageClient, uri: str, tmp_path: Path) -> None:
    changes = client.about("formatting", uri, options={"tabSize": 4, "insertSpaces": True})
    (tmp_path / "main.algo").write_text(PROGRAM, encoding="utf-8")
    assert cli("fmt", str(tmp_path / "main.algo")).code == 0
    assert "local t: real = 2.0" in apply_changes(PROGRAM, changes)
    assert apply_changes(PROGRAM, changes) == (tmp_path / "main.algo").read_text(encoding="utf-8")


def test_all_fixes_together_are_those_of_check(client: LanguageClient, uri: str, tmp_path: Path) -> None:
    (found, *_) = client.change(uri, WRONG)
    assert found["code"] == "AL101"
    assert found["codeDescription"]["href"].endswith("docs/reference/rules.md#al101")
    path = tmp_path / "main.algo"
    path.write_text(WRONG, encoding="utf-8")
    assert cli("check", "--fix", str(path)).code == 0
    fixes = actions(client, uri, 2)
    assert edited(WRONG, fixes["source.fixAll.archline"]) == path.read_text(encoding="utf-8")
    # One fix uncovers the next one.
    text = edited(WRONG, fixes["quickfix"])
    while client.change(uri, text):
        text = edited(text, actions(client, uri, 3)["quickfix"])
    assert text == path.read_text(encoding="utf-8")


def test_derived_costs_can_be_added_as_claims_that_hold(client: LanguageClient, uri: str) -> None:
    text = edited(PROGRAM, actions(client, uri, 10)["refactor.rewrite"])
    claims = "    ensures flops == 2*n\n    ensures work == 4*n + 2\n    ensures span == 4*n + 2\n"
    assert text == PROGRAM.replace("    t = 2.0\n", f"{claims}    t = 2.0\n")
    assert client.change(uri, text) == []
    assert "claims: 3 hold" in lens_texts(client, uri)


def test_an_open_file_is_used_as_it_is_typed(client: LanguageClient, uri: str, tmp_path: Path) -> None:
    user = (tmp_path / "user.algo").as_uri()
    text = "use main\n\nalgorithm f(y: inout real[m]):\n    scale(y, 2.0)\n"
    assert client.open(user, text) == []
    assert lens_texts(client, user)[0] == "flops m is Theta(m)"
    client.notifications.clear()
    client.change(uri, PROGRAM.replace("scale", "stretch"))
    assert [found["code"] for found in client.diagnostics_of(user)] == ["AL202"]
    client.change(uri, PROGRAM.replace("x[i] *= a", "x[i] = x[i]*a + 1.0"))
    client.notifications.clear()
    assert lens_texts(client, user)[0] == "flops 2*m is Theta(m)"


def test_columns_are_those_of_the_client(client: LanguageClient, tmp_path: Path) -> None:
    place = (tmp_path / "letters.algo").as_uri()
    # The letter has two units in UTF-16.
    text = 'claim "\U0001d400": work(g) == 1\n'
    (found, *_) = client.open(place, text)
    assert found["range"]["start"]["character"] == text.index("work") + 1


def test_a_question_that_is_cancelled_gives_way_to_the_next(client: LanguageClient, uri: str) -> None:
    slow = (find_resource("stdlib") / "dense" / "strassen.algo").read_text(encoding="utf-8")
    assert client.change(uri, slow) == []
    begun = client.begin("codeLens/resolve", **client.about("codeLens", uri)[3])
    client.notify("$/cancelRequest", id=begun)
    answer = client.answer_to(begun)
    assert "error" not in answer or answer["error"]["code"] == -32800
    assert client.change(uri, PROGRAM) == []
    assert lens_texts(client, uri) == LENSES


def test_a_closed_document_has_no_findings(client: LanguageClient, uri: str) -> None:
    assert client.change(uri, PROGRAM.replace("*t", "*u")) != []
    client.notify("textDocument/didClose", textDocument={"uri": uri})
    assert client.about("codeLens", uri) is None
    sent = [each for each in client.notifications["textDocument/publishDiagnostics"] if each["uri"] == uri]
    assert sent[-1]["diagnostics"] == []


def test_an_internal_error_is_logged_and_answers_nothing(tmp_path: Path) -> None:
    with LanguageClient() as client:
        place = (tmp_path / "main.algo").as_uri()
        client.open(place, PROGRAM)
        lens = client.about("codeLens", place)[0]
        assert client.request("codeLens/resolve", range=lens["range"], data=[place]) is None
        (logged,) = client.notifications["window/logMessage"]
        assert logged["message"].startswith("AL999: defect in codeLens/resolve: ValueError")
        assert "Traceback" not in str(client.notifications)
        assert client.request("codeLens/resolve", **lens)["command"]["title"] == LENSES[0]


def test_the_server_ends_with_its_editor() -> None:
    client = LanguageClient()
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(60) == 0
    client.process.kill()


def test_without_the_extra_there_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("archline.server.language_server", "pygls.lsp.server"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "archline.server.language_server")
    ran = cli("lsp")
    assert ran.refused("AL417")
    assert "hint: pip install 'archline[lsp]'" in ran.err


def fresh_findings(text: str, path: Path) -> list[tuple[str, str, tuple[int, int] | None]]:
    """The findings in a text by a load of its own."""
    try:
        al.loads(text, path=path)
    except ArchlineError as problem:
        return [
            (each.code, each.message, each.span and (each.span.line - 1, each.span.column - 1))
            for each in problem.diagnostics
        ]
    return []


def shown_findings(diagnostics: list[Any]) -> list[tuple[str, str, tuple[int, int]]]:
    return [
        (each["code"], each["message"].split("\nhint: ")[0], tuple(each["range"]["start"].values()))
        for each in diagnostics
    ]


def change_at_random(text: str, source: random.Random) -> str:
    """A text with a part removed, doubled, moved, or replaced by a token of it."""
    first = source.randrange(len(text))
    last = min(len(text), first + source.choice((1, 1, 1, 3, 10, 60)))
    tokens = re.findall(r"\w+|[^\w\s]|\n", text)
    new = source.choice(("", text[first:last] * 2, source.choice(tokens), f" {source.choice(tokens)} ", "\n    "))
    return text[:first] + new + text[last:]


def resident_memory(process: int) -> int:
    """The resident memory of a process in bytes; 0 where the system does not say."""
    status = Path(f"/proc/{process}/status")
    found = re.search(r"VmRSS:\s*(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else 0


def test_random_edits_have_the_findings_of_a_fresh_load(client: LanguageClient, tmp_path: Path) -> None:
    source = random.Random(11)
    files = [file for file in sorted(find_resource("stdlib").rglob("*.algo")) if file.stat().st_size < 2_000]
    path, before = tmp_path / "edited.algo", 0
    client.open(path.as_uri(), "")
    for number in range(EDITS):
        if number % 10 == 0:
            text = source.choice(files).read_text(encoding="utf-8")
        text = change_at_random(text, source) or "\n"
        shown = shown_findings(client.change(path.as_uri(), text))
        expected = fresh_findings(text, path)
        # A finding without a place is shown at the beginning of a line.
        assert [(code, message) for code, message, _ in shown] == [each[:2] for each in expected], text
        assert [place for *_, place in shown if place] == [place or (0, 0) for *_, place in expected], text
        if number % 7 == 0:
            place = {"line": source.randrange(text.count("\n") + 1), "character": source.randrange(40)}
            client.at("completion", path.as_uri(), **place)
            client.about("formatting", path.as_uri(), options={"tabSize": 4, "insertSpaces": True})
        if number == 20:
            before = resident_memory(client.process.pid)
        client.notifications.pop("textDocument/publishDiagnostics")
    assert resident_memory(client.process.pid) - before < 50 * 2**20
