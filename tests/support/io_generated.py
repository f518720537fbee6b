"""Generated programs of every kind as subjects of bounds on io."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from archline.language.loader import load_text
from box_programs import box_program_from_seed
from filling_programs import filling_program_from_seed, lower_program_from_seed, upper_program_from_seed
from io_points import Arguments, Sizes, Subject, arguments
from io_programs import (
    MARGIN,
    ArrayProgram,
    around_program_from_seed,
    array_program_from_seed,
    divided_program_from_seed,
    index_program_from_seed,
)
from nest_programs import MARGIN as LEAST
from nest_programs import (
    WHOLE,
    parity_program_from_seed,
    product_by_whole_tiles,
    remainder_program_from_seed,
    stencil_program_from_seed,
    stride_program_from_seed,
    tile_program_from_seed,
    time_tile_program_from_seed,
    triangle_program_from_seed,
)
from programs import program_from_seed
from programs.choice import Seeded
from recursive_programs import recursive_program_from_seed
from walk_programs import walk_program_from_seed


def loops(number: int) -> Subject:
    """The generated program of a seed, of loops."""
    program = program_from_seed(number)
    module = load_text(program.text)

    def draw(source: random.Random) -> Arguments:
        sizes = program.choose_sizes(Seeded(source.randrange(2**32)))
        return program.arguments(sizes, source.randrange(2**32))

    return Subject(f"loops {number}", module, module.algorithms[program.entry], program.text, draw)


def recursion(number: int) -> Subject:
    """The generated recursive program of a seed."""
    program = recursive_program_from_seed(number)
    module = load_text(program.text)

    def draw(source: random.Random) -> Arguments:
        return program.arguments(program.choose_sizes(Seeded(source.randrange(2**32))), source.randrange(2**32))

    return Subject(f"recursion {number}", module, module.algorithms[program.entry], program.text, draw)


def arrays(number: int) -> Subject:
    """The generated recursive program of a seed whose arrays are accessed."""
    return _of_arrays(f"arrays {number}", array_program_from_seed(number))


def walks(number: int) -> Subject:
    """The generated program of a seed in which the data moves integers along rows."""
    return _of_arrays(f"walks {number}", walk_program_from_seed(number))


def strides(number: int) -> Subject:
    """The generated program of a seed that steps through rows of 2^r entries by strides."""

    def sizes(source: random.Random) -> Sizes:
        return {"n": 1 << source.randint(4, 8), "m": source.randint(1, 16)}

    return _of_arrays(f"strides {number}", stride_program_from_seed(number), sizes)


def triangles(number: int) -> Subject:
    """The generated program of a seed that runs over triangles of matrices."""

    def sizes(source: random.Random) -> Sizes:
        return {"n": source.randint(1, source.choice((4, 9, 16)))}

    return _of_sizes(f"triangles {number}", triangle_program_from_seed(number), sizes)


def tiles(number: int) -> Subject:
    """The generated program of a seed that runs over tiles of matrices."""

    def sizes(source: random.Random) -> Sizes:
        steps = {name: source.choice((1, 2, 3, 4, 5, 8, 16)) for name in "bc"}
        return {"n": source.randint(1, source.choice((6, 17, 24))), **steps}

    return _of_sizes(f"tiles {number}", tile_program_from_seed(number), sizes)


def whole_tiles(number: int) -> Subject:
    """A product of matrices by tiles none of which is cut short, written in the way of a seed."""
    source = random.Random(number)
    inner = "".join(source.sample("ijq", 3))
    layouts = tuple(source.choice(("", "", " colmajor")) for _ in "ABC")
    program = product_by_whole_tiles(sorted(WHOLE)[number % len(WHOLE)], inner, layouts)

    def sizes(source: random.Random) -> Sizes:
        b, k = source.choice((1, 2, 3, 4, 5, 8)), source.randint(1, 4)
        return {"n": k * b, "b": b, "k": k}

    return _of_sizes(f"whole tiles {number}", program, sizes)


def indices(number: int) -> Subject:
    """The generated recursion by indices of a seed."""
    program = index_program_from_seed(number)

    def sizes(source: random.Random) -> Sizes:
        square = "A" in program.shapes
        return {"n": source.randint(4, 24) if square else 2 * MARGIN + source.randint(1, source.choice((9, 40, 120)))}

    return _of_arrays(f"indices {number}", program, sizes)


def time_tiles(number: int) -> Subject:
    """The generated sweep of a seed over a line in time, by tiles, skewed or in blocks."""

    def sizes(source: random.Random) -> Sizes:
        return {
            "n": source.randint(3, 20),
            "T": source.randint(1, 5),
            "W": source.randint(2, 9),
            "B": source.randint(1, 4),
        }

    return _of_sizes(f"time tiles {number}", time_tile_program_from_seed(number), sizes)


def remainders(number: int) -> Subject:
    """The generated program of a seed in which remainders decide."""
    program = remainder_program_from_seed(number)
    return _of_sizes(f"remainders {number}", program, lambda source: {"n": source.choice((1, 7, 12, 13))})


def fillings(number: int) -> Subject:
    """The generated recursion of a seed that touches all of a matrix or a triangle, or, each other time, all but a little."""
    generate = (filling_program_from_seed, lower_program_from_seed, upper_program_from_seed)[number % 3]
    return _of_arrays(f"fillings {number}", generate(number // 3, number // 3 % 2 == 1), None, (1, 4, 9, 14))


def split_boxes(number: int) -> Subject:
    """The generated recursion of a seed on parts of a box of iterations, disjoint ones or, each other time, others."""
    flaw = ("", "again", "", "apart", "", "half")[number % 6]
    return _of_arrays(f"boxes {number}", box_program_from_seed(number // 2, flaw), None, (4, 14))


def divided(number: int) -> Subject:
    """The generated recursion of a seed whose data decides the sizes of calls."""
    return _of_arrays(f"divided {number}", divided_program_from_seed(number))


def around(number: int) -> Subject:
    """The generated program of a seed that calls a recursion in loops, of segments."""
    program = around_program_from_seed(number)
    return _drawn(f"around {number}", program, lambda source: source.choice((4, 20, 60)))


def stencils(number: int) -> Subject:
    """The generated program of a seed that sweeps over grids."""
    program = stencil_program_from_seed(number)
    few = len(program.sizes) > 2
    return _drawn(f"stencils {number}", program, lambda source: source.choice((3, 6) if few else (4, 9, 20)))


def parities(number: int) -> Subject:
    """The generated program of a seed whose rows begin at remainders of counters."""

    def sizes(source: random.Random) -> Sizes:
        most = source.choice((3, 9, 20))
        drawn = {name: source.randint(1, most) for name in ("n", "m")}
        return {"n": 2 * LEAST + drawn["n"], "m": 2 * LEAST + 7 + drawn["m"], "steps": source.randint(1, 3)}

    return _of_sizes(f"parities {number}", parity_program_from_seed(number), sizes)


def _drawn(name: str, program: ArrayProgram, most: Callable[[random.Random], int]) -> Subject:
    def sizes(source: random.Random) -> Sizes:
        largest = most(source)
        return {name: source.randint(1, largest) for name in program.sizes}

    return _of_sizes(name, program, sizes)


def _of_sizes(name: str, program: ArrayProgram, sizes: Callable[[random.Random], Sizes]) -> Subject:
    """A program whose arguments follow from sizes."""
    module = load_text(program.text)
    algorithm = module.algorithms["main"]
    return Subject(name, module, algorithm, program.text, lambda source: arguments(algorithm, sizes(source), source))


def _of_arrays(
    name: str,
    program: ArrayProgram,
    choose: Callable[[random.Random], Sizes] | None = None,
    largest: Sequence[int] = (),
) -> Subject:
    module = load_text(program.text)

    def any_sizes(source: random.Random) -> Sizes:
        most = source.choice(largest or ((4, 12, 40) if len(program.sizes) > 1 else (4, 20, 100)))
        return {name: source.randint(1, most) for name in program.sizes}

    def draw(source: random.Random) -> Arguments:
        sizes = (choose or any_sizes)(source)
        data = np.random.default_rng(source.randrange(2**32))
        return {
            name: data.uniform(0.1, 1.0, tuple(sizes[each] for each in shape)) for name, shape in program.shapes.items()
        }

    return Subject(name, module, module.algorithms["main"], program.text, draw)
