"""What every test may count on, whatever the terminal and the shell it is started from."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import Phase, settings

from archline.api import result_cache
from archline.cli.main import call_in_large_stack_chunk, reduce_garbage_collection
from effort import EFFORT, drawn
from shared import share

# A test run judges the change that is made, so it draws the same examples each time; `explore` draws others.
# Releases that also draw constants found in the source under test would draw others with each edit anywhere.
with suppress(ImportError, AttributeError):
    from hypothesis.internal.conjecture import providers

    providers._get_local_constants = providers.Constants
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=drawn(100))
settings.register_profile("explore", settings.get_profile("steady"), derandomize=False, print_blob=True)
# Whether a test fails is asked many thousand times in mutation testing, and the smallest example never.
settings.register_profile("unshrunk", settings.get_profile("steady"), phases=(Phase.explicit, Phase.generate))
settings.load_profile("steady")
# Tests start many processes; where the environment says that no bytecode is written, each would compile all it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# What tests share are a million objects and more: to look through them took an eighth of the time.
reduce_garbage_collection()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--refresh-golden` records what is derived now."""
    parser.addoption("--refresh-golden", action="store_true", help="record the derived costs of the standard library")


def pytest_configure(config: pytest.Config) -> None:
    """Name the markers that efforts go by; what is left out is counted as deselected."""
    config.addinivalue_line("markers", "long: takes long; left out by quick runs")
    config.addinivalue_line("markers", "sample: of what longer tiers try in full; left out where these run")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, or samples of it, by the effort, where no test is asked for by name."""
    if any("::" in each for each in config.args) or config.getoption("--refresh-golden"):
        return
    out = [each for each in items if each.get_closest_marker("long" if EFFORT == "quick" else "sample")]
    config.hook.pytest_deselected(items=out)
    items[:] = [each for each in items if each not in set(out)]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run a test as commands run, where calls do not go to the system for memory."""
    function = pyfuncitem.obj
    pyfuncitem.obj = partial(call_in_large_stack_chunk, function)
    try:
        return (yield)
    finally:
        pyfuncitem.obj = function


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are laid out for a hundred columns, without colour: their lines break where the tests expect.

    No answer depends on how fast the machine is.
    """
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("ARCHLINE_TIME_LIMIT", "0")


@pytest.fixture(autouse=True)
def nothing_kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands compute in this process, whatever a test plants there; the tests of the cache read and write theirs."""
    if request.path.stem != "test_result_cache":
        monkeypatch.setattr(result_cache, "find", lambda asked: None)
        monkeypatch.setattr(result_cache, "store", lambda asked, read, found: None)
        share(monkeypatch)
