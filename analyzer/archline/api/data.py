"""Runs on data that is made: generated for sizes, or read from a Matrix Market file."""

from __future__ import annotations

from pathlib import Path

from archline.api.algorithms import Algorithm
from archline.api.caches import cache_at
from archline.api.running import Processors, Run, run
from archline.api.settings import Given, Point
from archline.energy.machines import Machine
from archline.execution.data import bind_matrix, generate
from archline.execution.matrix_market import read_matrix
from archline.execution.results import TIMEOUT, Cache
from archline.report.view import MatrixView


def run_generated(
    algorithm: Algorithm,
    at: Given,
    *,
    option: str = "",
    cache: Cache | None,
    seed: int = 0,
    processors: Processors | None = None,
    chosen_cache: bool = True,
    compiled: bool | None = None,
    engine: str = "simulated",
    timeout: float = TIMEOUT,
    machine: Machine | None = None,
    path: str | None = None,
    levels: tuple[tuple[str, Cache], ...] = (),
) -> Run:
    """Run on data generated for sizes. Raises ArchlineError: AL401 to AL407 for wrong sizes, and as a run does."""
    report = algorithm.report()
    point = report.point(at, report.names.for_a_run, option)
    cache, chosen_cache = _cache(algorithm, point, cache, chosen_cache)
    sizes, symbols = split(algorithm, point)
    arguments = generate(*algorithm.executed, sizes, seed)
    return run(
        algorithm,
        {**arguments, **symbols},
        cache=cache,
        processors=processors,
        compiled=compiled,
        engine=engine,
        timeout=timeout,
        machine=machine,
        path=path,
        levels=levels,
        data=f"the data was generated (seed {seed})",
        chosen_cache=chosen_cache,
        _report=report,
    )


def run_matrix(
    algorithm: Algorithm,
    file: Path,
    at: Given,
    *,
    option: str = "",
    cache: Cache | None,
    block: int | None = None,
    seed: int = 0,
    processors: Processors | None = None,
    chosen_cache: bool = True,
    compiled: bool | None = None,
    engine: str = "simulated",
    timeout: float = TIMEOUT,
    machine: Machine | None = None,
    path: str | None = None,
    levels: tuple[tuple[str, Cache], ...] = (),
) -> Run:
    """Run a sparse kernel on a matrix file, other arrays generated; `at` gives the sizes the matrix does not.

    Raises ArchlineError for a file that is no matrix (AL420 to AL434), an algorithm that takes none, and as a run does.
    """
    report = algorithm.report()
    point = report.point(at, (), option)
    cache, chosen_cache = _cache(algorithm, point, cache, chosen_cache)
    sizes, symbols = split(algorithm, point)
    matrix = read_matrix(file)
    arguments = bind_matrix(*algorithm.executed, matrix, sizes, block=block, seed=seed)
    return run(
        algorithm,
        {**arguments, **symbols},
        cache=cache,
        processors=processors,
        compiled=compiled,
        engine=engine,
        timeout=timeout,
        machine=machine,
        path=path,
        levels=levels,
        data=f"the vectors were generated (seed {seed})",
        matrix=MatrixView(str(file), matrix.n, matrix.m, matrix.nz, matrix.nr, matrix.nc, block),
        chosen_cache=chosen_cache,
        _report=report,
    )


def _cache(algorithm: Algorithm, point: Point, cache: Cache | None, chosen: bool) -> tuple[Cache | None, bool]:
    """The cache of a run: on a grid there is none unless it is asked for."""
    if algorithm.node.grid and not chosen:
        cache = None
    return cache_at(point, cache, chosen)


def split(algorithm: Algorithm, point: Point) -> tuple[dict[str, int], Point]:
    """Sizes and indices of the algorithm, P on a grid; symbols of cost and of the machine."""
    own = {*algorithm.sizes, *algorithm.signature.indices, *(["P"] if algorithm.node.grid else [])}
    sizes = {name: int(value) for name, value in point.items() if name in own}
    return sizes, {name: value for name, value in point.items() if name not in own}
