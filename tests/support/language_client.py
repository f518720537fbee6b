"""A client of the language server for tests: requests and notifications over the pipes of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from threading import Timer
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
ABOUT_CLAIMS = ("AL5", "AL6")
"""The beginnings of the codes of findings that are derived, not read off a program."""


class LanguageClient:
    """A process of the server, and the notifications that it has sent by their methods."""

    def __init__(self, **options: Any) -> None:
        self.notifications: dict[str, list[Any]] = defaultdict(list)
        self.versions: dict[str, int] = {}
        self._number = 0
        self._answers: dict[int, Any] = {}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "archline", "lsp", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT / "analyzer")},
        )
        # A test that waits for an answer in vain would wait for ever.
        self._stop = Timer(600, self.process.kill)
        self._stop.daemon = True
        self._stop.start()
        self.capabilities = self.request(
            "initialize", processId=os.getpid(), rootUri=None, capabilities={}, initializationOptions=options
        )["capabilities"]
        self.notify("initialized")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.request("shutdown")
            self.notify("exit")
            _, self.errors = self.process.communicate()
        finally:
            self.process.kill()
            self._stop.cancel()

    def _send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _receive(self) -> None:
        """Read a message of the server: an answer or a notification."""
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        message = json.loads(self.process.stdout.read(length))
        if "method" in message:
            self.notifications[message["method"]].append(message.get("params"))
        else:
            self._answers[message["id"]] = message

    def begin(self, method: str, **params: Any) -> int:
        """Send a request, and return its number."""
        self._number += 1
        self._send(id=self._number, method=method, params=params)
        return self._number

    def answer_to(self, number: int) -> Any:
        """Wait for the whole answer to a request."""
        while number not in self._answers:
            self._receive()
        return self._answers.pop(number)

    def request(self, method: str, **params: Any) -> Any:
        """Send a request, and return the result; an error fails the test."""
        answer = self.answer_to(self.begin(method, **params))
        assert "error" not in answer, answer
        return answer["result"]

    def notify(self, method: str, **params: Any) -> None:
        self._send(method=method, params=params)

    def open(self, uri: str, text: str) -> list[Any]:
        """Open a document, and return its diagnostics."""
        self.versions[uri] = 1
        document = {"uri": uri, "languageId": "archline", "version": 1, "text": text}
        self.notify("textDocument/didOpen", textDocument=document)
        return self.diagnostics_of(uri)

    def change(self, uri: str, text: str) -> list[Any]:
        """Replace the text of a document, and return its diagnostics."""
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.notify("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])
        return self.diagnostics_of(uri)

    def diagnostics_of(self, uri: str) -> list[Any]:
        """Wait for the diagnostics of the present version of a document, without those about claims."""
        while (found := self._find_diagnostics(uri)) is None:
            self._receive()
        return [diagnostic for diagnostic in found if not diagnostic["code"].startswith(ABOUT_CLAIMS)]

    def claims_of(self, uri: str) -> list[Any]:
        """Wait for diagnostics about claims of the present version of a document."""
        while True:
            about = [each for each in self._find_diagnostics(uri) or () if each["code"].startswith(ABOUT_CLAIMS)]
            if about:
                return about
            self._receive()

    def _find_diagnostics(self, uri: str) -> list[Any] | None:
        """Return the last diagnostics that were sent of the present version of a document."""
        for sent in reversed(self.notifications["textDocument/publishDiagnostics"]):
            if sent["uri"] == uri and sent.get("version") == self.versions[uri]:
                found: list[Any] = sent["diagnostics"]
                return found
        return None

    def at(self, method: str, uri: str, line: int, character: int, **params: Any) -> Any:
        """Ask about a position of a document, from 0."""
        position = {"line": line, "character": character}
        return self.request(f"textDocument/{method}", textDocument={"uri": uri}, position=position, **params)

    def about(self, method: str, uri: str, **params: Any) -> Any:
        """Ask about a document."""
        return self.request(f"textDocument/{method}", textDocument={"uri": uri}, **params)


def apply_changes(text: str, changes: list[Any]) -> str:
    """The text with the edits of an answer made, from the last to the first."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for change in sorted(changes, key=lambda each: tuple(each["range"]["start"].values()), reverse=True):
        first, last = (starts[place["line"]] + place["character"] for place in change["range"].values())
        text = text[:first] + change["newText"] + text[last:]
    return text
