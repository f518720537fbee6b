"""Write the files for VS Code and CodeMirror that have words of the language or the version of archline in them.

Usage: python editors/generate.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import archline
from archline.language.highlighting import PATTERNS, Kind

FOLDER = Path(__file__).resolve().parent
STYLES = {
    Kind.COMMENT: "comment",
    Kind.STRING: "string",
    Kind.NUMBER: "number",
    Kind.TYPE: "typeName",
    Kind.CONSTANT: "atom",
    Kind.FUNCTION: "variableName.standard",
    Kind.KEYWORD: "keyword",
    Kind.OPERATOR: "operator",
    Kind.PUNCTUATION: "punctuation",
    Kind.NAME: "variableName",
    Kind.SPACE: None,
}
"""The names that CodeMirror has for kinds of tokens."""
DEFINED_NAME = (r"(?<=\b(?:algorithm|extern)\s+)[A-Za-z_]\w*", "variableName.function.definition")
MODE = """\
// Highlights archline in CodeMirror 6. Written by `python editors/generate.py` from the words of the grammar.
//
//     import { StreamLanguage } from "@codemirror/language";
//     import { archline } from "./archline.js";
//     new EditorView({ extensions: [basicSetup, StreamLanguage.define(archline)], ... });

// The expressions are tried in this order at the position of the stream; they may look at what is before it.
const rules = [
RULES
];

export const archline = {
  name: "archline",
  token(stream) {
    for (const [expression, style] of rules) {
      expression.lastIndex = stream.pos;
      if (expression.test(stream.string)) {
        stream.pos = expression.lastIndex;
        return style;
      }
    }
    stream.next();
    return "invalid";
  },
  languageData: DATA,
};
"""
HEADER = {
    "match": r"\b(algorithm|extern)(\s+)([A-Za-z_]\w*)",
    "captures": {
        "1": {"name": "keyword.control.archline"},
        "3": {"name": "entity.name.function.archline"},
    },
}


def make_grammar() -> dict[str, Any]:
    """Return the TextMate grammar of the language."""
    rules = [{"name": f"{kind.value}.archline", "match": pattern} for kind, pattern in PATTERNS if kind.value.strip()]
    return {
        "name": "archline",
        "scopeName": "source.archline",
        "fileTypes": ["algo"],
        "patterns": [HEADER, *rules, {"match": r"[A-Za-z_]\w*"}],
    }


def make_package() -> dict[str, Any]:
    """Return the manifest of the extension."""
    language = {
        "id": "archline",
        "aliases": ["archline"],
        "extensions": [".algo"],
        "configuration": "./language-configuration.json",
    }
    grammar = {"language": "archline", "scopeName": "source.archline", "path": "./syntaxes/archline.tmLanguage.json"}
    properties = {
        "archline.command": {
            "type": "string",
            "default": "archline",
            "description": "The path of the command archline.",
        },
        "archline.inlayHints": {
            "type": "boolean",
            "default": True,
            "description": "Show the work of each line at its end.",
        },
    }
    return {
        "name": "archline",
        "displayName": "archline",
        "description": "Findings, costs and completion for algorithm sketches",
        "version": archline.__version__,
        "publisher": "archline",
        "private": True,
        "engines": {"vscode": "^1.82.0"},
        "categories": ["Programming Languages"],
        "main": "./extension.js",
        "activationEvents": [],
        "contributes": {
            "languages": [language],
            "grammars": [grammar],
            "configuration": {"title": "archline", "properties": properties},
        },
        "dependencies": {"vscode-languageclient": "^9.0.1"},
    }


def make_configuration() -> dict[str, Any]:
    """Return the configuration of the language: comments, brackets and indentation."""
    brackets = [["(", ")"], ["[", "]"]]
    return {
        "comments": {"lineComment": "#"},
        "brackets": brackets,
        "autoClosingPairs": [*brackets, ['"', '"']],
        "indentationRules": {"increaseIndentPattern": r":\s*(#.*)?$", "decreaseIndentPattern": r"^\s*(else|elif)\b"},
    }


def make_codemirror_mode() -> str:
    """Return the module of CodeMirror's description of the language, for its class StreamLanguage."""
    rules = [DEFINED_NAME, *((pattern, STYLES[kind]) for kind, pattern in PATTERNS)]
    listed = ",\n".join(
        f"  [/{pattern.replace('/', chr(92) + '/')}/y, {json.dumps(style)}]" for pattern, style in rules
    )
    data = {"commentTokens": {"line": "#"}, "closeBrackets": {"brackets": ["(", "[", '"']}}
    return MODE.replace("RULES", listed).replace("DATA", json.dumps(data))


def make_codemirror_package() -> dict[str, Any]:
    """Return the manifest of the module for CodeMirror."""
    return {
        "name": "codemirror-archline",
        "description": "Highlighting of archline in CodeMirror 6",
        "version": archline.__version__,
        "private": True,
        "type": "module",
        "exports": "./archline.js",
        "peerDependencies": {"@codemirror/language": "^6.0.0"},
    }


def list_files() -> dict[Path, str]:
    """Return the texts of all files that are generated, by their paths."""
    documents = {
        "vscode/package.json": make_package(),
        "vscode/language-configuration.json": make_configuration(),
        "vscode/syntaxes/archline.tmLanguage.json": make_grammar(),
        "codemirror/package.json": make_codemirror_package(),
    }
    texts = {name: json.dumps(document, indent=2, ensure_ascii=False) + "\n" for name, document in documents.items()}
    return {FOLDER / name: text for name, text in {**texts, "codemirror/archline.js": make_codemirror_mode()}.items()}


if __name__ == "__main__":
    for path, text in list_files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
