"""The pages of the documentation do what they say: commands, programs, Python and links are followed.

Commands in ```` ```console ```` blocks print what is shown (see `test_examples`);
`PYTHONPATH=tests/support python tests/unit/test_docs.py` writes what they print now into the pages, for a reader to
judge. Programs are held against what stands under them (see `doc_blocks`).
"""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

from archline.analysis.cache.lru.client import installed
from archline.api.running import Processors, run
from archline.execution.cache import Static
from archline.execution.results import Cache
from cli_support import cli
from doc_blocks import Block, blocks, disagreements, last, refusal
from test_examples import CONSOLE, ROOT, rerun

README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
ALL = [README, ROOT / "CONTRIBUTING.md", *PAGES]
PROGRAMS = [pytest.param(block, id=f"{path.stem}-{block.line}") for path in (README, *PAGES) for block in blocks(path)]
FENCED = re.compile(r"^```(\w*).*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
SCRIPT = re.compile(r"\b(?:benchmarks|examples)/\w+\.py\b")


def fenced(path: Path, language: str) -> list[str]:
    """The blocks of a language on a page."""
    return [text for name, text in FENCED.findall(path.read_text(encoding="utf-8")) if name == language]


def commands() -> list[list[str]]:
    """The commands of README's blocks, without what shells and readers alone see."""
    lines = [line for text in fenced(README, "sh") for line in text.splitlines()]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_commands_print_what_is_shown(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if "--lru" in "".join(fenced(path, "console")) and not installed():
        pytest.skip("the extra `isl` (islpy-barvinok) is not installed")
    assert rerun(text) == text


@pytest.mark.parametrize("block", PROGRAMS)
def test_programs_cost_what_is_said(block: Block) -> None:
    if block.refused is not None:
        assert refusal(block.text) == block.refused
    elif block.expectations:
        assert list(disagreements(block)) == []
    else:
        last(block.text)


def test_every_page_of_programs_has_some() -> None:
    expected = {"cost-rules": 25, "language": 12}
    for name, least in expected.items():
        found = list(blocks(ROOT / "docs" / f"{name}.md"))
        assert len(found) >= least
        assert len(found) == (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").count("\n```archline")


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_readme_lists_every_page() -> None:
    linked = {(ROOT / target).resolve() for target in LINK.findall(README.read_text(encoding="utf-8"))}
    assert set(PAGES) <= linked


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_local_arrays_on_private_stacks_break_lemma_2_1(rounds: int) -> None:
    """The counterexample of docs/caches.md, with the counts that its text names."""
    (block,) = blocks(ROOT / "docs" / "caches.md")
    one_line = Cache(Z=1, L=1)
    serial = run(last(block.text), {"rounds": rounds}, cache=one_line, compiled=False)
    assert serial.counts.io == 1
    private = run(
        last(block.text),
        {"rounds": rounds},
        cache=one_line,
        processors=Processors(2, Static(), "static"),
        compiled=False,
    ).private
    assert private is not None
    assert [each.io for each in private.caches] == [1, 2 * rounds]


USED = [words[1:] for words in commands() if words[0] == ".venv/bin/archline"]


@pytest.mark.parametrize("arguments", USED, ids=" ".join)
def test_commands_of_the_readme_run(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    ran = cli(*arguments)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out or arguments[0] == "fmt"


def test_the_readme_uses_every_kind_of_command() -> None:
    assert {"cost", "run", "check", "energy", "fmt", "explain"} <= {arguments[0] for arguments in USED}
    others = [words for words in commands() if words[0] != ".venv/bin/archline"]
    assert {each for words in others for each in SCRIPT.findall(" ".join(words))} >= {"examples/tour.py"}


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_scripts_that_are_named_exist(path: Path) -> None:
    for name in SCRIPT.findall(path.read_text(encoding="utf-8")):
        assert (ROOT / name).exists(), name


def test_the_program_of_the_readme_keeps_its_promises(tmp_path: Path) -> None:
    (block,) = blocks(README)
    (tmp_path / "readme.algo").write_text(block.text, encoding="utf-8")
    ran = cli("check", str(tmp_path / "readme.algo"))
    assert ran.code == 0
    assert "2 hold" in ran.out


@pytest.mark.parametrize("path", [README, ROOT / "docs" / "python.md"], ids=lambda path: path.stem)
def test_python_does_what_is_said(path: Path) -> None:
    """Statements run; an expression whose comment begins with a literal has that value."""
    names: dict[str, object] = {}
    compared = 0
    for code in fenced(path, "python"):
        for node in ast.parse(code).body:
            text = ast.get_source_segment(code, node) or ""
            if not isinstance(node, ast.Expr):
                exec(text, names)
                continue
            value = eval(text, names)
            said = code.splitlines()[node.lineno - 1].rpartition("  # ")[2].strip()
            assert said
            if re.match(r"[\d\[(\"]|True|False|None", said):
                assert value == ast.literal_eval(said.partition(", exact")[0]), text
                compared += 1
    assert compared


if __name__ == "__main__":
    for each in PAGES:
        page = each.read_text(encoding="utf-8")
        if CONSOLE.search(page):
            each.write_text(rerun(page), encoding="utf-8")
