"""The rules behind diagnostics, with their documentation."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from archline.api import rules
from archline.language.diagnostics import Rule, did_you_mean, error, known_rules

_PACKAGE = Path(__file__).resolve().parents[1]
_DEFINITION = re.compile(r"^[A-Z_]+ = Rule\(", re.MULTILINE)


def all_rules() -> dict[str, Rule]:
    """Every rule by code, from all modules that define one."""
    for file in sorted(_PACKAGE.rglob("*.py")):
        if _DEFINITION.search(file.read_text(encoding="utf-8")):
            import_module(".".join(("archline", *file.relative_to(_PACKAGE).with_suffix("").parts)))
    return known_rules()


def explain(code: str) -> str:
    """The documentation of a rule such as `AL201`, as Markdown. Raises ArchlineError (AL412) for an unknown code."""
    known = all_rules()
    rule = known.get(code.strip().upper())
    if rule is None:
        hint = did_you_mean(code.strip().upper(), known) or "`archline explain` lists all codes"
        raise error(rules.UNKNOWN_CODE, f"there is no rule `{code[:40]}`", hint=hint)
    return rule.documentation
