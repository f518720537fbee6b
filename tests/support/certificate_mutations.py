"""Certificates changed at random in one place, as a mistake of the prover might."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]
_CONSTANTS = {"times", "amount", "factor", "power"}
_RULES = (
    "size", "log", "cache", "fact", "case", "log below power", "log of bounded", "order of logs", "compare", "least",
    "log of size", "log below size", "min", "max", "floor", "ceil", "remainder", "exponential",
    "size below exponential",
)  # fmt: skip


def places(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every part of a certificate with the way to it."""
    yield path, data
    if isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from places(value, (*path, index))


def mutated(certificate: dict[str, Any], chance: random.Random) -> tuple[dict[str, Any], Path, str]:
    """A changed copy, where it was changed, and how."""
    while True:
        result = copy.deepcopy(certificate)
        path, part = chance.choice(list(places(result))[1:])
        parent = result
        for key in path[:-1]:
            parent = parent[key]
        how = _change(parent, path[-1], part, chance, path)
        if how and result != certificate:
            return result, path, how


def _change(parent: Any, key: str | int, part: Any, chance: random.Random, path: Path) -> str:
    """Change parent[key]; "" if there is nothing to change."""
    if path[0] in ("f", "g", "facts") and isinstance(part, str):
        parent[key], how = _text(part, chance, fact=path[0] == "facts")
        return how
    match part:
        case str() if key == "rule":
            parent[key] = chance.choice(_RULES)
            return "rule"
        case str() if (
            isinstance(parent, dict) and path[-2] not in ("because", "split") and key not in _CONSTANTS | {"of"}
        ):
            return _entry(parent, str(key), part, chance)
        case str() if key != "of" and key != "log":
            parent[key] = chance.choice(
                ["0", "1", "2", f"-({part})", f"{part} + 1/7", f"1/2*({part})", "1/3", "log2(3)"]
            )
            return "constant"
        case int() if key != "format":
            parent[key] = part + chance.choice([-1, 1, 2])
            return "index"
        case dict() if "small" in part and chance.random() < 0.4:
            part["small"], part["large"] = part["large"], part["small"]
            return "turned round"
        case dict() if all(isinstance(value, str) for value in part.values()) and "rule" not in part:
            part[chance.choice(["n", "m", "log2(n)", "L", "Z"])] = chance.choice(["1", "-1", "1/2"])
            return "atom added"
        case list() if part:
            index = chance.randrange(len(part))
            if chance.random() < 0.7:
                del part[index]
                return "entry dropped"
            part.append(copy.deepcopy(part[index]))
            return "entry doubled"
    return ""


def _entry(parent: dict[str, str], key: str, part: str, chance: random.Random) -> str:
    """A power of an atom, or its atom."""
    if chance.random() < 0.5:
        parent[key] = chance.choice(["2", "1", "-1", f"-({part})", f"{part} + 1/7", f"2*({part})"])
        return "power"
    del parent[key]
    if chance.random() < 0.6:
        parent[chance.choice(["n", "m", "p", "log2(n)", "log2(m)", "Z"])] = part
        return "atom"
    return "atom dropped"


def _text(text: str, chance: random.Random, *, fact: bool) -> tuple[str, str]:
    if fact:
        turned = text.replace("<=", "@").replace(">=", "<=").replace("@", ">=")
        others = [turned, text.replace("n", "m"), text.replace("m", "n"), text.replace("2", "3"), "n >= 1"]
        return chance.choice(others), "fact"
    others = [
        f"({text})*n^0.1",
        f"({text})/n^0.1",
        f"({text})*log2(n)",
        f"({text})/log2(m)",
        f"({text}) + n^9",
        "n",
        "1",
    ]
    others += [text.replace("n", "m"), text.replace("+", "*"), f"min({text}, n)", f"({text})/2 - 1", f"1/({text})"]
    return chance.choice(others), "expression"
