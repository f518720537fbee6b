"""Render answers about growth order as text and as JSON; docs/explanation/growth.md describes both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from archline.certificates.check import Checked
from archline.growth.is_big_o import Proved, Refuted, Undecided, Verdict
from archline.records import record
from archline.report.json import VERSION
from archline.report.layout import Columns, Indented, Part, render_block, render_page, terminal_width

UPPER, LOWER = "upper", "lower"
_SIMPLE_EXPONENT = re.compile(r"\w+|\w+\([\w/]+\)|\d+\.\d+")
"""Exponents without brackets: numbers, names, log2(3) and log2(3/2)."""
_OUTCOME_WORDS = {True: "holds", False: "fails", None: "unknown"}


@record
class Order:
    """Whether a relation between the orders of f and g holds: True, False, or None if it is not decided.

    `order` is the answer to `compare`: equal, smaller, larger, incomparable or unknown; `holds` is then True if an
    order is proved. `upper` is the verdict on f = O(g), `lower` that on g = O(f), each None if it was not asked for.
    """

    f: str
    g: str
    where: tuple[str, ...]
    relation: str
    holds: bool | None
    upper: Verdict | None
    lower: Verdict | None
    order: str | None = None
    checks: dict[str, Checked] | None = None

    @property
    def verified(self) -> bool | None:
        """Whether every verdict has a certificate or counterexample that was accepted; None if none was checked."""
        if self.checks is None:
            return None
        verdicts = [verdict for verdict in (self.upper, self.lower) if verdict is not None]
        return len(self.checks) == len(verdicts) and all(check.accepted for check in self.checks.values())

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """The requested verdicts, by `upper` (f = O(g)) and `lower` (g = O(f)); both for Theta and for comparisons."""
        both = {UPPER: self.upper, LOWER: self.lower}
        return {name: verdict for name, verdict in both.items() if verdict is not None}

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of the answer, with certificate or counterexample."""
        result: dict[str, Any] = {"version": VERSION, "f": self.f, "g": self.g, "where": list(self.where)}
        result |= {"relation": self.relation, "holds": self.holds}
        if self.order is not None:
            result["order"] = self.order
        verdicts = self.verdicts.items()
        result |= self._join_directions(
            "certificate", {n: proof.certificate for n, proof in verdicts if isinstance(proof, Proved)}
        )
        refuted = {name: verdict.counterexample for name, verdict in verdicts if isinstance(verdict, Refuted)}
        result |= self._join_directions("counterexample", refuted)
        result |= self._join_directions(
            "reason", {name: verdict.reason for name, verdict in verdicts if isinstance(verdict, Undecided)}
        )
        if self.verified is not None:
            result["verified"] = self.verified
            rejected = {name: str(check) for name, check in (self.checks or {}).items() if not check.accepted}
            result |= self._join_directions("rejected", rejected)
        return result

    def _join_directions(self, key: str, by_direction: Mapping[str, Any]) -> dict[str, Any]:
        """Return a dict from `key` to the value of the only requested direction, or to the values of both by name."""
        if not by_direction:
            return {}
        return {key: next(iter(by_direction.values())) if len(self.verdicts) == 1 else dict(by_direction)}

    def explain(self, width: int | None = None) -> str:
        """Return the answer as text, with its proof or counterexample."""
        return self._render_text(width or terminal_width(), explain=True)

    def __str__(self) -> str:
        return self._render_text(terminal_width(), explain=False)

    def _render_text(self, width: int, *, explain: bool) -> str:
        """Return the outcome, the counterexamples, and with `explain` the proofs."""
        head = [
            f"{_OUTCOME_WORDS[self.holds]}: {self._claim}",
            *(["where " + ", ".join(self.where)] if self.where else []),
        ]
        verdicts = (
            _explain_verdict(*self._select_sides(name), verdict, "fg" if name == UPPER else "gf", explain=explain)
            for name, verdict in self.verdicts.items()
        )
        checks: list[str] = []
        for direction, checked in (self.checks or {}).items():
            kind = "certificate" if isinstance(self.verdicts[direction], Proved) else "counterexample"
            f, g = self._select_sides(direction)
            relation = f" of {f} as O({g})" if len(self.verdicts) > 1 else ""
            checks.append(f"{kind}{relation} {'verified' if checked.accepted else checked}")
        below = ["", *render_block(checks, width)] if checks else []
        return render_page(width, head, *verdicts) + "".join(f"{line}\n" for line in below)

    def _select_sides(self, direction: str) -> tuple[str, str]:
        return (self.f, self.g) if direction == UPPER else (self.g, self.f)

    @property
    def _claim(self) -> str:
        if self.order is not None:
            return {
                "equal": f"{self.f} and {self.g} have the same order",
                "smaller": f"{self.f} has a smaller order than {self.g}",
                "larger": f"{self.f} has a larger order than {self.g}",
                "incomparable": f"neither {self.f} nor {self.g} is O of the other",
                "unknown": f"the order of {self.f} and {self.g}",
            }[self.order]
        verb = "is not" if self.holds is False else "is"
        return f"{self.f} {verb} {self.relation}({self.g})"


def _explain_verdict(f: str, g: str, verdict: Verdict, letters: str, *, explain: bool) -> Iterator[Part]:
    """Yield the proof or counterexample of f = O(g); in tables, the letters stand for these two expressions."""
    match verdict:
        case Proved():
            if explain:
                yield f"{f} is O({g}):"
                yield Indented(_describe_proof(verdict.certificate))
        case Refuted():
            yield from _describe_counterexample(f, g, verdict, letters)
        case Undecided(reason=reason):
            yield f"undecided whether {f} is O({g}): {reason}"


# Counterexamples
def _describe_counterexample(f: str, g: str, verdict: Refuted, letters: str) -> Iterator[Part]:
    counterexample: Mapping[str, Any] = verdict.counterexample
    if counterexample["kind"] == "point":
        at = ", ".join(f"{name} = {value}" for name, value in counterexample["at"].items())
        yield f"at {at}, {f} is {counterexample['f']}, and {g} is {counterexample['g']}"
        return
    if counterexample["kind"] == "logarithms":
        yield from _describe_logarithms(f, g, counterexample)
        return
    curve = ", ".join(f"{name} = {value}" for name, value in counterexample["curve"].items())
    extent = ", up to factors of lower order" if verdict.is_rough else ""
    yield f"along {curve}, the quotient of {f} by {g} grows like {counterexample['ratio']}{extent}"
    samples: list[Mapping[str, Any]] = verdict.table
    if samples:
        names = list(samples[0]["at"])
        # The first of the two expressions that were asked about is f, also where g grows faster.
        rows = [[*names, *sorted(letters), "/".join(letters)]]
        for row in samples:
            values = (value for _, value in sorted(zip(letters, (row["f"], row["g"]), strict=True)))
            rows.append([*(row["at"][name] for name in names), *values, row["ratio"]])
        yield ""
        yield Columns(rows, range(len(names) + 3))
    elif counterexample["samples"]:
        yield "where log2(w) is read as log2(2 + w), so that no logarithm vanishes"


def _describe_logarithms(f: str, g: str, logarithms: Mapping[str, str]) -> Iterator[Part]:
    for side, text in ((f, logarithms["f"]), (g, logarithms["g"])):
        yield f"log2({side}) = {text}"
    yield re.sub(r"\b[fg]\b", lambda side: f if side[0] == "f" else g, logarithms["difference"])


# Proofs
def describe_certificate(certificate: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the statement of a certificate, and its proof."""
    facts = f" where {', '.join(certificate['facts'])}" if certificate["facts"] else ""
    yield f"{certificate['f']} is O({certificate['g']}){facts}:"
    yield Indented(_describe_proof(certificate))


def _describe_proof(certificate: Mapping[str, Any]) -> Iterator[Part]:
    if "logarithms" in certificate:
        yield from _describe_logarithms(certificate["f"], certificate["g"], certificate["logarithms"])
    if "multiple" in certificate:
        times, g = certificate["multiple"], certificate["g"]
        yield f"{certificate['f']} = " + (g if times == "1" else f"{times}*({g})")
    for step in certificate["differences"]:
        yield from _explain_difference(step)
    for bound in certificate["bounds"]:
        left = _format_extremum("min", bound["smallest_of"])
        right = _format_extremum("max", bound["largest_of"])
        yield f"{left} <= C*{right}"
        yield Indented(_iterate_proof_steps(bound["proof"], certificate["facts"]))


def _format_extremum(function: str, monomials: Sequence[Mapping[str, str]]) -> str:
    texts = [format_monomial(powers) for powers in monomials]
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})"


def _iterate_proof_steps(proof: Mapping[str, Any], facts: Sequence[str]) -> Iterator[Part]:
    if "split" in proof:
        for case in proof["cases"]:
            assumed = ", ".join(_format_inequality(inequality, "") for inequality in case["assume"])
            yield f"if {assumed}:"
            yield Indented(_iterate_proof_steps(case["proof"], facts))
        return
    left, right = _format_weighted_product(proof["left"]), _format_weighted_product(proof["right"])
    uses = proof["uses"]
    if not uses:
        yield f"{left} = {right}"
        return
    quotients = "".join(f" * {_format_quotient(use)}" for use in uses)
    yield f"{left} = {right}{quotients}"
    for use in uses:
        yield from _explain_inequality(use, facts)


def _explain_inequality(use: Mapping[str, Any], facts: Sequence[str]) -> Iterator[Part]:
    because = use["because"]
    reason = {
        "size": "a size",
        "log": "a logarithm",
        "exponential": "a power of 2",
        "cache": "a cache holds a line",
        "case": "assumed",
        "log below power": "a logarithm is below every power",
        "log of bounded": "a logarithm of what is bounded",
        "order of logs": "ordered as their arguments",
    }.get(because["rule"]) or f"as {facts[because['fact']]}"
    yield f"{_format_inequality(use, '' if because['rule'] == 'case' else 'C*')}: {reason}"
    for inner in use.get("uses", ()):
        if inner["because"]["rule"] != "size":
            yield Indented(_explain_inequality(inner, facts))


def _format_inequality(sides: Mapping[str, Any], constant: str = "C*") -> str:
    small, large = format_monomial(sides["small"]), format_monomial(sides["large"])
    return f"{small} <= {large}" if small == "1" else f"{small} <= {constant}{large}"


def _format_quotient(use: Mapping[str, Any]) -> str:
    """Return `(small/large)^times`, a factor of a product of powers of inequalities."""
    small, large = format_monomial(use["small"]), format_monomial(use["large"])
    below = f"({large})" if set("*/^") & set(large) else large
    return f"({small}/{below})" + ("" if use["times"] == "1" else f"^{_format_exponent(use['times'])}")


def _format_weighted_product(pairs: Sequence[Sequence[Any]]) -> str:
    texts = []
    for powers, weight in pairs:
        base = format_monomial(powers)
        texts.append(base if weight == "1" else f"({base})^{_format_exponent(weight)}")
    return "*".join(texts)


def format_monomial(powers: Mapping[str, str]) -> str:
    """Return a monomial of a certificate in the language's syntax."""
    ordered = sorted(powers.items(), key=lambda pair: pair[0].startswith("log2("))
    # The sign of a sum as a power, such as -1 + log2(3), is not decided by its first character.
    divides = {atom for atom, power in ordered if power.startswith("-") and " " not in power}
    above = [_format_power(atom, power) for atom, power in ordered if atom not in divides]
    below = [_format_power(atom, power[1:]) for atom, power in ordered if atom in divides]
    top = "*".join(above) or "1"
    if not below:
        return top
    return f"{top}/{below[0]}" if len(below) == 1 else f"{top}/({'*'.join(below)})"


def _format_power(atom: str, power: str) -> str:
    base = f"({atom})" if atom.startswith("2^") and power != "1" else atom
    if power in ("1", "1/2"):
        return base if power == "1" else f"sqrt({base})"
    return f"{base}^{power}" if _SIMPLE_EXPONENT.fullmatch(power) else f"{base}^({power})"


def _format_exponent(text: str) -> str:
    return text if text.isdigit() else f"({text})"


def _explain_difference(step: Mapping[str, Any]) -> Iterator[Part]:
    """Yield a proof that a difference is at least a constant share of the sum of some of its terms."""
    share = " + ".join(format_monomial(powers) for powers in step["keeps"])
    if len(step["keeps"]) > 1:
        share = f"({share})"
    yield f"{step['of']} >= " + (f"c*{share}" if share else "0")
    if "least" in step and share:
        yield f"  as no coefficient of {_format_gap(step)} is negative"
        yield f"  in powers of {', '.join(map(_format_excess, step['least']))}"
    for cover in step.get("covers", ()):
        amount = Fraction(cover["amount"])
        small = _format_multiple(amount, format_monomial(cover["term"]))
        if "mean" in cover:
            parts = [_format_multiple(Fraction(x["part"]), format_monomial(x["into"])) for x in cover["mean"]]
            yield f"  {small} <= {' + '.join(parts)}"
            continue
        large = _format_multiple(amount * Fraction(cover["factor"]), format_monomial(cover["into"]))
        yield f"  {small} <= {large}"


def _format_gap(step: Mapping[str, Any]) -> str:
    """Return a difference less a share of the terms that it keeps: an expression that is never negative."""
    share = " + ".join(format_monomial(powers) for powers in step["keeps"])
    return (
        f"{step['of']} - {_format_multiple(Fraction(step['share']), f'({share})' if len(step['keeps']) > 1 else share)}"
    )


def _format_excess(bound: Mapping[str, Any]) -> str:
    return f"{format_monomial(bound['large'])} - {1 / Fraction(bound['factor'])}"


def _format_multiple(coefficient: Fraction, text: str) -> str:
    if text == "1":
        return str(coefficient)
    return text if coefficient == 1 else f"{coefficient}*{text}"
