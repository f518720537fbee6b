"""What the ICE paper prints about its two case studies, beside what archline derives and executes.

python examples/printed_and_derived.py

Vi Ngoc-Nha Tran, Phuong Hoai Ha, ICE: A General and Validated Energy Complexity Model for Multithreaded Algorithms,
ICPADS 2016, arXiv 1605.08222: sparse matrix-vector products by columns (CSC) and by compressed sparse blocks (CSB),
section 4, and dense products by the triple loop and cache-oblivious, section 5. Which printed forms and
sentences follow from the paper's own definitions is decided by the rows of papers/ice.toml: `archline papers ice`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache as once
from pathlib import Path
from textwrap import fill

import numpy as np
import sympy

import archline as al
from archline.compare.verdicts import OPEN, THIN, PointVerdict, judge_estimates
from archline.energy.estimates import Estimate, estimate_amounts
from archline.energy.models import find_model
from archline.execution.cache import optimal
from archline.execution.data import bind_matrix
from archline.execution.matrix_market import read_matrix
from archline.execution.run import execute
from archline.execution.sparse_matrix import SparseMatrix
from archline.expr.intervals import Interval

CHECKOUT = Path(__file__).resolve().parents[1]
MACHINES = ("xeon-e5-2650l-v3", "xeon-phi-31s1p")
LINE, LARGE, SMALL = 8, 3932160, 4096
"""Words of 8 bytes: a line of 64 bytes, a cache of 30 MiB (assumed: the paper gives no size), one of 32 KiB."""
CACHES = (512, 4096)


# Printed formulas (Table 5 for the sparse products, Table 6 for the dense ones; logarithms to base 2)
CSC_PRINTED = "ice:work=nz,span=nc+log2(n),io=nz"
CSB_PRINTED = "ice:work=n^2/b^2+nz,span=b*log2(n/b)+n/b,io=n^2/b^2+nz/B"
PRODUCT = "ice:work=2*n*m*p,span=2*n*m*p/N,io="
BASIC_PRINTED = PRODUCT + "(n*m+m*p+n*p)/B"
CO_PRINTED = PRODUCT + "n+m+p+(n*m+m*p+n*p)/B+n*m*p/(B*sqrt(z))"
BASIC_PROSE = PRODUCT + "(n*m+n*m*p+n*p)/B"  # section 5.1 in words: B is loaded once for each row of C


@dataclass(frozen=True)
class Shape:
    """A row of Table 7: an n by m matrix of nz entries, at most nc of them in a column."""

    name: str
    n: int
    m: int
    nz: int
    nc: int

    @property
    def b(self) -> int:
        """The side of a block: the power of 2 that is nearest to sqrt(n) in ratio."""
        side = 1
        while 2 * side * side < self.n:
            side *= 2
        return side

    @property
    def nb(self) -> int:
        """Blocks on a side, of the matrix made square."""
        return -(-max(self.n, self.m) // self.b)


TABLE_7 = tomllib.loads((CHECKOUT / "papers" / "ice.toml").read_text(encoding="utf-8"))["tables"]["matrices"]
SHAPES = tuple(Shape(name, **{size: int(value) for size, value in each.items()}) for name, each in TABLE_7.items())


@dataclass(frozen=True)
class Pair:
    """Two algorithms on one machine: their estimates, the ratio of the energies, and which takes less."""

    first: Estimate
    second: Estimate

    @property
    def verdict(self) -> PointVerdict:
        """What the bounds decide."""
        return judge_estimates(self.first, self.second, "energy")

    @property
    def ratio(self) -> Interval:
        """The first energy over the second."""
        assert self.verdict.ratio is not None
        return self.verdict.ratio

    def less(self, first: str, second: str) -> str:
        """The name of the one that takes less; `open` where the bounds do not decide."""
        return {"A": first, "B": second, None: OPEN}[self.verdict.less]


def estimate(
    target: str | al.Algorithm, machine: str, at: Mapping[str, int], cache: al.Cache | None = None
) -> Estimate:
    """The energy of an algorithm or of formulas at the sizes that it has."""
    found = al.energy(target, machine=machine, at=at, cache=cache).result.estimate
    assert found is not None
    return found


# 1: sparse products at the sizes of Table 7
def printed_sparse(shape: Shape, machine: str) -> Pair:
    """Equations (17) and (18)."""
    common = {"n": shape.n, "nz": shape.nz}
    return Pair(
        estimate(CSC_PRINTED, machine, {**common, "nc": shape.nc}),
        estimate(CSB_PRINTED, machine, {**common, "b": shape.b, "B": LINE}),
    )


def derived_sparse(shape: Shape, machine: str, words: int) -> Pair:
    """Bounds that hold for every matrix of the shape: of CSC with the cache, of CSB with any cache.

    Blocks may hold any number of entries: the bounds on CSB do not depend on it.
    """
    at = {"n": shape.n, "m": shape.m, "nz": shape.nz, "nc": shape.nc}
    csc = estimate(algorithm("sparse.csc::spmv_csc"), machine, at, al.Cache(Z=words, L=LINE))
    return Pair(csc, estimate_amounts(find_model("ice"), al.machine(machine), csb_bounds(shape)))


def packed(shape: Shape, machine: str, words: int) -> Pair:
    """The same with the two indices of an entry of CSB in one word, so with nz/L fewer lines at the least."""
    bounds = csb_bounds(shape)
    fewer = Interval(bounds["io"].lower - -(-shape.nz // LINE), bounds["io"].upper)
    csc = derived_sparse(shape, machine, words).first
    return Pair(csc, estimate_amounts(find_model("ice"), al.machine(machine), {**bounds, "io": fewer}))


@once
def csb_bounds(shape: Shape) -> dict[str, Interval]:
    """The derived bounds in sizes on work, span and io of CSB."""
    cost = algorithm("sparse.csb::spmv_csb").cost()
    sizes = {"nb": shape.nb, "b": shape.b, "nz": shape.nz, "L": LINE}

    def value(bound: sympy.Expr | None) -> Fraction:
        assert bound is not None
        found = bound.subs({each: sizes[each.name] for each in bound.free_symbols})
        return Fraction(int(found.p), int(found.q))

    return {each.name: Interval(value(each.lower), value(each.upper)) for each in (cost.work, cost.span, cost.io)}


@once
def algorithm(target: str) -> al.Algorithm:
    """An algorithm of the standard library; its costs are derived once."""
    return al.algorithm(target)


# 2: sparse products executed
MATRICES = CHECKOUT / "tests" / "data" / "matrices"


def matrices() -> Iterator[tuple[str, SparseMatrix, int]]:
    """Real matrices, and one whose entries are anywhere; each with the side of a block."""
    for path in sorted(MATRICES.glob("*.mtx*")):
        yield path.name.split(".")[0], read_matrix(path), 64
    n, each = 2048, 32
    cells = np.sort(np.random.default_rng(0).choice(n * n, size=n * each, replace=False))
    yield "random", SparseMatrix.from_triples(n, n, *np.divmod(cells, n), np.ones(n * each)), 32


@dataclass(frozen=True)
class Counted:
    """What a run counted; io for each size of the cache, under optimal replacement."""

    work: int
    span: int
    io: Mapping[int, int]

    def on(self, machine: str, words: int) -> Estimate:
        """The energy with a cache of that many words."""
        return estimate_amounts(
            find_model("ice"), al.machine(machine), {"work": self.work, "span": self.span, "io": self.io[words]}
        )


def executed_sparse(target: str, matrix: SparseMatrix, block: int | None, caches: Sequence[int]) -> Counted:
    """One run, and its trace under caches of several sizes."""
    chosen = algorithm(target).executed
    arguments = bind_matrix(*chosen, matrix, block=block)
    run = execute(*chosen, arguments, line=LINE, trace=True, races=False, compiled=False, progress=False)
    assert run.trace is not None
    io = {words: optimal(run.trace.lines, words // LINE).io for words in caches}
    return Counted(run.counts.work, run.counts.span, io)


# 3: dense products
def printed_dense(n: int, machine: str, basic: str = BASIC_PRINTED) -> Pair:
    """Equations (19) and (20) for square matrices on all cores; the square root is of words."""
    at = {"n": n, "m": n, "p": n, "B": LINE, "N": int(al.machine(machine).values["cores"])}
    return Pair(estimate(basic, machine, at), estimate(CO_PRINTED, machine, {**at, "z": LARGE}))


def prose_dense(n: int, machine: str) -> Pair:
    """The same with B loaded n times where it does not fit."""
    return printed_dense(n, machine, BASIC_PROSE if n * n > LARGE else BASIC_PRINTED)


def derived_dense(sizes: str = "n=m=p=1024..8192") -> al.Compared:
    """The comparison of bounds on both machines."""
    names = ("dense.matmul::matmul_basic", "dense.matmul::matmul_co")
    return al.compare(*names, machine=MACHINES, sweep=sizes, cache=al.Cache(Z=LARGE, L=LINE))


def executed_dense(target: str, n: int, words: int) -> Counted:
    """A run on generated data."""
    counts = algorithm(target).run(n=n, m=n, p=n, cache=al.Cache(Z=words, L=LINE), compiled=False).counts
    assert counts.io is not None
    return Counted(counts.work, counts.span, {words: counts.io})


# Text
def shown(ratio: Interval) -> str:
    """A ratio, or its bounds."""
    ends = [f"{float(each):.3g}" for each in (ratio.lower, ratio.upper)]
    return ends[0] if ends[0] == ends[1] else " .. ".join(ends)


def equation(found: Estimate) -> str:
    """The equation that (6) becomes."""
    return {"computation": "(12)", "memory": "(14)"}.get(found.binds, "(12) or (14)")


def row(text: str) -> None:
    """Print a row of a table."""
    print(f"  {text}")


def note(*paragraphs: str) -> None:
    """Print paragraphs after a blank line."""
    print()
    for each in paragraphs:
        print(fill(each, 98, initial_indent="  ", subsequent_indent="    "))


def sparse_at_sizes() -> None:
    """Section 1."""
    print("\n1  E_CSC/E_CSB at the sizes of Table 7: above 1, CSB takes less\n")
    row("                      printed        derived, Z = 30 MiB                          32 KiB")
    row("matrix             b  Xeon   Phi     Xeon             Phi              less       less")
    equations: set[str] = set()
    found: dict[str, list[str]] = {"large": [], "small": [], "packed": []}
    for shape in SHAPES:
        printed = [printed_sparse(shape, name) for name in MACHINES]
        large = [derived_sparse(shape, name, LARGE) for name in MACHINES]
        equations |= {equation(each) for pair in printed for each in (pair.first, pair.second)}
        least = {
            "large": [each.less("CSC", "CSB") for each in large],
            "small": [derived_sparse(shape, name, SMALL).less("CSC", "CSB") for name in MACHINES],
            "packed": [packed(shape, name, LARGE).less("CSC", "CSB") for name in MACHINES],
        }
        for name, which in least.items():
            found[name] += which
        row(
            f"{shape.name:<14} {shape.b:>5}  {shown(printed[0].ratio):<6} {shown(printed[1].ratio):<6}  "
            f"{shown(large[0].ratio):<16} {shown(large[1].ratio):<16} {both(least['large']):<10} {both(least['small'])}"
        )
    note(
        f"Printed: (17) and (18) with Table 5. By (6), {' and '.join(sorted(equations))} applies throughout, as in the "
        "paper. The io decides: nz lines for CSC, a line for each entry, and nz/B for CSB, one word for each entry; "
        "x, y and the indices of CSB are not charged, and of CSC it is not used that a line holds several entries.",
        f"Derived: CSC takes less for {times(found['large'])}, proved for every matrix of the shape. Where y fits in "
        "the cache CSC moves about 2 words an entry (row, value), CSB at least 3 (row, column, value). On rajat31, "
        "y has 4.7 million words and does not fit. With row and column of CSB in one word, CSC is proved to take less "
        f"for {times(found['packed'])}, and the others are open. At 32 KiB {found['small'].count(OPEN)} of "
        f"{len(found['small'])} are open: the io depends on where the entries are. The upper bounds on CSB are wide: "
        "106 operations and 21 lines an entry. Figures 5 and 6 have ratios above 1 in measurements too; these counts "
        "do not explain them.",
        "Assumed: b is the power of 2 nearest to sqrt(n), logarithms are to base 2, B = L = 8 words, CSB is padded to "
        "a square, a cache of 30 MiB (the paper gives no size).",
    )


def times(which: Sequence[str]) -> str:
    """On how many of the matrices CSC takes less, on each machine."""
    counts = [which[start::2].count("CSC") for start in range(2)]
    return f"{counts[0]} of 9 on the Xeon and {counts[1]} of 9 on the Phi"


def both(names: Sequence[str]) -> str:
    """The same on both machines, or each."""
    return names[0] if names[0] == names[1] else "/".join(names)


def sparse_executed() -> None:
    """Section 2."""
    print("\n2  E_CSC/E_CSB executed: work and lines as counted, L = 8 words, optimal replacement\n")
    row("                       work an entry  Z = 512: lines   E_CSC/E_CSB  Z = 4096: lines  E_CSC/E_CSB")
    row("matrix         nz   b     CSC    CSB     CSC     CSB   Xeon    Phi     CSC     CSB   Xeon    Phi")
    for name, matrix, b in matrices():
        csc = executed_sparse("sparse.csc::spmv_csc", matrix, None, CACHES)
        csb = executed_sparse("sparse.csb::spmv_csb", matrix, b, CACHES)
        text = f"{name:<10} {matrix.nz:>6} {b:>3}  {csc.work / matrix.nz:>6.1f} {csb.work / matrix.nz:>6.1f}"
        for words in CACHES:
            ratios = [float(Pair(csc.on(each, words), csb.on(each, words)).ratio.middle) for each in MACHINES]
            text += f" {csc.io[words]:>7} {csb.io[words]:>7} {ratios[0]:>6.3f} {ratios[1]:>6.3f}"
        row(text)
    note(
        "Real matrices: CSC takes less on all of them. What it reuses of y stays in the cache, and it moves fewer "
        "lines, chiefly by the third word of an entry that CSB stores. CSB also does more work: where a block holds "
        "more than b entries, its quadrants are found by binary search.",
        "Random matrix (2048 by 2048): at Z = 512 y does not fit and CSB moves fewer lines. On the Phi, where a line "
        f"costs as much as {round(balance(MACHINES[1]))} operations, it takes less energy; on the Xeon, where a line "
        f"costs as much as {round(balance(MACHINES[0]))}, its work outweighs that.",
    )


def dense() -> None:
    """Section 3."""
    print("\n3  E_basic/E_CO for n = m = p: above 1, the cache-oblivious product takes less; Z = 30 MiB\n")
    row("      printed           with section 5.1   derived")
    row("n     Xeon     Phi      Xeon   Phi         Xeon             Phi              less")
    found = derived_dense()
    for n, one, other in grouped(found):
        printed = [f"{float(printed_dense(n, name).ratio.middle):.5f}" for name in MACHINES]
        prose = [shown(prose_dense(n, name).ratio) for name in MACHINES]
        bounds = [shown(each.ratio) for each in (one, other) if each.ratio is not None]
        row(
            f"{n:<5} {printed[0]}  {printed[1]}  {prose[0]:<6} {prose[1]:<10}  {bounds[0]:<16} {bounds[1]:<16} "
            f"{both([named(each) for each in (one, other)])}"
        )
    changes = " and ".join(f"{each.start} to {each.end} on the {short(each.machine)}" for each in found.crossovers)
    large = prose_dense(8192, MACHINES[0])
    note(
        "Printed: (19) and (20). Table 6 gives both the same work and span, and the basic product fewer lines at "
        "every size, by n + m + p + n*m*p/(B*sqrt(Z)). So E_basic < E_CO: by these forms figures 7 and 8 do "
        "not hold, nor section 6.6 (`archline papers ice --place 'section 6.6'`).",
        "Section 5.1: where B does not fit it is loaded n times; what is printed for that, and what follows: `archline "
        "papers ice --place 'section 5.1'`. With n*m*p/B, E_basic > E_CO where B does not fit; by (6) "
        f"{equation(large.first)} applies to "
        f"the basic product (16 operations a line) and {equation(large.second)} to the other, where the paper takes "
        "(12) for both.",
        "Derived: at 1024 all matrices fit, both move 3*n^2/L lines, and the recursion adds 2 % of work in calls and "
        "short loops: basic takes less, thin. If eps_op multiplies flops, static energy decides, by the span, and CO "
        "takes less. When B no "
        "longer fits, the io of basic rises and CO takes less, as figures 7 and 8 show for the sizes that they have. "
        f"The lesser changes at n = {changes}; the paper gives no sizes in its text.",
    )
    print()
    row("Executed, n = m = p = 48    lines of basic            lines of CO         E_basic/E_CO")
    row("                         printed   5.1  executed   printed  executed    Xeon     Phi")
    for words in (1024, 4096):
        basic, co = (executed_dense(f"dense.matmul::matmul_{name}", 48, words) for name in ("basic", "co"))
        ratios = [shown(Pair(basic.on(each, words), co.on(each, words)).ratio) for each in MACHINES]
        fits = "B fits" if words >= 48**2 else "B does not fit"
        lines = [round(each) for each in printed_lines(48, words)]
        row(
            f"{f'Z = {words}, {fits}':<24} {lines[0]:>7} {lines[1]:>5} {basic.io[words]:>9} "
            f"{lines[2]:>9} {co.io[words]:>9}    {ratios[0]:<8} {ratios[1]}"
        )


def grouped(found: al.Compared) -> Iterator[tuple[int, PointVerdict, PointVerdict]]:
    """Each size with the verdicts on both machines."""
    points = iter(found.points)
    for one, other in zip(points, points, strict=True):
        yield int(one.at["n"]), one.verdict, other.verdict


def named(verdict: PointVerdict) -> str:
    """Which of the products takes less."""
    name = {"A": "basic", "B": "CO", None: OPEN}[verdict.less]
    return f"{name}, thin" if verdict.verdict == THIN else name


def printed_lines(n: int, words: int) -> tuple[float, float, float]:
    """The io of Table 6 for the basic product, that of section 5.1, and that of Table 6 for the cache-oblivious one."""
    flat = 3 * n**2 / LINE
    loads = n if n**2 > words else 1
    return flat, (2 + loads) * n**2 / LINE, 3 * n + flat + n**3 / (LINE * words**0.5)


def short(machine: str) -> str:
    """Xeon or Phi."""
    return "Phi" if "phi" in machine else "Xeon"


def balance(machine: str) -> Fraction:
    """How many operations cost as much as a line."""
    values = al.machine(machine).values
    return values["eps_io"] / values["eps_op"]


if __name__ == "__main__":
    print("The ICE paper's case studies: what it prints, and what archline derives and executes.")
    print("All energies by equation (6) with the parameters of Table 3; (6) becomes (12) or (14).")
    sparse_at_sizes()
    sparse_executed()
    dense()
