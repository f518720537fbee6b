"""Recipes of sentences: `claim`, `growth` and `run`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

from archline.compare.claims import ClaimedAlgorithms, ClaimOfCosts
from archline.energy.formulas import names_in
from archline.expr import build as b
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import defined_sizes, names, substituted
from archline.expr.values import evaluate
from archline.ir.conditions import negate_condition
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_target
from archline.language.parser import parse_facts
from archline.papers import forms, rules
from archline.papers.findings import (
    DIFFERS,
    EQUAL,
    INEQUALITIES,
    SIGNS,
    UNDECIDED,
    RowVerdict,
    SeparatingPoint,
    distinguished,
    holds,
)
from archline.papers.rows import PrintedRow
from archline.records import replace

ORDERS = ("Theta", "O", "Omega")
SEARCHED = 400
LARGEST = 2**40
"""The largest size that a reader still has a use for."""
MOST_NAMED, MOST_CHARACTERS = 4, 100
"""How many other cases a reason names, and how long a difference it prints."""
Case = tuple[str, Mapping[str, Fraction]]
_BOUNDS = re.compile(r"(?:Theta\((.*?)\)|O\((.*?)\), Omega\((.*?)\)) against ")


def claim(row: PrintedRow) -> RowVerdict:
    """A relation for every, for some or for no case, of a table or a machine; or for all values of its symbols."""
    if row.has("machines") or row.inputs.get("cases"):
        return _over_cases(row, _cases(row))
    facts = [row.parsed(each, "where") for each in row.listed("where")]
    return _over_symbols(row, [each for each in facts if isinstance(each, s.Binary)])


def _cases(row: PrintedRow) -> list[Case]:
    """Each case of the row's table on each of its machines, with the paper's numbers and the row's own inputs."""
    found: list[Case] = []
    for named, values in [(each.name, each.values) for each in row.machines()] or [("", {})]:
        for label, own in row.cases().items():
            given = {**row.table("inputs"), **row.table("by_machine").get(named, {}), **own}
            known = {name: each.value for name, each in row.amounts(given, "cases").items()}
            found.append((" on ".join(filter(None, (label, named))) or "", {**row.numbers, **values, **known}))
    return found


def _relation(row: PrintedRow) -> s.Binary:
    relation = row.relation
    if isinstance(relation, s.Binary) and relation.op in SIGNS:
        return relation
    raise row.wrong(rules.ROW_FORM, "a claim is a relation `LEFT <= RIGHT`", "printed")


def _over_cases(row: PrintedRow, cases: Sequence[Case]) -> RowVerdict:
    """Decided in each case."""
    relation = _relation(row)
    sides = (relation.left, relation.right)
    names = names_in(relation.left) | names_in(relation.right)
    for case, at in cases:
        if lacking := sorted(names - set(at)):
            raise row.wrong(rules.ROW_FORM, f"`{lacking[0]}` has no value in {case or 'the run'}", "printed")
    verdicts = [holds(relation, at) for _, at in cases]
    holding, failing = (
        [case for case, held in zip(cases, verdicts, strict=True) if held is way] for way in (True, False)
    )
    right = None if None in verdicts else "every" if not failing else "some" if holding else "no"
    steps = [
        f"{case or 'the run'}: {format_fact(relation)} is {held}: {' against '.join(distinguished(sides, at))}"
        for (case, at), held in zip(cases, verdicts, strict=True)
    ]
    return _decided(row, relation, right, holding, failing, steps)


def _over_symbols(row: PrintedRow, facts: list[s.Binary]) -> RowVerdict:
    """By a counterexample, or by the signs of the terms of the difference."""
    relation = _relation(row)
    names = sorted(frozenset[str]().union(*(names_in(each.left) | names_in(each.right) for each in (relation, *facts))))
    inside = [each for each in _points(frozenset(names), row, facts) if all(holds(fact, each) for fact in facts)]
    cases = [("", at) for at in inside]
    holding, failing = (
        _shown([case for case in cases if holds(relation, case[1]) is way], relation) for way in (True, False)
    )
    always = None if failing else _proved(relation, facts)
    never = None
    opposite = negate_condition(relation)
    if not holding and relation.op in INEQUALITIES and isinstance(opposite, s.Binary):
        never = _proved(opposite, facts)
    right = "every" if always else "no" if never else "some" if holding and failing else None
    where = f" where {', '.join(map(format_fact, facts))}" if facts else ""
    steps = [f"for all positive {', '.join(names)}{where}", *(each for each in (always, never) if each)]
    return _decided(row, relation, right, holding, failing, steps, never or "")


def _shown(cases: list[Case], relation: s.Binary) -> list[Case]:
    """The first of some cases, one in which the sides are not equal if there is such."""
    unequal = [replace(relation, op=op) for op in ("<", ">")]
    return [next((case for case in cases if any(holds(each, case[1]) for each in unequal)), cases[0])] if cases else []


def _decided(
    row: PrintedRow,
    relation: s.Binary,
    right: str | None,
    holding: list[Case],
    failing: list[Case],
    steps: list[str],
    proof: str = "",
) -> RowVerdict:
    """What is claimed against the quantifier that is right; None: it is not known."""
    asked, said = row.quantifier, format_fact(relation)
    if asked == right or (asked == "some" and holding):
        return RowVerdict(row, EQUAL, f"{asked}: {said}", "", steps)
    against = {"every": failing, "no": holding, "some": failing if right == "no" else []}[asked]
    if not against:
        return RowVerdict(row, UNDECIDED, "", "no counterexample was met, and signs of terms do not decide", steps)
    witness = SeparatingPoint(relation.left, relation.right, against[0][1], relations=(("", relation),))
    first, *others = (case for case, _ in against)
    more = f", and for {_those(others, len(holding))}" if others else ""
    reason = f"{witness.sides} for {first}{more}" if first else proof or str(witness)
    return RowVerdict(row, DIFFERS, f"{right or 'some'}: {said}", reason, steps, witness=witness)


def _those(others: Sequence[str], holding: int) -> str:
    """Cases by name, or all others, where they are that and many."""
    return ", ".join(others) if holding or len(others) < MOST_NAMED else f"all {len(others)} others"


def _points(names: frozenset[str], row: PrintedRow, facts: list[s.Binary]) -> Iterator[Mapping[str, Fraction]]:
    """The paper's own numbers and others; a name that a fact bounds is put near its bound."""
    for position, point in enumerate(forms.points(names, row.numbers, tries=SEARCHED)):
        moved = dict(point)
        for turn, fact in enumerate(facts):
            bound = forms.value_at(fact.right, moved) if isinstance(fact.left, s.Name) and position else None
            if bound is not None and isinstance(fact.left, s.Name):
                share = Fraction(1 + (position * 7 + turn * 3) % 10, 11)
                moved[fact.left.id] = bound.middle * {"<": share, ">": 1 / share, "=": Fraction(1)}[fact.op[0]]
        yield moved


def _proved(relation: s.Binary, facts: list[s.Binary]) -> str | None:
    """A proof that a relation holds: with each bounded name written as its bound times 1 + t, or over it, t >= 0, the
    terms of the difference have one sign, or the ratio is a product of powers.
    """
    bounded: dict[str, list[s.Binary]] = {}
    for fact in facts:
        if isinstance(fact.left, s.Name):
            bounded.setdefault(fact.left.id, []).append(fact)
    for chosen in product(*bounded.values()):
        # Of a strict relation the ends of the facts are seen by themselves: a bounded name may be its bound.
        strict = relation.op in ("<", ">") and any(fact.op[1:] for fact in chosen)
        signs = [_sign_under(relation, chosen, ends) for ends in (False, True)[: 1 + strict]]
        if all(sign in SIGNS[relation.op] for sign in signs):
            put = f" with {', '.join(map(format_fact, chosen))} put in" if chosen else ""
            least = {1: "positive", -1: "negative", None: "0"}.get(signs[0], "0")
            weak = " or 0" if signs[0] and relation.op[1:] and any(fact.op in ("<=", ">=") for fact in chosen) else ""
            return f"left less right{_gap(relation)} is {least}{weak}{put}"
    return None


def _gap(relation: s.Binary) -> str:
    """The difference of the sides as text, where it is short."""
    gap = forms.text((forms.form(relation.left) - forms.form(relation.right)).expand())
    return f", {gap}," if len(gap) <= MOST_CHARACTERS else ""


def _sign_under(relation: s.Binary, chosen: Sequence[s.Binary], ends: bool) -> int | None:
    """The sign of left less right with the bounds of names put in, or at those `ends` that a name may reach."""
    sides = [relation.left, relation.right]
    # The last first: a fact may name what an earlier one bounds. In the syntax, so that a max is seen to be a side.
    for turn, fact in reversed(list(enumerate(chosen))):
        more = "" if ends and fact.op[1:] else {"<": f"/(1 + t{turn})", ">": f"*(1 + t{turn})", "=": ""}[fact.op[0]]
        moved = {format_expression(fact.left): forms.read(f"({format_expression(fact.right)}){more}")}
        sides = [substituted(each, moved) for each in sides]
    left, right = map(forms.form, sides)
    return 0 if forms.vanishes(left - right) else _by_powers(left, right) or forms.sign(left - right)


def _by_powers(left: Any, right: Any) -> int | None:
    """The sign of left less right where their ratio is a product of powers of sums that are at least 1."""
    import sympy

    if right == 0:
        return None
    found = set()
    for base, power in (
        sympy.powsimp(sympy.powdenest(sympy.factor(left) / sympy.factor(right))).as_powers_dict().items()
    ):
        known = base.is_Rational and base > 0
        if not known and not (forms.signs(base) == {1} and base.subs(dict.fromkeys(base.free_symbols, 0)) >= 1):
            return None
        found.add(
            (1 if not known or base > 1 else -1 if base < 1 else 0) * (sympy.sign(power) if power.is_Rational else 2)
        )
    found -= {0}
    return int(found.pop()) if found in ({1}, {-1}) else None


def growth(row: PrintedRow) -> RowVerdict:
    """A printed order of growth against the derived cost of an algorithm of the library."""
    import archline

    relation, where, printed = row.text("relation", "Theta"), row.text("where", ""), format_expression(row.expr)
    if relation not in ORDERS:
        raise row.wrong(rules.ROW_FORM, f"`{relation}` is none of {', '.join(ORDERS)}", "relation")
    about = row.text("cost")
    text = f"use {row.text('use')}\nclaim {about} is {relation}({printed}){f' where {where}' if where else ''}\n"
    try:
        items = archline.loads(text, "papers").module.program.items
        (stated,) = [each for each in items if isinstance(each, s.Claim)]
        decided = ClaimOfCosts(stated, _derived(row.text("use")), ()).decided()
    except ArchlineError as problem:
        first = problem.diagnostics[0]
        raise row.wrong(rules.ROW_FORMULA, first.message, "cost", first.hint) from None
    outcome, steps = decided.outcome, [f"{about}, as derived", *filter(None, [decided.reason, decided.bounds])]
    bound = _BOUNDS.match(decided.bounds)
    order = bound and (bound[1] or (bound[2] if relation == "O" else None))
    # What is at least of an order that is no O(printed) is none either.
    least = bound and (bound[1] or (bound[3] if relation == "O" else None))
    if outcome == "unknown" and least:
        free = _without_definitions(where, least, printed)
        outcome = "fails" if archline.order(least, printed, free, relation).holds is False else outcome
    if outcome == "holds":
        return RowVerdict(row, EQUAL, printed, "", steps)
    if outcome == "fails" and order is None:
        # What is refuted has no single order, which could be printed instead.
        return RowVerdict(row, DIFFERS, "", "; ".join(steps), steps)
    if outcome != "fails" or order is None:
        return RowVerdict(row, UNDECIDED, "", "; ".join(steps), steps)
    witness = _apart(row.expr, least or order, where, relation)
    said = f"{relation}({forms.text(forms.form(row.expr))})"
    reason = f"{about} is not {said}" if least in (None, order) else f"{about} is Omega({least}), which is not {said}"
    return RowVerdict(row, DIFFERS, order, reason, steps, witness=witness)


def _without_definitions(where: str, *sides: str) -> str:
    """Facts with `FORM >= 1` for each `NAME == FORM` whose name is in no other of them and in neither side."""
    facts = parse_facts(where, "where") if where else []
    used = Counter(name for each in (*facts, *map(forms.read, sides)) for name in names(each))
    kept = []
    for each in facts:
        defined = [form for name, form in defined_sizes([each]) if used[name] == 1 and name not in names(form)]
        if not defined:
            kept.append(each)
        elif not _is_at_least_one(defined[0]):
            kept.append(b.binary(">=", defined[0], b.number(1)))
    return ", ".join(map(format_fact, kept))


def _is_at_least_one(form: s.Expr) -> bool:
    """Whether a form of sizes, which are at least 1, is a product or sum that is so as it is written."""
    match form:
        case s.Name():
            return True
        case s.Integer(value=value):
            return value >= 1
        case s.Binary(op="+" | "*", left=left, right=right):
            return _is_at_least_one(left) and _is_at_least_one(right)
        case s.Binary(op="^", left=base, right=s.Integer()):
            return _is_at_least_one(base)
        case _:
            # It may be less, as a quotient is.
            return False


def _apart(printed: s.Expr, order: str, where: str, relation: str) -> SeparatingPoint | None:
    """The last size in a family by which the derived order is refuted to have the relation to the printed one."""
    import archline

    refuted = archline.order(order, format_expression(printed), where, relation).document.get("counterexample", {})
    last = None
    # Of Theta there is a family for O, for Omega or for both.
    families = [refuted] if "samples" in refuted else refuted.values()
    for sample in (sample for family in families for sample in family.get("samples", ())):
        # Large numbers are powers there, 2^32.
        try:
            values = {name: evaluate(forms.read(text), {}) for name, text in sample["at"].items()}
        except EvaluationError:  # They are too large to be written out.
            continue
        at = {name: Fraction(value) for name, value in values.items() if not isinstance(value, Interval)}
        witness = SeparatingPoint(printed, forms.read(order), at)
        if witness.holds() and (last is None or max(at.values()) <= LARGEST):
            last = witness
    return last


@lru_cache(maxsize=16)
def _derived(module: str) -> ClaimedAlgorithms:
    """The algorithms of a module, of which costs are derived once."""
    return ClaimedAlgorithms(load_target(module)[0])


def run(row: PrintedRow) -> RowVerdict:
    """A relation over executed counts, `NAME_work`, `NAME_io` and so on, of the runs that the row names.

    Their algorithms are of the standard library, or of the row's own `program`; sizes that a run does not give are
    those of the case. With `processors` io is that of private caches under its `schedule`.
    """
    cases: list[Case] = []
    for label, at in _cases(row):
        counts = dict(at)
        for name, asked in row.table("runs").items():
            found = _executed(row.text("program", ""), json.dumps(asked), tuple(sorted(at.items())))
            counts |= {key if key in asked.get("at", {}) else f"{name}_{key}": value for key, value in found.items()}
        cases.append((label, counts))
    return _over_cases(row, cases)


@lru_cache(maxsize=64)
def _executed(program: str, written: str, case: tuple[tuple[str, Fraction], ...]) -> Mapping[str, Fraction]:
    """The sizes and counts of one run."""
    import archline
    from archline.api.running import run_at
    from archline.costs.sizes import from_python
    from archline.energy.caches import Settings
    from archline.energy.running import read_schedule

    asked, at = json.loads(written), dict(case)
    name, seed = asked["algorithm"], asked.get("seed", 0)
    target = archline.loads(program, "program")[name] if program else archline.algorithm(name)
    sizes = {**{size: int(at[size]) for size in target.sizes if size in at}, **asked.get("at", {})}
    cache = archline.Cache(**asked["cache"]) if "cache" in asked else None
    several = asked.get("processors") and read_schedule(asked["schedule"], asked["processors"], seed)
    settings = Settings(chosen_cache=True, seed=seed, processors=several)
    ran = run_at(target, from_python(sizes), cache, settings)
    counted = {each.name: getattr(ran.counts, each.name) for each in fields(ran.counts)} | {**ran.counts.communication}
    counted |= sizes if ran.private is None else {**sizes, "io": ran.private.io}
    return {key: Fraction(value) for key, value in counted.items() if isinstance(value, int)}
