"""Write the files of the extension for VS Code that have words of the language or the version of archline in them.

Usage: python editors/generate.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import archline
from archline.language.highlighting import PATTERNS

FOLDER = Path(__file__).resolve().parent / "vscode"
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


def list_files() -> dict[Path, str]:
    """Return the texts of all files that are generated, by their paths."""
    documents = {
        "package.json": make_package(),
        "language-configuration.json": make_configuration(),
        "syntaxes/archline.tmLanguage.json": make_grammar(),
    }
    return {
        FOLDER / name: json.dumps(document, indent=2, ensure_ascii=False) + "\n" for name, document in documents.items()
    }


if __name__ == "__main__":
    for path, text in list_files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
