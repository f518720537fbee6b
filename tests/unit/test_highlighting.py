"""Highlighting by Pygments and by editors, from one list of words, and the files of the extension for VS Code."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from archline.language.highlighting import GROWTHS, TYPES
from archline.language.words import RESERVED
from archline.resources import find_resource
from cli_support import ROOT
from effort import long

PROGRAMS = [*sorted(find_resource("stdlib").rglob("*.algo")), ROOT / "tests/data/language.algo"]
MODULES = ["vscode-textmate@9", "vscode-oniguruma@2"]
SCRIPT = """
const fs = require("fs"), textmate = require("vscode-textmate"), oniguruma = require("vscode-oniguruma");
const [grammar, ...programs] = process.argv.slice(2);
const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer;
const onigLib = oniguruma.loadWASM(wasm).then(() => ({
  createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
  createOnigString: (text) => new oniguruma.OnigString(text),
}));
const loadGrammar = async () => textmate.parseRawGrammar(fs.readFileSync(grammar, "utf8"), grammar);
new textmate.Registry({ onigLib, loadGrammar }).loadGrammar("source.archline").then((grammar) => {
  const lines = programs.flatMap((path) => fs.readFileSync(path, "utf8").split("\\n"));
  console.log(JSON.stringify(lines.map((line) => [
    line,
    grammar.tokenizeLine(line, textmate.INITIAL).tokens.map((token) => [
      line.slice(token.startIndex, token.endIndex), token.scopes.slice(1).join(" "),
    ]),
  ])));
});
"""


def test_words_have_their_classes() -> None:
    assert {"real", "int", "size", "index", "offsets", "inout", "colmajor"} <= set(TYPES)
    assert set(GROWTHS) == {"Theta", "O", "Omega"}
    assert {"algorithm", "ensures", "while", "spawn"} <= RESERVED - set(TYPES)


def test_the_files_of_the_extension_are_those_that_are_generated() -> None:
    files = runpy.run_path(str(ROOT / "editors" / "generate.py"))["list_files"]()
    assert len(files) == 3
    for path, text in files.items():
        assert path.read_text(encoding="utf-8") == text, f"run `python editors/generate.py`: {path.name} is old"


def test_pygments_knows_every_token_of_the_library() -> None:
    pytest.importorskip("pygments", reason="Pygments is not installed")
    from pygments.token import Error, Keyword, Name

    from archline.pygments_lexer import ArchlineLexer

    for path in PROGRAMS:
        text = path.read_text(encoding="utf-8")
        tokens = list(ArchlineLexer().get_tokens(text))
        assert [value for kind, value in tokens if kind is Error] == [], path
        assert "".join(value for _, value in tokens).strip() == text.strip()
    line = list(ArchlineLexer().get_tokens("extern f(size: real[n]) -> real costs 2 flops"))
    kinds = {value: kind for kind, value in line}
    assert (kinds["extern"], kinds["f"], kinds["size"]) == (Keyword, Name.Function, Name)
    assert (kinds["real"], kinds["costs"], kinds["flops"]) == (Keyword.Type, Keyword, Name)


@long
def test_textmate_tokenises_every_line_of_the_library(tmp_path: Path) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("node and npm are not installed")
    installed = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", *MODULES], cwd=tmp_path, capture_output=True, text=True
    )
    if installed.returncode:
        pytest.skip(f"npm cannot install vscode-textmate: {installed.stderr[-200:]}")
    (tmp_path / "tokens.js").write_text(SCRIPT, encoding="utf-8")
    grammar = ROOT / "editors/vscode/syntaxes/archline.tmLanguage.json"
    ran = subprocess.run(
        [node, "tokens.js", str(grammar), *map(str, PROGRAMS)], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    names = r"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
    for line, tokens in json.loads(ran.stdout):
        assert "".join(text for text, _ in tokens).rstrip("\n") == line
        unknown = [text for text, scope in tokens if not scope and text.strip().strip(names)]
        # Names and spaces have no scope, and there is nothing else.
        assert not [text for text in unknown if text.replace(" ", "").strip(names)], line
