"""Derive the rows of sentences by the recipes `claim`, `growth` and `run`."""

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
from archline.expr.tree import find_names, iterate_defined_sizes, substitute_names
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
    RELATION_SIGNS,
    UNDECIDED,
    RowVerdict,
    SeparatingPoint,
    format_distinct,
    is_relation_true,
)
from archline.papers.rows import PrintedRow
from archline.records import replace

GROWTH_RELATIONS = ("Theta", "O", "Omega")
SEARCH_SAMPLES = 400
MAX_SHOWN_SIZE = 2**40
"""The largest size that is useful to a reader."""
MAX_NAMED_CASES, MAX_CHARACTERS = 4, 100
"""The number of further cases that a reason names, and the length of a difference that it prints."""
Case = tuple[str, Mapping[str, Fraction]]
_BOUNDS = re.compile(r"(?:Theta\((.*?)\)|O\((.*?)\), Omega\((.*?)\)) against ")


def check_claim(row: PrintedRow) -> RowVerdict:
    """Decide a printed relation: in the cases of a table or of machines, or else for all values of its symbols."""
    if row.has("machines") or row.inputs.get("cases"):
        return _decide_over_cases(row, _collect_cases(row))
    facts = [row.parse_form(fact, "where") for fact in row.texts("where")]
    return _decide_over_symbols(row, [fact for fact in facts if isinstance(fact, s.Binary)])


def _collect_cases(row: PrintedRow) -> list[Case]:
    """Return each case of the row's table on each of its machines, with the paper's and the row's numbers."""
    cases: list[Case] = []
    for named, values in [(machine.name, machine.values) for machine in row.machines()] or [("", {})]:
        for label, inputs in row.cases().items():
            texts = {**row.table("inputs"), **row.table("by_machine").get(named, {}), **inputs}
            amounts = {name: amount.value for name, amount in row.read_amounts(texts, "cases").items()}
            cases.append((" on ".join(filter(None, (label, named))) or "", {**row.numbers, **values, **amounts}))
    return cases


def _require_relation(row: PrintedRow) -> s.Binary:
    relation = row.relation
    if isinstance(relation, s.Binary) and relation.op in RELATION_SIGNS:
        return relation
    raise row.make_error(rules.ROW_FORM, "a claim must be a relation `LEFT <= RIGHT`", "printed")


def _decide_over_cases(row: PrintedRow, cases: Sequence[Case]) -> RowVerdict:
    relation = _require_relation(row)
    sides = (relation.left, relation.right)
    names = names_in(relation.left) | names_in(relation.right)
    for case, at in cases:
        if lacking := sorted(names - set(at)):
            raise row.make_error(rules.ROW_FORM, f"`{lacking[0]}` has no value in {case or 'the run'}", "printed")
    verdicts = [is_relation_true(relation, at) for _, at in cases]
    holding, failing = (
        [case for case, truth in zip(cases, verdicts, strict=True) if truth is wanted] for wanted in (True, False)
    )
    right = None if None in verdicts else "every" if not failing else "some" if holding else "no"
    steps = [
        f"{case or 'the run'}: {format_fact(relation)} is {truth}: {' against '.join(format_distinct(sides, at))}"
        for (case, at), truth in zip(cases, verdicts, strict=True)
    ]
    return _make_verdict(row, relation, right, holding, failing, steps)


def _decide_over_symbols(row: PrintedRow, facts: list[s.Binary]) -> RowVerdict:
    """Decide a relation by a counterexample, or by the signs of the terms of the difference."""
    relation = _require_relation(row)
    names = sorted(frozenset[str]().union(*(names_in(fact.left) | names_in(fact.right) for fact in (relation, *facts))))
    inside = [
        point
        for point in _sample_points(frozenset(names), row, facts)
        if all(is_relation_true(fact, point) for fact in facts)
    ]
    cases = [("", at) for at in inside]
    holding, failing = (
        _choose_shown_case([case for case in cases if is_relation_true(relation, case[1]) is wanted], relation)
        for wanted in (True, False)
    )
    always = None if failing else _find_proof(relation, facts)
    never = None
    opposite = negate_condition(relation)
    if not holding and relation.op in INEQUALITIES and isinstance(opposite, s.Binary):
        never = _find_proof(opposite, facts)
    right = "every" if always else "no" if never else "some" if holding and failing else None
    where = f" where {', '.join(map(format_fact, facts))}" if facts else ""
    steps = [f"for all positive {', '.join(names)}{where}", *(proof for proof in (always, never) if proof)]
    return _make_verdict(row, relation, right, holding, failing, steps, never or "")


def _choose_shown_case(cases: list[Case], relation: s.Binary) -> list[Case]:
    """Return a list of one case, preferably one in which the sides are not equal; empty if `cases` is empty."""
    unequal = [replace(relation, op=op) for op in ("<", ">")]
    return (
        [next((case for case in cases if any(is_relation_true(test, case[1]) for test in unequal)), cases[0])]
        if cases
        else []
    )


def _make_verdict(
    row: PrintedRow,
    relation: s.Binary,
    right: str | None,
    holding: list[Case],
    failing: list[Case],
    steps: list[str],
    proof: str = "",
) -> RowVerdict:
    """Compare the quantifier that a row claims with `right`, the one that is true, or None if that is unknown."""
    claimed, text = row.quantifier, format_fact(relation)
    if claimed == right or (claimed == "some" and holding):
        return RowVerdict(row, EQUAL, f"{claimed}: {text}", "", steps)
    against = {"every": failing, "no": holding, "some": failing if right == "no" else []}[claimed]
    if not against:
        return RowVerdict(row, UNDECIDED, "", "no counterexample was found, and signs of terms do not decide", steps)
    witness = SeparatingPoint(relation.left, relation.right, against[0][1], relations=(("", relation),))
    first, *rest = (case for case, _ in against)
    more = f", and for {_format_cases(rest, len(holding))}" if rest else ""
    reason = f"{witness.sides} for {first}{more}" if first else proof or str(witness)
    return RowVerdict(row, DIFFERS, f"{right or 'some'}: {text}", reason, steps, witness=witness)


def _format_cases(cases: Sequence[str], holding: int) -> str:
    """List cases by name, or count them if there are many and the relation holds in none (`holding` is 0)."""
    return ", ".join(cases) if holding or len(cases) < MAX_NAMED_CASES else f"all {len(cases)} others"


def _sample_points(names: frozenset[str], row: PrintedRow, facts: list[s.Binary]) -> Iterator[Mapping[str, Fraction]]:
    """Yield the paper's own numbers and random points, at which a name that a fact bounds is near its bound."""
    for position, point in enumerate(forms.sample_points(names, row.numbers, tries=SEARCH_SAMPLES)):
        moved = dict(point)
        for index, fact in enumerate(facts):
            bound = forms.evaluate_at(fact.right, moved) if isinstance(fact.left, s.Name) and position else None
            if bound is not None and isinstance(fact.left, s.Name):
                share = Fraction(1 + (position * 7 + index * 3) % 10, 11)
                moved[fact.left.id] = bound.middle * {"<": share, ">": 1 / share, "=": Fraction(1)}[fact.op[0]]
        yield moved


def _find_proof(relation: s.Binary, facts: list[s.Binary]) -> str | None:
    """Find a proof by signs of terms or powers, with each bounded name as bound*(1 + t) or bound/(1 + t), t >= 0.

    None if there is none.
    """
    bounded: dict[str, list[s.Binary]] = {}
    for fact in facts:
        if isinstance(fact.left, s.Name):
            bounded.setdefault(fact.left.id, []).append(fact)
    for chosen in product(*bounded.values()):
        # A strict relation is tested at the ends of the facts too: a bounded name may equal its bound.
        strict = relation.op in ("<", ">") and any(fact.op[1:] for fact in chosen)
        signs = [_compute_sign_under_facts(relation, chosen, ends) for ends in (False, True)[: 1 + strict]]
        if all(sign in RELATION_SIGNS[relation.op] for sign in signs):
            substitution = f" with {', '.join(map(format_fact, chosen))} put in" if chosen else ""
            sign_text = {1: "positive", -1: "negative", None: "0"}.get(signs[0], "0")
            or_zero = (
                " or 0" if signs[0] and relation.op[1:] and any(fact.op in ("<=", ">=") for fact in chosen) else ""
            )
            return f"left less right{_format_gap(relation)} is {sign_text}{or_zero}{substitution}"
    return None


def _format_gap(relation: s.Binary) -> str:
    """Format the difference of the sides, if it is short."""
    gap = forms.format_form((forms.build_form(relation.left) - forms.build_form(relation.right)).expand())
    return f", {gap}," if len(gap) <= MAX_CHARACTERS else ""


def _compute_sign_under_facts(relation: s.Binary, chosen: Sequence[s.Binary], ends: bool) -> int | None:
    """Find the sign of left - right of a relation: 1, 0 or -1; None if it is unknown.

    Each fact of `chosen` bounds a name by e, or gives its value e; a bounded name is replaced by e/(1 + t) or e*(1 + t)
    with t >= 0. With `ends`, a name that may equal its bound is replaced by e itself.
    """
    sides = [relation.left, relation.right]
    # The last first: a fact may use a name that an earlier one bounds. In the syntax, as a max may be a side.
    for index, fact in reversed(list(enumerate(chosen))):
        more = "" if ends and fact.op[1:] else {"<": f"/(1 + t{index})", ">": f"*(1 + t{index})", "=": ""}[fact.op[0]]
        moved = {format_expression(fact.left): forms.parse_form(f"({format_expression(fact.right)}){more}")}
        sides = [substitute_names(side, moved) for side in sides]
    left, right = map(forms.build_form, sides)
    return (
        0 if forms.is_zero(left - right) else _compute_sign_by_powers(left, right) or forms.compute_sign(left - right)
    )


def _compute_sign_by_powers(left: Any, right: Any) -> int | None:
    """Find the sign of left - right if their ratio is a product of powers of sums that are at least 1.

    None if it is not such a product, or its factors disagree.
    """
    import sympy

    if right == 0:
        return None
    signs = set()
    for base, power in (
        sympy.powsimp(sympy.powdenest(sympy.factor(left) / sympy.factor(right))).as_powers_dict().items()
    ):
        is_number = base.is_Rational and base > 0
        if not is_number and not (
            forms.compute_term_signs(base) == {1} and base.subs(dict.fromkeys(base.free_symbols, 0)) >= 1
        ):
            return None
        signs.add(
            (1 if not is_number or base > 1 else -1 if base < 1 else 0)
            * (sympy.sign(power) if power.is_Rational else 2)
        )
    signs -= {0}
    return int(signs.pop()) if signs in ({1}, {-1}) else None


def check_growth(row: PrintedRow) -> RowVerdict:
    """Compare a printed order of growth with the derived cost of an algorithm of the library."""
    import archline

    relation, where, printed = row.text("relation", "Theta"), row.text("where", ""), format_expression(row.expr)
    if relation not in GROWTH_RELATIONS:
        raise row.make_error(rules.ROW_FORM, f"`{relation}` is not one of {', '.join(GROWTH_RELATIONS)}", "relation")
    cost = row.text("cost")
    text = f"use {row.text('use')}\nclaim {cost} is {relation}({printed}){f' where {where}' if where else ''}\n"
    try:
        items = archline.loads(text, "papers").module.program.items
        (stated,) = [item for item in items if isinstance(item, s.Claim)]
        decided = ClaimOfCosts(stated, _load_algorithms(row.text("use")), ()).decide()
    except ArchlineError as problem:
        first = problem.diagnostics[0]
        raise row.make_error(rules.ROW_FORMULA, first.message, "cost", first.hint) from None
    outcome, steps = decided.outcome, [f"{cost}, as derived", *filter(None, [decided.reason, decided.bounds])]
    bound = _BOUNDS.match(decided.bounds)
    order = bound and (bound[1] or (bound[2] if relation == "O" else None))
    # A cost that is Omega(g) is not O(printed) if g is not.
    least = bound and (bound[1] or (bound[3] if relation == "O" else None))
    if outcome == "unknown" and least:
        free = _replace_definitions(where, least, printed)
        outcome = "fails" if archline.order(least, printed, free, relation).holds is False else outcome
    if outcome == "holds":
        return RowVerdict(row, EQUAL, printed, "", steps)
    if outcome == "fails" and order is None:
        # A refuted cost without a single order leaves nothing to print instead.
        return RowVerdict(row, DIFFERS, "", "; ".join(steps), steps)
    if outcome != "fails" or order is None:
        return RowVerdict(row, UNDECIDED, "", "; ".join(steps), steps)
    witness = _find_separating_point(row.expr, least or order, where, relation)
    printed_order = f"{relation}({forms.format_form(forms.build_form(row.expr))})"
    reason = (
        f"{cost} is not {printed_order}"
        if least in (None, order)
        else f"{cost} is Omega({least}), which is not {printed_order}"
    )
    return RowVerdict(row, DIFFERS, order, reason, steps, witness=witness)


def _replace_definitions(where: str, *sides: str) -> str:
    """Replace each fact `NAME == FORM` by `FORM >= 1`, where only that fact uses the name."""
    facts = parse_facts(where, "where") if where else []
    used = Counter(name for expr in (*facts, *map(forms.parse_form, sides)) for name in find_names(expr))
    remaining = []
    for fact in facts:
        defined = [
            form for name, form in iterate_defined_sizes([fact]) if used[name] == 1 and name not in find_names(form)
        ]
        if not defined:
            remaining.append(fact)
        elif not _is_at_least_one(defined[0]):
            remaining.append(b.binary(">=", defined[0], b.number(1)))
    return ", ".join(map(format_fact, remaining))


def _is_at_least_one(form: s.Expr) -> bool:
    """Whether a form is at least 1 by its structure: a sum, product or power of sizes and positive integers."""
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
            # It may be less, such as a quotient.
            return False


def _find_separating_point(printed: s.Expr, order: str, where: str, relation: str) -> SeparatingPoint | None:
    """Return a sample which confirms that the derived order is not in `relation` to the printed one; None if none does.

    It is the last one without sizes above MAX_SHOWN_SIZE, else the first.
    """
    import archline

    refuted = archline.order(order, format_expression(printed), where, relation).document.get("counterexample", {})
    last = None
    # Theta has a family for O, for Omega or for both.
    families = [refuted] if "samples" in refuted else refuted.values()
    for sample in (sample for family in families for sample in family.get("samples", ())):
        # Large numbers are written as powers, 2^32.
        try:
            values = {name: evaluate(forms.parse_form(text), {}) for name, text in sample["at"].items()}
        except EvaluationError:  # They are too large to be written out.
            continue
        at = {name: Fraction(value) for name, value in values.items() if not isinstance(value, Interval)}
        witness = SeparatingPoint(printed, forms.parse_form(order), at)
        if witness.is_confirmed() and (last is None or max(at.values()) <= MAX_SHOWN_SIZE):
            last = witness
    return last


@lru_cache(maxsize=16)
def _load_algorithms(module: str) -> ClaimedAlgorithms:
    """Return the algorithms of a module, whose costs are derived once."""
    return ClaimedAlgorithms(load_target(module)[0])


def check_run(row: PrintedRow) -> RowVerdict:
    """Decide a relation over executed counts, `NAME_work`, `NAME_io` and so on, of the runs that the row names.

    The algorithms are from the standard library, or from the row's own `program`; sizes that a run does not give are
    those of the case. If a run has `processors`, io is that of private caches under its `schedule`.
    """
    cases: list[Case] = []
    for label, at in _collect_cases(row):
        counts = dict(at)
        for name, asked in row.table("runs").items():
            executed = _execute_run(row.text("program", ""), json.dumps(asked), tuple(sorted(at.items())))
            counts |= {key if key in asked.get("at", {}) else f"{name}_{key}": value for key, value in executed.items()}
        cases.append((label, counts))
    return _decide_over_cases(row, cases)


@lru_cache(maxsize=64)
def _execute_run(program: str, written: str, case: tuple[tuple[str, Fraction], ...]) -> Mapping[str, Fraction]:
    import archline
    from archline.api.running import run_at
    from archline.costs.sizes import convert_python_values
    from archline.energy.caches import Settings
    from archline.energy.running import read_schedule

    options, at = json.loads(written), dict(case)
    name, seed = options["algorithm"], options.get("seed", 0)
    target = archline.loads(program, "program")[name] if program else archline.algorithm(name)
    sizes = {**{size: int(at[size]) for size in target.sizes if size in at}, **options.get("at", {})}
    cache = archline.Cache(**options["cache"]) if "cache" in options else None
    processors = options.get("processors") and read_schedule(options["schedule"], options["processors"], seed)
    settings = Settings(chosen_cache=True, seed=seed, processors=processors)
    ran = run_at(target, convert_python_values(sizes), cache, settings)
    counted = {item.name: getattr(ran.counts, item.name) for item in fields(ran.counts)} | {**ran.counts.communication}
    counted |= sizes if ran.private is None else {**sizes, "io": ran.private.io}
    return {key: Fraction(value) for key, value in counted.items() if isinstance(value, int)}
