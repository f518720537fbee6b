"""Highlighting by Pygments and by editors, from one list of words, and the files of the extension for VS Code."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from archline.language.highlighting import GROWTHS, TYPES
from archline.language.words import RESERVED
from archline.resources import find_resource
from cli_support import ROOT
from effort import long

GENERATOR = runpy.run_path(str(ROOT / "editors" / "generate.py"))
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

STREAM_SCRIPT = """
import fs from "node:fs";
import { archline } from "./archline.js";
const lines = process.argv.slice(2).flatMap((path) => fs.readFileSync(path, "utf8").split("\\n"));
console.log(JSON.stringify(lines.map((line) => {
  const tokens = [], stream = { string: line, pos: 0, next() { return this.string.charAt(this.pos++); } };
  while (stream.pos < line.length) {
    const start = stream.pos, style = archline.token(stream);
    if (stream.pos === start) throw new Error(`no token in ${line} at ${start}`);
    if (style !== null) tokens.push([line.slice(start, stream.pos), style]);
  }
  return tokens;
})));
"""
CODEMIRROR_MODULES = ["@codemirror/language@6", "@lezer/highlight@1"]
CODEMIRROR_SCRIPT = """
import fs from "node:fs";
import { StreamLanguage } from "@codemirror/language";
import { classHighlighter, highlightTree } from "@lezer/highlight";
import { archline } from "./archline.js";
const language = StreamLanguage.define(archline);
console.log(JSON.stringify(process.argv.slice(2).map((path) => {
  const text = fs.readFileSync(path, "utf8"), tokens = [];
  const add = (start, end, classes) => tokens.push([text.slice(start, end), classes]);
  highlightTree(language.parser.parse(text), classHighlighter, add);
  return tokens;
})));
"""


def test_words_have_their_classes() -> None:
    assert {"real", "int", "size", "index", "offsets", "inout", "colmajor"} <= set(TYPES)
    assert set(GROWTHS) == {"Theta", "O", "Omega"}
    assert {"algorithm", "ensures", "while", "spawn"} <= RESERVED - set(TYPES)


def test_the_files_of_editors_are_those_that_are_generated() -> None:
    files = GENERATOR["list_files"]()
    assert len(files) == 5
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


def list_pygments_tokens(path: Path) -> list[list[tuple[str, str]]]:
    """List the tokens of each line of a program that Pygments finds, without spaces, with their names in CodeMirror."""
    pytest.importorskip("pygments", reason="Pygments is not installed")
    from pygments.token import Name

    from archline.pygments_lexer import _TOKENS, ArchlineLexer

    names = {token: GENERATOR["STYLES"][kind] for kind, token in _TOKENS.items()}
    names[Name.Function] = GENERATOR["DEFINED_NAME"][1]
    lines: list[list[tuple[str, str]]] = [[]]
    for _, token, value in ArchlineLexer().get_tokens_unprocessed(path.read_text(encoding="utf-8")):
        if names[token] is not None:
            lines[-1].append((value, names[token]))
        lines += [[] for _ in range(value.count("\n"))]
    return lines


def run_node(folder: Path, script: str) -> Any:
    """Return what a script, in a folder with the module for CodeMirror, finds in the programs."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    for name in ("archline.js", "package.json"):
        shutil.copy(ROOT / "editors/codemirror" / name, folder)
    (folder / "script.js").write_text(script, encoding="utf-8")
    ran = subprocess.run([node, "script.js", *map(str, PROGRAMS)], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def install_modules(folder: Path, modules: list[str]) -> None:
    """Install modules of npm into a folder, or skip the test."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed")
    command = [npm, "install", "--no-audit", "--no-fund", *modules]
    installed = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"npm cannot install {modules[0]}: {installed.stderr[-200:]}")


def test_codemirror_finds_the_tokens_of_pygments_in_every_line(tmp_path: Path) -> None:
    expected = [line for path in PROGRAMS for line in list_pygments_tokens(path)]
    tokens = [[(text, style) for text, style in line] for line in run_node(tmp_path, STREAM_SCRIPT)]
    assert len(tokens) == len(expected) > 1000
    for line, wanted in zip(tokens, expected, strict=True):
        assert line == wanted
    assert {style for line in tokens for _, style in line} == {*GENERATOR["STYLES"].values()} - {None} | {
        GENERATOR["DEFINED_NAME"][1]
    }


@long
def test_codemirror_itself_highlights_the_tokens_of_pygments(tmp_path: Path) -> None:
    install_modules(tmp_path, CODEMIRROR_MODULES)
    for path, tokens in zip(PROGRAMS, run_node(tmp_path, CODEMIRROR_SCRIPT), strict=True):
        expected = [token for line in list_pygments_tokens(path) for token in line]
        assert "tok-invalid" not in {classes for _, classes in tokens}
        for name in ("keyword", "comment", "number", "string", "typeName", "atom"):
            assert [text for text, classes in tokens if f"tok-{name}" in classes.split()] == [
                text for text, style in expected if style == name
            ], path


@long
def test_textmate_tokenises_every_line_of_the_library(tmp_path: Path) -> None:
    install_modules(tmp_path, MODULES)
    (tmp_path / "tokens.js").write_text(SCRIPT, encoding="utf-8")
    grammar = ROOT / "editors/vscode/syntaxes/archline.tmLanguage.json"
    ran = subprocess.run(
        ["node", "tokens.js", str(grammar), *map(str, PROGRAMS)], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    names = r"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
    for line, tokens in json.loads(ran.stdout):
        assert "".join(text for text, _ in tokens).rstrip("\n") == line
        unknown = [text for text, scope in tokens if not scope and text.strip().strip(names)]
        # Names and spaces have no scope, and there is nothing else.
        assert not [text for text in unknown if text.replace(" ", "").strip(names)], line
