"""Proofs and counterexamples as plain data: strings, lists and dictionaries, as JSON has them.

A certificate proves f = O(g): for some C, f <= C*g at every point, where a point gives each size a real value of at
least 1 (Z >= L where both occur in f, g or the facts) such that the facts hold, and log2(w) is read as log2(2 + w),
unless w is a constant.

    {"format": 1, "f": TEXT, "g": TEXT, "facts": [TEXT, ...], "differences": [DIFFERENCE, ...], "bounds": [BOUND, ...]}

TEXT is an expression or fact in the language's canonical syntax. CONSTANT is the text of an expression without names
(`2/3`, `-1 + 1/2*log2(7)`). MONOMIAL maps atoms to constants, their powers: `{"n": "2", "log2(n)": "1"}`; `{}` is 1.

**Atoms** are sizes, `2^n` for sizes n, `log2(ATOM)` for other atoms, and `log2(QUOTIENT)` for the text of a monomial
with powers of both signs, scaled so that the atom that comes first in the alphabet has the power 1 or -1. Every atom is
at least 1. The size n is log2(2 + 2^n) up to a constant factor, and stands for it. Up to a constant factor

    log2(2 + max(a, b)) ~ max(log2(2 + a), log2(2 + b)), and so for min;     log2(2 + c*w^k) ~ log2(2 + w) for c, k > 0;
    log2(2 + a*b) ~ max(log2(2 + a), log2(2 + b)) for monomials a, b >= 1;   log2(2 + 1/a) ~ 1 for monomials a >= 1.

**Upper and lower bounds.** f is bounded from above by the largest of clauses, each the smallest of its monomials, and g
from below by the smallest of clauses, each the largest of its monomials. Both follow from the expressions: constant
factors are dropped, a sum is the largest of its terms, products distribute over max and min, a negative power
exchanges them, sqrt(x) is x^(1/2), b^(c*n) is (2^n)^(c*log2(b)) for sizes n, b^(c*log2(w)) is w^(c*log2(b)) for
w >= 1, else max(w, 1)^(c*log2(b)), b^(x + y) is b^x*b^y, x//y is floor(x/y), abs(x) is x for x >= 0, else at most
max(x, -x), and

    ceil(x) ~ max(x, 1);   floor(x) <= x;   floor(x) >= x/2 where x >= 1, which a DIFFERENCE `x - 1` shows, unless that
    has no negative term;   x % y <= min(x, y), without a lower bound.

What is never positive, such as 0, is left out of sums and max. A max is at least each argument that has a lower bound,
and at most the largest upper bound; a min is at most the smallest upper bound, and has a lower bound if all arguments
have one. A sum is at least each of its terms that has a lower bound.

**Differences.** An expression of + - * / that holds a minus, and a whole power of what may be negative, is expanded to
a sum of terms with constant coefficients, whole powers of sums in it too, like terms added up, b^(c*n + d) as b^d times
the power c*log2(b) of the factor 2^n; what is no such expression is a factor that stays whole, and must not be
negative. Without negative terms the sum is bounded as any other. Else it has a DIFFERENCE, or no lower bound. Above it
is bounded by its positive terms. Below, by what DIFFERENCE leaves of them:

    {"of": TEXT, "keeps": [TERM, ...], "covers": [{"term": TERM, "amount": CONSTANT, "into": TERM, "factor": CONSTANT,
     "uses": [{"small": TERM, "large": TERM, "factor": CONSTANT, "times": CONSTANT, "because": {...}}, ...]}, ...]}

TERM maps factors to powers, as MONOMIAL does atoms. Each cover shows amount*term <= factor*amount*into: into/term is
the product of large/small to the power times, and factor is at least the product of the factors of `uses` to the power
times, each times >= 0. The amounts of a negative term add up to its coefficient or more, and what all covers take of a
positive term, factor*amount, to its coefficient at most, and to less for the terms in `keeps`. A factor of a use that
may be 0 is one of `term`. A use says small <= factor*large, exactly, `because` of a rule below. Or it is

    {"of": TEXT, "keeps": [TERM, ...], "share": CONSTANT, "least": [{"small": {}, "large": {FACTOR: "1"},
     "factor": CONSTANT, "because": {...}}, ...]}

`least` says 1 <= factor*FACTOR. With each of these factors written as 1/factor + x, and the others as they are, no
coefficient of `of` - share*(sum of `keeps`) is negative; share is positive where there are terms in `keeps`. The rules:

    {"rule": "size"}             1 <= n
    {"rule": "log"}              1 <= log2(w), or log2(log2(w)), ...
    {"rule": "log of size"}      1 <= 2/3*log2(n)
    {"rule": "exponential"}      1 <= 1/2*2^n; with "fact": k, if fact k says n >= c, 1 <= 2^(-c)*2^n
    {"rule": "size below exponential"}    n^k <= (27/50*k)^k*2^n for k = 1, 2, ..., since 1/(e*ln(2)) < 27/50
    {"rule": "least"}            1 <= min(...), 1 <= max(...) of what is at least 1; 1 <= ceil(x) for a positive term x
    {"rule": "min"}              min(c*a, ...) <= c*a        {"rule": "max"}    c*a <= max(c*a, ...)
    {"rule": "floor"}            floor(c*a) <= c*a           {"rule": "ceil"}   c*a <= ceil(c*a)
    {"rule": "remainder"}        c*a % d*b <= c*a, c*a % d*b <= d*b;    in all four a, b are products of what is at
                                 least 1, and c, d positive constants
    {"rule": "log below size"}   log2(n) <= 8/5*n
    {"rule": "cache"}            L <= Z
    {"rule": "fact", "fact": k}  fact k (from 0) as small side <= large side, all terms brought to the side where they
                                 are positive, one term on the large side: each of the small side is at most that;
                                 `b divides n` is b <= n

**Bounds.** For every clause of f and every clause of g there is a BOUND whose `smallest_of` is a part of the one, and
whose `largest_of` is a part of the other:

    {"smallest_of": [MONOMIAL, ...], "largest_of": [MONOMIAL, ...], "proof": PROOF}

PROOF shows that the smallest of the ones is at most a constant times the largest of the others. It is either

    {"left": [[MONOMIAL, WEIGHT], ...], "right": [[MONOMIAL, WEIGHT], ...], "uses": [USE, ...]}

with weights (constants) >= 0 and of sum 1 on each side, such that in formal products of atoms

    product of left^weight = product of right^weight * product over uses of (small/large)^times,      each times >= 0,

or it is a distinction of cases of which at least one holds at every point,

    {"split": SPLIT, "cases": [{"assume": [{"small": MONOMIAL, "large": MONOMIAL}, ...], "proof": PROOF}, ...]}

USE is {"small": MONOMIAL, "large": MONOMIAL, "times": CONSTANT, "because": {...}} and says small <= C*large for some C:

    {"rule": "size"}                 1 <= n
    {"rule": "exponential"}          1 <= 2^n
    {"rule": "log"}                  1 <= log2(w); of these four a size n counts as the logarithm of w = 2^n
    {"rule": "cache"}                L <= Z
    {"rule": "fact", "fact": k}      fact k as small side <= large side, all terms brought to the side where they are
                                     positive: its small side bounded from below by one clause, its large side from
                                     above by one clause; `small` is in the one, `large` in the other. A fact joined by
                                     `and` says each of its parts, `==` both <= and >=, `b divides x` says b <= x for
                                     an x that is never 0, `x is power of b` says 1 <= x for b >= 1
    {"rule": "case", "depth": d}     an assumption of the case chosen in the split of depth d, 0 the outermost
    {"rule": "log below power", "power": e}    log2(w) <= C*w^e, e > 0, where `uses` shows 1 <= C*w
    {"rule": "log of bounded"}       log2(w) <= C, where `uses` shows w <= C
    {"rule": "order of logs", "power": k}      log2(v) <= C*log2(w), k >= 0, where `uses` shows v <= C*w^k

The last three have a further entry, `"uses": [USE, ...]`: as above, large/small of what they show is the product of
large/small to the power times over these.

SPLIT, and the assumptions of its cases in order:

    {"rule": "compare", "left": MONOMIAL, "right": MONOMIAL}    left <= right; right <= left
    {"rule": "fact", "fact": k}      a comparison of fact k with clauses on both sides as above, not one of each: in any
                                     order, for each clause of the small side and each of the large side, what they say
                                     up to constants (all pairs but those that hold at every point)
    {"rule": "log of quotient, above", "log": A}    A = log2(P/N), P a product of positive powers of atoms p, N of
                                     atoms q: for each p, A <= log2(p)
    {"rule": "log of quotient, below", "log": A, "of": B}    A as before, B = log2(p): B <= A; for each q, B <= log2(q)

A counterexample shows that f is not O(g). It is {"kind": "point", "at": {NAME: TEXT}, "f": NUMBER, "g": NUMBER} with
f > 0 >= g at that point, or {"kind": "curve", "curve": {NAME: TEXT}, "ratio": TEXT, "samples": [SAMPLE, ...]}: the
sizes as functions of T, along which f/g grows as `ratio` does, which passes every constant, and sizes on the curve with
the values there, {"at": {NAME: TEXT}, "f": NUMBER, "g": NUMBER, "ratio": NUMBER}, to a few digits. Where facts ask for
powers of 2 or divisors, sizes on the curve are such for T = 2^(2^i) and infinitely many i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from archline.algebra.asymptotic import normal_form as e
from archline.algebra.asymptotic.bounds import DifferenceStep
from archline.algebra.asymptotic.direction_lp import Inequality, Product, Proof
from archline.algebra.asymptotic.dominance_differences import DominanceBound, Share
from archline.algebra.asymptotic.prove import Tree
from archline.algebra.asymptotic.tropical import Monomial
from archline.language import syntax as s
from archline.language.format_expressions import format_expression, format_fact

FORMAT = 1
Data = dict[str, object]


def document(
    f: s.Expr, g: s.Expr, facts: Sequence[s.Fact], trees: Sequence[Tree], steps: Mapping[str, DifferenceStep]
) -> Data:
    """The certificate of a proof."""
    bounds: list[Data] = []
    for tree in trees:
        bound = _bound(tree)
        if bound not in bounds:
            bounds.append(bound)
    return {
        "format": FORMAT,
        "f": format_expression(f),
        "g": format_expression(g),
        "facts": [format_fact(fact) for fact in facts],
        "differences": [_difference(step) for step in steps.values()],
        "bounds": bounds,
    }


def _bound(tree: Tree) -> Data:
    left: dict[Monomial, None] = {}
    right: dict[Monomial, None] = {}
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Proof):
            left.update((each, None) for each, _ in part.left)
            right.update((each, None) for each, _ in part.right)
        else:
            waiting.extend(case.proof for case in part.cases)
    return {
        "smallest_of": [each.document() for each in sorted(left, key=str)],
        "largest_of": [each.document() for each in sorted(right, key=str)],
        "proof": _proof(tree),
    }


def _proof(tree: Tree) -> Data:
    if isinstance(tree, Proof):
        return {
            "left": [[each.document(), str(weight)] for each, weight in tree.left],
            "right": [[each.document(), str(weight)] for each, weight in tree.right],
            "uses": _uses(tree.uses),
        }
    cases = [{"assume": [_sides(each) for each in case.assumed], "proof": _proof(case.proof)} for case in tree.cases]
    return {"split": dict(tree.document), "cases": cases}


def _sides(inequality: Inequality) -> Data:
    return {"small": inequality.small.document(), "large": inequality.large.document()}


def _uses(product: Product) -> list[Data]:
    return [_use(inequality, str(times)) for inequality, times in product]


def _use(inequality: Inequality, times: str) -> Data:
    own = {**_sides(inequality), "times": times, "because": dict(inequality.because)}
    if inequality.because["rule"] in ("log below power", "log of bounded", "order of logs"):
        own["uses"] = _uses(inequality.uses)
    return own


def _difference(step: DifferenceStep) -> Data:
    found: Data = {"of": step.of, "keeps": [_term(term) for term in step.left]}
    if step.share is None:
        return {**found, "covers": [_cover(share) for share in step.shares]}
    # Terms are sets: their order would change from run to run.
    least = sorted((_exact(bound) for bound in step.least), key=str)
    return {**found, "share": str(step.share), "least": least}


def _term(term: e.Term) -> dict[str, str]:
    return {factor.key: str(power) for factor, power in sorted(term, key=lambda pair: pair[0].key)}


def _cover(share: Share) -> Data:
    return {
        "term": _term(share.term),
        "amount": str(share.amount),
        "into": _term(share.into),
        "factor": str(share.factor),
        "uses": [{**_exact(bound), "times": str(times)} for bound, times in share.uses],
    }


def _exact(bound: DominanceBound) -> Data:
    sides = {"small": _term(bound.small), "large": _term(bound.large)}
    return {**sides, "factor": str(bound.factor), "because": dict(bound.because)}
