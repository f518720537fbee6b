"""Answers about growth order, as text and as JSON; docs/explanation/growth.md describes both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from archline.algebra.product_text import power_text, quotient_text
from archline.certificates.check import Checked
from archline.growth.is_big_o import Proved, Refuted, Undecided, Verdict
from archline.records import record
from archline.report.json import VERSION
from archline.report.layout import indented, table, wrap

UPPER, LOWER = "upper", "lower"
_HEADS = {True: "holds", False: "fails", None: "unknown"}


@record
class OrderView:
    """What is shown: the question as canonical text, the outcome, and the verdicts it rests on.

    `upper` is that on f = O(g), `lower` that on g = O(f). `order` is the answer to `compare`.
    """

    f: str
    g: str
    where: tuple[str, ...]
    relation: str
    holds: bool | None
    verdicts: Mapping[str, Verdict]
    order: str | None = None
    checks: Mapping[str, Checked] | None = None
    verified: bool | None = None


def document(view: OrderView) -> dict[str, Any]:
    """`archline order`."""
    result: dict[str, Any] = {
        "version": VERSION,
        "f": view.f,
        "g": view.g,
        "where": list(view.where),
        "relation": view.relation,
        "holds": view.holds,
    }
    if view.order is not None:
        result["order"] = view.order
    result |= _joined(
        view, "certificate", {n: v.certificate for n, v in view.verdicts.items() if isinstance(v, Proved)}
    )
    refuted = {name: each.counterexample for name, each in view.verdicts.items() if isinstance(each, Refuted)}
    result |= _joined(view, "counterexample", refuted)
    reasons = {name: each.reason for name, each in view.verdicts.items() if isinstance(each, Undecided)}
    result |= _joined(view, "reason", reasons)
    if view.verified is not None:
        result["verified"] = view.verified
        rejected = {name: str(each) for name, each in (view.checks or {}).items() if not each.accepted}
        result |= _joined(view, "rejected", rejected)
    return result


def _joined(view: OrderView, key: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """With one direction asked for, its own; else those of both directions, by name."""
    if not found:
        return {}
    return {key: next(iter(found.values())) if len(view.verdicts) == 1 else dict(found)}


def text(view: OrderView, width: int, *, explain: bool) -> str:
    """The outcome, the counterexamples, and with `explain` the proofs."""
    lines = wrap(f"{_HEADS[view.holds]}: {_claim(view)}", width)
    if view.where:
        lines += wrap("where " + ", ".join(view.where), width)
    for direction, verdict in view.verdicts.items():
        sides = (view.f, view.g) if direction == UPPER else (view.g, view.f)
        block = list(_verdict(*sides, verdict, width - 2, explain=explain))
        if block:
            lines += ["", *indented(block)]
    lines += _checks(view, width)
    return "\n".join(lines) + "\n"


def _checks(view: OrderView, width: int) -> list[str]:
    lines = []
    for direction, checked in (view.checks or {}).items():
        kind = "certificate" if isinstance(view.verdicts[direction], Proved) else "counterexample"
        f, g = (view.f, view.g) if direction == UPPER else (view.g, view.f)
        of = f" of {f} as O({g})" if len(view.verdicts) > 1 else ""
        lines += wrap(f"{kind}{of} {'verified' if checked.accepted else checked}", width)
    return ["", *lines] if lines else []


def _claim(view: OrderView) -> str:
    if view.order is not None:
        return {
            "equal": f"{view.f} and {view.g} have the same order",
            "smaller": f"{view.f} has a smaller order than {view.g}",
            "larger": f"{view.f} has a larger order than {view.g}",
            "incomparable": f"neither {view.f} nor {view.g} is O of the other",
            "unknown": f"the order of {view.f} and {view.g}",
        }[view.order]
    verb = "is not" if view.holds is False else "is"
    return f"{view.f} {verb} {view.relation}({view.g})"


def _verdict(f: str, g: str, verdict: Verdict, width: int, *, explain: bool) -> Iterator[str]:
    match verdict:
        case Proved():
            if explain:
                yield from wrap(f"{f} is O({g}):", width)
                yield from indented(list(_proof(verdict.certificate, width - 2)))
        case Refuted():
            yield from _counterexample(f, g, verdict.counterexample, width)
        case Undecided(reason=reason):
            yield from wrap(f"whether {f} is O({g}) is not decided: {reason}", width)


# Counterexamples
def _counterexample(f: str, g: str, found: Mapping[str, Any], width: int) -> Iterator[str]:
    if found["kind"] == "point":
        at = ", ".join(f"{name} = {value}" for name, value in found["at"].items())
        yield from wrap(f"at {at}, {f} is {found['f']}, and {g} is {found['g']}", width)
        return
    curve = ", ".join(f"{name} = {value}" for name, value in found["curve"].items())
    yield from wrap(f"along {curve}, the quotient of {f} by {g} grows like {found['ratio']}", width)
    samples = found["samples"]
    if samples:
        names = list(samples[0]["at"])
        rows = [[*names, "f", "g", "f/g"]]
        rows += [[*(each["at"][name] for name in names), each["f"], each["g"], each["ratio"]] for each in samples]
        yield ""
        yield from table(rows, width, right=frozenset(range(len(names) + 3)))


# Proofs
def proof_text(found: Mapping[str, Any], width: int) -> Iterator[str]:
    """What a certificate proves, and how."""
    facts = f" where {', '.join(found['facts'])}" if found["facts"] else ""
    yield from wrap(f"{found['f']} is O({found['g']}){facts}:", width)
    yield from indented(list(_proof(found, width - 2)))


def _proof(found: Mapping[str, Any], width: int) -> Iterator[str]:
    if "multiple" in found:
        times, of = found["multiple"], found["g"]
        yield from wrap(f"{found['f']} = " + (of if times == "1" else f"{times}*({of})"), width)
    for each in found["differences"]:
        yield from _difference(each, width)
    for bound in found["bounds"]:
        left = _among("min", bound["smallest_of"])
        right = _among("max", bound["largest_of"])
        yield from wrap(f"{left} <= C*{right}", width)
        yield from indented(list(_steps(bound["proof"], found["facts"], width - 2)))


def _among(function: str, monomials: Sequence[Mapping[str, str]]) -> str:
    texts = [monomial(each) for each in monomials]
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})"


def _steps(proof: Mapping[str, Any], facts: Sequence[str], width: int) -> Iterator[str]:
    if "split" in proof:
        for case in proof["cases"]:
            assumed = ", ".join(_inequality(each, "") for each in case["assume"])
            yield from wrap(f"if {assumed}:", width)
            yield from indented(list(_steps(case["proof"], facts, width - 2)))
        return
    left, right = _weighted(proof["left"]), _weighted(proof["right"])
    uses = proof["uses"]
    if not uses:
        yield from wrap(f"{left} = {right}", width)
        return
    quotients = "".join(f" * {_quotient(use)}" for use in uses)
    yield from wrap(f"{left} = {right}{quotients}", width)
    for use in uses:
        yield from _reasons(use, facts, width)


def _reasons(use: Mapping[str, Any], facts: Sequence[str], width: int) -> Iterator[str]:
    because = use["because"]
    reason = {
        "size": "a size",
        "log": "a logarithm",
        "exponential": "a power of 2",
        "cache": "a cache holds a line",
        "case": "assumed",
        "log below power": "a logarithm is below every power",
        "log of bounded": "of what is bounded",
        "order of logs": "in the order of what they are of",
    }.get(because["rule"]) or f"as {facts[because['fact']]}"
    yield from wrap(f"{_inequality(use, '' if because['rule'] == 'case' else 'C*')}: {reason}", width)
    for each in use.get("uses", ()):
        if each["because"]["rule"] != "size":
            yield from indented(list(_reasons(each, facts, width - 2)))


def _inequality(sides: Mapping[str, Any], constant: str = "C*") -> str:
    small, large = monomial(sides["small"]), monomial(sides["large"])
    return f"{small} <= {large}" if small == "1" else f"{small} <= {constant}{large}"


def _quotient(use: Mapping[str, Any]) -> str:
    """(small/large)^times."""
    small, large = monomial(use["small"]), monomial(use["large"])
    below = f"({large})" if set("*/^") & set(large) else large
    return f"({small}/{below})" + ("" if use["times"] == "1" else f"^{_exponent(use['times'])}")


def _weighted(pairs: Sequence[Sequence[Any]]) -> str:
    texts = []
    for each, weight in pairs:
        base = monomial(each)
        texts.append(base if weight == "1" else f"({base})^{_exponent(weight)}")
    return "*".join(texts)


def monomial(powers: Mapping[str, str]) -> str:
    """A monomial of a certificate in the language's syntax."""
    ordered = sorted(powers.items(), key=lambda pair: pair[0].startswith("log2("))
    # Of a sum as a power, such as -1 + log2(3), the sign does not show.
    divides = {atom for atom, power in ordered if power.startswith("-") and " " not in power}
    above = [_power(atom, power) for atom, power in ordered if atom not in divides]
    below = [_power(atom, power[1:]) for atom, power in ordered if atom in divides]
    return quotient_text(above, below)


def _power(atom: str, power: str) -> str:
    base = f"({atom})" if atom.startswith("2^") and power != "1" else atom
    return power_text(base, power)


def _exponent(text: str) -> str:
    return text if text.isdigit() else f"({text})"


def _difference(step: Mapping[str, Any], width: int) -> Iterator[str]:
    kept = " + ".join(monomial(each) for each in step["keeps"])
    if len(step["keeps"]) > 1:
        kept = f"({kept})"
    yield from wrap(f"{step['of']} >= " + (f"c*{kept}" if kept else "0"), width)
    if "least" in step and kept:
        yield from wrap(f"  as no coefficient of {_gap(step)} is negative", width)
        yield from wrap(f"  in powers of {', '.join(map(_excess, step['least']))}", width)
    for each in step.get("covers", ()):
        amount = Fraction(each["amount"])
        small = _multiple(amount, monomial(each["term"]))
        large = _multiple(amount * Fraction(each["factor"]), monomial(each["into"]))
        yield from wrap(f"  {small} <= {large}", width)


def _gap(step: Mapping[str, Any]) -> str:
    """What is never negative: the difference without the share that is kept of it."""
    kept = " + ".join(monomial(each) for each in step["keeps"])
    return f"{step['of']} - {_multiple(Fraction(step['share']), f'({kept})' if len(step['keeps']) > 1 else kept)}"


def _excess(bound: Mapping[str, Any]) -> str:
    return f"{monomial(bound['large'])} - {1 / Fraction(bound['factor'])}"


def _multiple(coefficient: Fraction, text: str) -> str:
    if text == "1":
        return str(coefficient)
    return text if coefficient == 1 else f"{coefficient}*{text}"
