"""Loop bounds: affine ones mostly, over sizes or over an outer index, each with the domain its variable stays in."""

from __future__ import annotations

from dataclasses import dataclass

from programs.extents import Extent
from programs.scope import TYPICAL, Context, Index, Scope


@dataclass(frozen=True)
class Bounds:
    """The text after `in`; 0 <= variable < domain; about how many iterations; what they depend on.

    `full`: each value of the domain once. `moves`: outer indices and whether the count grows ("up") or falls
    ("down") with them, or neither.
    """

    text: str
    domain: Extent
    trips: int
    full: bool = False
    moves: tuple[tuple[str, str], ...] = ()
    features: tuple[str, ...] = ()
    irregular: bool = False


def choose_bounds(ctx: Context, scope: Scope, *, parallel: bool) -> Bounds | None:
    """Bounds that fit the budget, or None."""
    outer = [index for index in scope.indices if index.domain is not None and index.name not in scope.sealed]
    if parallel:
        # The span of a parallel loop has a log of its count: over serial outer indices that sums to no polynomial.
        outer = [index for index in outer if index.parallel or ctx.choose.chance(2)]
    options: list[tuple[int, Bounds]]
    if outer and ctx.wants("triangular") and ctx.choose.chance(75):
        options = _triangular(ctx, outer)
    else:
        options = _rectangular(ctx, scope)
        if not parallel:
            options += _unusual(ctx, scope)
    options = [each for each in options if ctx.wants("strided") or "strided" not in each[1].features]
    options = [each for each in options if each[1].trips * scope.weight <= ctx.budget]
    if not options:
        return None
    return ctx.choose.weighted(options)


def commit(ctx: Context, scope: Scope, found: Bounds, *, parallel: bool) -> None:
    """Note what a loop with these bounds, in this scope, means for the program."""
    ctx.features.update(found.features)
    if found.irregular:
        ctx.irregular.add("bounds that are not affine")
    for name, direction in found.moves:
        ctx.depend(name, direction)
        if parallel and not next(index.parallel for index in scope.indices if index.name == name):
            ctx.irregular.add("parallel loop whose count depends on a serial index")


def typical(extent: Extent) -> int:
    """About how large an extent is in a run."""
    return extent.value({name: 9 if name.startswith("nz") else TYPICAL for name in extent.names})


def _rectangular(ctx: Context, scope: Scope) -> list[tuple[int, Bounds]]:
    extent = ctx.choose.pick(scope.extents)
    e, trips = extent.text, typical(extent)
    last = "n-1" if e == "n" else f"{e} - 1"
    polynomial = ("polynomial",) if any(len(names) > 1 for names, _ in extent.terms) else ()
    plain = Bounds(f"0..{e}", extent, trips, full=True, features=polynomial)

    def bounds(text: str, share: int, *features: str) -> Bounds:
        return Bounds(text, extent, max(1, trips // share), features=features + polynomial)

    strides = [bounds(f"0..{e} step {step}", step, "strided") for step in (2, 3, 4)]
    strides += [bounds(f"1..{e} step 2", 2, "strided"), bounds(f"{last} downto 0 step 2", 2, "strided", "downto")]
    down = Bounds(f"{last} downto 0", extent, trips, full=True, features=("downto", *polynomial))
    return [
        (20, plain),
        (4, bounds(f"1..{e}", 1)),
        *((4, each) for each in strides),
        (6, down),
        (1, bounds(f"{last} downto 1", 1, "downto")),
    ]


def _unusual(ctx: Context, scope: Scope) -> list[tuple[int, Bounds]]:
    extent = ctx.choose.pick(scope.extents)
    other = ctx.choose.pick(scope.extents)
    e, trips = extent.text, typical(extent)
    options = [
        (2, Bounds(f"0..{extent.atom}//2", extent, max(1, trips // 2), features=("floor",))),
        (2, Bounds(f"{extent.atom}//2..{e}", extent, trips, features=("floor",))),
        (2, Bounds(f"0..{extent.atom} % 3", extent, 2, features=("floor",))),
        (1, Bounds(f"0..ceil({extent.atom}/2)", extent, max(1, trips // 2), features=("rounded",))),
        (1, Bounds(f"floor({extent.atom}/3)..{e}", extent, trips, features=("rounded",))),
        (1, Bounds(f"0..floor(sqrt({e}))", extent, 3, features=("rounded",))),
        (1, Bounds(f"0..ceil(log2({e} + 1))", extent, 4, features=("rounded",))),
        (1, Bounds(f"{e}..{e}", extent, 1, features=("empty_range",))),
        (1, Bounds(f"{e}..0", extent, 1, features=("empty_range",))),
        (1, Bounds("3..1", extent, 1, features=("empty_range",))),
        (1, Bounds(f"2..{e} - 1", extent, trips, features=("empty_range",))),
        (2, Bounds("0..3", Extent.constant(3), 3, full=True)),
    ]
    if other != extent:
        least, most = min(trips, typical(other)), max(trips, typical(other))
        options += [
            (2, Bounds(f"0..min({e}, {other.text})", extent, least, features=("min_max",))),
            (1, Bounds(f"0..max({e}, {other.text})", extent + other, most, features=("min_max",))),
            (1, Bounds(f"{other.text}..{e}", extent, trips, features=("empty_range",))),
        ]
    options += [(6, Bounds(f"0..log2({n})", Extent.size(n), 2, features=("log2",))) for n in sorted(scope.powers)]
    for divisor, n in scope.divisors:
        options.append((6, Bounds(f"0..{n}/{divisor}", Extent.size(n), 3, features=("divides",))))
        stepped = Bounds(f"0..{n} step {divisor}", Extent.size(n), 3, features=("divides", "strided"))
        options.append((6, stepped))
    return options


def _triangular(ctx: Context, outer: list[Index]) -> list[tuple[int, Bounds]]:
    index = ctx.choose.pick(outer[::-1])
    domain = index.domain
    i, d, half = index.name, domain.text, max(1, typical(domain) // 2)
    up, down, case = ((i, "up"),), ((i, "down"),), ((i, "case"),)

    def bounds(text: str, moves: tuple[tuple[str, str], ...], *features: str, trips: int = half) -> Bounds:
        return Bounds(text, domain, trips, moves=moves, features=("triangular", *features))

    options = [
        (10, bounds(f"0..{i}", up)),
        (10, bounds(f"{i}+1..{d}", down)),
        (5, bounds(f"{i}..{d}", down)),
        (5, bounds(f"0..{i}+1", up)),
        (3, bounds(f"{d} - 1 downto {i}", down, "downto")),
        (2, bounds(f"{d} - 1 downto {i} + 1", down, "downto")),
        (3, bounds(f"{i} - 1 downto 0", up, "downto")),
        (2, bounds(f"{i} downto 0", up, "downto")),
        (3, bounds(f"{i}+1..{d} step 2", down, "strided")),
        (2, bounds(f"{i}..{d} step 3", down, "strided")),
        (3, bounds(f"0..{i} step 2", up, "strided")),
        (2, bounds(f"{i}..min({i} + 2, {d})", down, "min_max", trips=2)),
        (1, bounds(f"max({i} - 1, 0)..min({i} + 2, {d})", case, "min_max", trips=3)),
        (2, bounds(f"{i}//2..{i}+1", up, "floor")),
        (1, bounds(f"{i} % 2..{d}", case, "floor")),
        (1, bounds(f"0..{i} % 3", case, "floor", trips=1)),
        (2, bounds(f"2*{i}..{d}", down)),
        (2, bounds(f"0..{domain.atom}-{i}", down)),
        (1, Bounds(f"{i}..2*{i} + 1", domain * 2, half, moves=up, features=("triangular",))),
        (1, bounds(f"{i}+2..{i}", (), "empty_range", trips=1)),
    ]
    if typical(domain) <= 12:
        square = Bounds(f"0..{i}^2", domain * domain, half * half, moves=up, features=("triangular", "polynomial"))
        options.append((2, square))
    for other in outer:
        if other is index or other.domain is None:
            continue
        moves = ((i, "case"), (other.name, "case"))
        options.append((2, bounds(f"{other.name}..{i}", moves)))
        options.append((1, bounds(f"{i} + {other.name}..{d}", moves)))
        if typical(domain) * typical(other.domain) <= 50:
            product = Bounds(
                f"0..{i}*{other.name}",
                domain * other.domain,
                half * 2,
                moves=moves,
                features=("triangular", "polynomial"),
            )
            options.append((1, product))
    return options
