"""Make the file of a report: the template with the data in it, which no browser takes for code."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from archline.resources import find_resource
from archline.version import __version__

VERSION = 1
"""The version of the data."""
TEMPLATE = Path(__file__).parent / "page.html"
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def make_head(kind: str, title: str, command: str) -> dict[str, Any]:
    """Return the data that pages of all kinds have; `command` makes the page."""
    return {
        "version": VERSION,
        "kind": kind,
        "title": title,
        "command": command,
        "release": f"archline {__version__}",
    }


def make_page(data: Mapping[str, Any]) -> str:
    """Return a report as HTML; only the template's script runs in it, and nothing is loaded."""
    template = TEMPLATE.read_text(encoding="utf-8")
    (script,) = _SCRIPT.findall(template)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = template.replace("CSP-SCRIPT", f"sha256-{digest}", 1)
    before, after = page.split("<!--DATA-->")
    # A page goes to others, on whose machines the library is elsewhere.
    library = json.dumps(f"{find_resource('stdlib').parent}{os.sep}", ensure_ascii=False)[1:-1]
    return before + escape_data(data).replace(library, "") + after


def escape_data(data: Mapping[str, Any]) -> str:
    """Return data as JSON without characters that end a script element or a line of one."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPED)
