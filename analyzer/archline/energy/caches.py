"""Find the cache that io depends on: as given, as Z and L among sizes, or assumed; and hold the settings of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from archline.costs import rules
from archline.costs.sizes import diagnose_small_cache, read_settings
from archline.energy.quantities import LEVELS
from archline.execution.results import TIMEOUT, Cache
from archline.language.diagnostics import ArchlineError, error, suggest_closest
from archline.language.syntax_rules import UNEXPECTED
from archline.records import record, replace

if TYPE_CHECKING:
    from collections.abc import Collection, Container
    from pathlib import Path

    from archline.costs.sizes import Point
    from archline.energy.machines import Machine
    from archline.execution.cache import Schedule

DEFAULT_CACHE = Cache(Z=32768, L=8)
"""256 KiB of 8-byte words in lines of 64 bytes: assumed if io is needed and no cache is given."""


CACHE_QUANTITIES = frozenset(
    ("fast_memory", "line", *(f"{level}_{name}" for level in LEVELS for name in ("capacity", "line")))
)
"""The quantities of a machine that define its caches."""


def select_machine_cache(machine: Machine) -> Cache | None:
    """Return the fast memory of a machine as a cache, else a cache of its last level; None if sizes are missing."""
    fast_cache = _make_cache(machine, "fast_memory", "line")
    return fast_cache or next((cache for _, cache in reversed(list_level_caches(machine))), None)


def list_level_caches(machine: Machine) -> tuple[tuple[str, Cache], ...]:
    """Return the name and the cache of each level of a machine that has a capacity, a line and a word."""
    caches = ((level, _make_cache(machine, f"{level}_capacity", f"{level}_line")) for level in LEVELS)
    return tuple((level, cache) for level, cache in caches if cache is not None)


def _make_cache(machine: Machine, capacity: str, line_name: str) -> Cache | None:
    values = machine.values
    words, line, word = values.get(capacity, 0), values.get(line_name, values.get("line", 0)), values.get("word", 0)
    if not word or line < word or words < line:
        return None
    return Cache(int(words // word), int(line // word))


def make_levels_error(machine: Machine, what: str) -> ArchlineError:
    """Return the error (AL408) for a given cache, described by `what`, where the model uses the machine's own."""
    level, _ = list_level_caches(machine)[-1]
    hint = f"--parameter {level}_capacity=... changes a level"
    return error(rules.WRONG_CACHE, f"{what}, but the caches are those of the levels of `{machine.name}`", hint=hint)


def read_cache_words(text: str) -> dict[str, int]:
    """Parse the value of `--cache`, such as `Z=32768,L=8`, to Z and L in words. Raises ArchlineError (AL408)."""
    try:
        given = read_settings(text, "--cache")
    except ArchlineError as problem:
        hint = "write --cache Z=32768,L=8: the words of fast memory and of a line"
        problems = [replace(item, hint=hint) if item.rule is UNEXPECTED else item for item in problem.diagnostics]
        raise ArchlineError(problems) from None
    words: dict[str, int] = {}
    for name, (value, span) in given.items():
        if name not in ("Z", "L"):
            hint = suggest_closest(name.upper(), ("Z", "L")) or "write --cache Z=32768,L=8"
            raise error(rules.WRONG_CACHE, f"a cache has Z and L, but no `{name}`", span=span, hint=hint)
        if not isinstance(value, int) or value < 1:
            hint = f"write words, not bytes, such as {name}={getattr(DEFAULT_CACHE, name)}"
            raise error(rules.WRONG_CACHE, f"`{name}` must be a positive whole number of words", span=span, hint=hint)
        words[name] = value
    missing = [name for name in ("Z", "L") if name not in words]
    if missing:
        hint = "write both: --cache Z=32768,L=8"
        raise error(rules.WRONG_CACHE, f"no value is given for `{missing[0]}`", hint=hint)
    if words["Z"] < words["L"]:
        raise ArchlineError([diagnose_small_cache(words["Z"], words["L"])])
    return words


def read_given_cache(cache: Cache | str | None) -> Cache | None:
    """Convert text such as `Z=32768,L=8` to a cache; return a cache or None unchanged. Raises ArchlineError (AL408)."""
    if isinstance(cache, str):
        words = read_cache_words(cache)
        return Cache(words["Z"], words["L"])
    if cache is not None and not isinstance(cache, Cache):
        hint = 'write cache="Z=32768,L=8", or al.Cache(Z=32768, L=8)'
        raise error(rules.WRONG_CACHE, f"`{cache!r}` is not a cache", hint=hint)
    return cache


def select_cache_at_point(point: Point, cache: Cache | None, chosen: bool) -> tuple[Cache | None, bool]:
    """Return the cache that Z and L among the sizes of a point define, and True; without these `cache` and `chosen`.

    `chosen` says whether the user gave `cache`. Raises ArchlineError (AL408) if only one of Z and L is given, or if the
    user gave a cache too.
    """
    words = {name: int(point[name]) for name in ("Z", "L") if name in point}
    if not words:
        return cache, chosen
    if chosen and cache is not None:
        names = " and ".join(words)
        hint = f"leave out --cache, or {names}"
        raise error(rules.WRONG_CACHE, f"the cache is given by --cache and by {names} too", hint=hint)
    missing = [name for name in ("Z", "L") if name not in words]
    if missing:
        raise error(rules.WRONG_CACHE, f"no value is given for `{missing[0]}`", hint="give both: Z=32768,L=8")
    return Cache(words["Z"], words["L"], "optimal" if cache is None else cache.policy), True


@record
class Processors:
    """A number of processors, each with a private cache, and their schedule, which is `described` in words."""

    count: int
    schedule: Schedule
    described: str


@record
class Settings:
    """The settings of derivations and runs: the cache, the execution and its data.

    `cache` is as given, the machine's (`of_machine`) or the default. `levels` are the caches of the machine's levels,
    for models that use these; `cache` is then that of the last level. `option` is the option that gave the sizes.
    `engine`, `timeout` and `seconds` are parameters of `execute`. With `processors` a run is simulated on private
    caches. With a `machine` the longest paths through a grid have times; `path` is a metric of paths, or "time", whose
    longest path is recorded step by step.
    """

    cache: Cache = DEFAULT_CACHE
    chosen_cache: bool = False
    measured: bool = False
    procs: int | None = None
    seed: int = 0
    matrix: Path | None = None
    block: int | None = None
    compiled: bool | None = None
    option: str = ""
    of_machine: bool = False
    levels: tuple[tuple[str, Cache], ...] = ()
    processors: Processors | None = None
    engine: str = "simulated"
    timeout: float = TIMEOUT
    machine: Machine | None = None
    path: str | None = None
    seconds: float | None = None

    def takes_levels(self, at: Container[str]) -> bool:
        """Whether the caches may be those of a machine's levels, since no other cache is given."""
        return not (self.chosen_cache or "Z" in at or "L" in at)

    def with_machine_caches(self, machine: Machine, levels: Collection[str] = ()) -> Settings:
        """Return settings with the machine's cache, or with its caches of `levels`, unless the user chose a cache.

        Raises ArchlineError (AL408) if the user chose a cache and there are levels.
        """
        if levels and self.chosen_cache:
            raise make_levels_error(machine, "`--cache` is given")
        policy = self.cache.policy
        caches = tuple(
            (name, replace(cache, policy=policy)) for name, cache in list_level_caches(machine) if name in levels
        )
        machine_cache = caches[-1][1] if caches else None if self.chosen_cache else select_machine_cache(machine)
        if machine_cache is None:
            return self
        return replace(self, cache=replace(machine_cache, policy=policy), of_machine=True, levels=caches)

    @staticmethod
    def from_python(cache: Cache | str | None, **more: Any) -> Settings:
        """Read the options of a Python function, whose cache may be a text. Raises ArchlineError (AL408)."""
        chosen = read_given_cache(cache)
        return Settings(chosen or DEFAULT_CACHE, chosen is not None, **more)

    @property
    def runs(self) -> bool:
        return self.measured or self.matrix is not None
