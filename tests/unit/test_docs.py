"""Programs, Python and links of the documentation, and the commands of the README. `test_examples` runs the consoles.

Programs are compared with the costs that are stated under them (see `doc_blocks`).
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from archline.api.algorithms import Algorithm
from archline.api.modules import load
from archline.api.running import run
from archline.api.texts import load_all_rules
from archline.cli.main import COMMANDS
from archline.energy.caches import Processors, Settings
from archline.execution.cache import StaticSchedule
from archline.execution.results import Cache
from archline.language.loader import load_text
from archline.language.metrics import METRICS
from cli_support import cli
from doc_blocks import Block, blocks, disagreements, last, refusal
from effort import long, some
from test_examples import COMMAND, PAGES, ROOT, named

README = ROOT / "README.md"
DOCS = ROOT / "docs"
ALL = [*PAGES, ROOT / "CHANGELOG.md"]
PROGRAMS = [pytest.param(block, id=f"{named(path)}-{block.line}") for path in PAGES for block in blocks(path)]
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"""(?:!\[[^\]]*\]\(|src(?:set)?=")([^)"]+)""")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
MENTION = re.compile(r"\bdocs/[\w/-]+\.md\b")
GLOSSARY = DOCS / "explanation/glossary.md"
DEFINITION = re.compile(r"^ *(?:class |def )(\w+)|^([A-Z][A-Z_]+)\b.*=", re.MULTILINE)
SCRIPT = re.compile(r"\b(?:benchmarks|examples)/\w+\.py\b")


def load_script(path: Path) -> ModuleType:
    """Return a script of the checkout as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make_pictures = load_script(DOCS / "make_pictures.py")


def fenced(path: Path, language: str) -> list[str]:
    """The blocks of a language on a page."""
    return [text for name, text in FENCED.findall(path.read_text(encoding="utf-8")) if name == language]


def commands() -> list[list[str]]:
    """The commands of README's blocks, without what shells and readers alone see."""
    lines = [line for text in fenced(README, "sh") for line in text.splitlines()]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def consoles(path: Path) -> list[str]:
    """The commands of a page's consoles."""
    return [each for text in fenced(path, "console") for each in COMMAND.findall(text) if each.startswith("archline ")]


def test_names_of_the_glossary_are_those_of_the_code() -> None:
    package = ROOT / "analyzer/archline"
    defined = set(METRICS)
    for path in package.rglob("*.py"):
        place = path.relative_to(package).with_suffix("")
        defined |= {str(place.parent), str(place)}
        text = path.read_text(encoding="utf-8")
        defined |= {name for pair in DEFINITION.findall(text) for name in pair}
    rows = [line.split(" | ") for line in GLOSSARY.read_text(encoding="utf-8").splitlines() if line.count(" | ") == 3]
    terms = [row for row in rows if row[0] not in ("| Term",)]
    assert len(terms) > 50
    missing = {name for row in terms for name in re.findall(r"`([^`]+)`", row[2]) if name not in defined}
    assert missing == set()
    assert [row[0] for row in terms if "`" not in row[2]] == []


@pytest.mark.parametrize("block", some([*PROGRAMS], 3))
def test_programs_cost_what_is_said(block: Block) -> None:
    if block.refused is not None:
        assert refusal(block.text) == block.refused
    elif block.expectations:
        assert list(disagreements(block)) == []
    else:
        load_text(block.text)


def test_every_page_of_programs_has_some() -> None:
    expected = {"cost-rules": 25, "language": 12}
    for name, least in expected.items():
        found = list(blocks(DOCS / "reference" / f"{name}.md"))
        assert len(found) >= least
        assert len(found) == (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8").count("\n```archline")


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in HEADING.findall(text)}


@pytest.mark.parametrize("path", ALL, ids=named)
def test_links_lead_to_pages_and_headings(path: Path) -> None:
    for target, anchor in LINK.findall(FENCED.sub("", path.read_text(encoding="utf-8"))):
        page = (path.parent / target).resolve() if target else path
        assert page.exists(), target
        assert not anchor or anchor in anchors(page), f"{target}#{anchor}"


def test_pages_show_pictures_that_exist_and_are_small() -> None:
    shown = {
        (path.parent / name).resolve()
        for path in PAGES
        for name in PICTURE.findall(FENCED.sub("", path.read_text(encoding="utf-8")))
    }
    made = {ROOT / "docs/pictures" / name for name in (*make_pictures.SCREENSHOTS, *make_pictures.DRAWINGS)}
    assert {path for path in shown if not path.exists()} == set()
    assert shown == made == set((ROOT / "docs/pictures").iterdir())
    assert max(path.stat().st_size for path in made) < 200_000


def test_commands_that_make_pictures_are_understood() -> None:
    screenshots = [shown.command for shown in make_pictures.SCREENSHOTS.values()]
    for command in (*screenshots, *make_pictures.DRAWINGS.values()):
        name, *arguments = make_pictures.list_words(command)
        parser = argparse.ArgumentParser()
        import_module(f"archline.cli.{name}").configure(parser)
        options = parser.parse_args(arguments)
        for target in options.targets:
            assert target.startswith("examples/") or Algorithm.every(target)


def rows(page: str, heading: str) -> list[list[str]]:
    """The rows of the tables below a heading, without their heads: the words in backquotes of each cell."""
    text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8").partition(f"\n{heading}\n")[2]
    lines = [line for line in text.partition("\n#")[0].splitlines() if line.startswith("| `")]
    return [line.strip("| ").split(" | ") for line in lines]


def test_the_table_of_metrics_is_complete() -> None:
    listed = [name for row in rows("cost-rules", "## All metrics") for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(listed) == sorted(METRICS)


COLLECTIVES = """
algorithm f(x: inout local real[w], y: inout local real[P*w], c: local int[P], got: out local int[P]) on grid(i: P):
    shift x along i by 1
    broadcast x from 0
    reduce x onto 0 with +
    allreduce x with +
    scan x with +
    gather x onto 0 into y
    scatter y from 0 into x
    allgather x into y
    reduce_scatter y into x with +
    alltoall y into y
    barrier
    gather x onto 0 into y counts c
    scatter y from 0 into x counts c
    allgather x into y counts c
    reduce_scatter y into x with + counts c
    alltoall y into y counts c
    alltoall y into y, got counts c
"""


def test_the_tables_of_collectives_have_the_defaults_first() -> None:
    called = [each.invoke.call.function for each in load_text(COLLECTIVES).collectives.values()]
    table = rows("language", "### Collectives")
    assert len(called) == len(table)
    for row, name in zip(table, called, strict=True):
        first = row[-1].strip("`").split("`")[0]
        assert (name.startswith(row[0].split()[0].strip("`")), name.endswith(f"_{first}")) == (True, True)


def _stem(written: str) -> str:
    """What the names of the algorithms of a form begin with."""
    alone = written.startswith("`alltoall") and ", got" not in written
    return written.split()[0].strip("`") + ("v" + "_into" * alone) * ("counts cnt" in written)


@long
def test_the_tables_of_collectives_list_every_method() -> None:
    table = rows("language", "### Collectives")
    stems = {_stem(row[0]): row for row in table}
    assert len(stems) == len(table)
    for name in load("distributed.collectives"):
        stem = max((each for each in stems if name.startswith(f"{each}_")), key=len, default="")
        # Its segments are a parameter, which no clause gives.
        if stem and name != "broadcast_pipeline":
            assert f"`{name.removeprefix(f'{stem}_')}`" in stems[stem][-1], name
    for stem, row in stems.items():
        for method in re.findall(r"`(\w+)`", row[-1]):
            assert f"{stem}_{method}" in load("distributed.collectives")


def test_anchors_are_those_of_headings() -> None:
    assert "time-on-p-processors" in anchors(DOCS / "reference" / "cost-rules.md")
    assert "time-on-q-processors" not in anchors(DOCS / "reference" / "cost-rules.md")


def test_pages_that_sources_and_the_change_log_name_exist() -> None:
    folders = ("analyzer", "benchmarks", "grammar", "tests", "examples", "stdlib", "machines")
    sources = [ROOT / "CHANGELOG.md"]
    for folder in folders:
        sources += [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".lark", ".algo", ".toml")]
    named_pages = {name for path in sources for name in MENTION.findall(path.read_text(encoding="utf-8"))}
    assert "docs/reference/cost-rules.md" in named_pages
    assert [name for name in sorted(named_pages) if not (ROOT / name).exists()] == []


def test_the_page_of_rules_has_what_explain_prints(request: pytest.FixtureRequest) -> None:
    page = DOCS / "reference" / "rules.md"
    lines = [
        "# Rules",
        "",
        "What `archline explain CODE` prints about each code of the [diagnostics](diagnostics.md).",
        "",
    ]
    for rule in load_all_rules().values():
        assert rule.url == f"docs/reference/rules.md#{rule.code.lower()}"
        lines += [f"## {rule.code}", "", f"**{rule.title}**", *rule.documentation.splitlines()[1:], ""]
    text = "\n".join(lines)
    if request.config.getoption("--refresh-golden"):
        page.write_text(text, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == text


def test_the_index_has_a_line_for_every_page() -> None:
    index = DOCS / "README.md"
    linked = {(DOCS / target).resolve() for target, _ in LINK.findall(index.read_text(encoding="utf-8")) if target}
    assert {path for path in PAGES if DOCS in path.parents} - {index} <= linked


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_local_arrays_on_private_stacks_break_lemma_2_1(rounds: int) -> None:
    """The counterexample of docs/explanation/caches.md, with the counts that its text names."""
    (block,) = blocks(DOCS / "explanation" / "caches.md")
    one_line = Cache(Z=1, L=1)
    settings = Settings(compiled=False)
    serial = run(last(block.text), {"rounds": rounds}, one_line, settings)
    assert serial.counts.io == 1
    settings = Settings(processors=Processors(2, StaticSchedule(), "static"), compiled=False)
    private = run(last(block.text), {"rounds": rounds}, one_line, settings).private
    assert [each.io for each in private.caches] == [1, 2 * rounds]


def test_the_readme_installs_and_tests() -> None:
    words = " ".join(word for line in commands() for word in line)
    assert SCRIPT.findall(words) == ["examples/tour.py"]
    assert ".venv/bin/pytest" in words


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 160


def test_the_reference_shows_every_command() -> None:
    shown = {each.split()[1] for path in PAGES if "reference" in path.parts for each in consoles(path)}
    assert set(COMMANDS) <= shown


@pytest.mark.parametrize("path", ALL, ids=named)
def test_scripts_that_are_named_exist(path: Path) -> None:
    for name in SCRIPT.findall(path.read_text(encoding="utf-8")):
        assert (ROOT / name).exists(), name


def test_the_program_of_the_readme_keeps_its_promises(tmp_path: Path) -> None:
    (block,) = blocks(README)
    (tmp_path / "readme.algo").write_text(block.text, encoding="utf-8")
    ran = cli("check", str(tmp_path / "readme.algo"))
    assert ran.code == 0
    assert "2 claims hold" in ran.out


@pytest.mark.parametrize("path", some([path for path in PAGES if fenced(path, "python")], 12), ids=named)
def test_python_does_what_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements run; an expression whose comment begins with a literal has that value."""
    monkeypatch.chdir(ROOT)
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
