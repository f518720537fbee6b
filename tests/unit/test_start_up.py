"""What a command loads: a process of its own for each, as users start it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from effort import long

ROOT = Path(__file__).resolve().parents[2]
# Modules that are bound and not used are of a class of their own until they are.
SCRIPT = """
import sys
from archline.cli.main import main
main({arguments})
loaded = {{name for name, module in list(sys.modules.items()) if type(module).__name__ != "UnloadedModule"}}
print("\\n".join(loaded), file=sys.stderr)
"""


def list_loaded(folder: Path, *arguments: str) -> set[str]:
    """Run a command in a process of its own, and list the modules that it has executed."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(arguments=list(arguments))],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "analyzer"), "XDG_CACHE_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.splitlines())


def test_importing_archline_loads_nothing_heavy() -> None:
    script = "import sys, archline, archline.cli.main; print(*sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(ROOT / "analyzer")}, capture_output=True, text=True
    ).stdout
    assert not {"lark", "sympy", "numpy", "numba", "flint"} & {*printed.split()}


@long
def test_a_cost_loads_no_execution_no_machines_and_no_search_of_recurrences(tmp_path: Path) -> None:
    list_loaded(tmp_path, "cost", "dense.gemv::gemv", "--no-cache")
    # The tables of the grammar have been made.
    loaded = list_loaded(tmp_path, "cost", "dense.gemv::gemv", "--no-cache")
    assert {"archline.analysis.cache.analyse", "archline.report.costs.page"} <= loaded
    unused = {"sympy", "numba", "numpy", "scipy", "highspy", "archline.execution.run", "archline.energy.machines"}
    unused |= {
        "lark",
        "archline.language.lark_parser",
        "archline.recurrences.exact.constraints",
        "archline.recurrences.exact.search",
        "archline.analysis.communication.derive",
    }
    assert not unused & loaded


def test_a_stored_page_loads_neither_numbers_nor_the_language(tmp_path: Path) -> None:
    first = list_loaded(tmp_path, "cost", "dense.gemv::gemv")
    second = list_loaded(tmp_path, "cost", "dense.gemv::gemv")
    unused = {"flint", "archline.growth.growths", "archline.language.parser"}
    assert unused <= first
    assert not (unused | {"tempfile"}) & second


def test_a_module_that_fails_to_load_fails_again_and_can_be_loaded_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text(
        "from archline.lazy_modules import load_on_use\nload_on_use(__name__)\n", "utf-8"
    )
    (tmp_path / "parts" / "one.py").write_text("FIRST = 1\nfrom missing_library import SECOND\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    from parts import one  # type: ignore[import-not-found]

    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="missing_library"):
            _ = one.SECOND
    (tmp_path / "missing_library.py").write_text("SECOND = 2\n", "utf-8")
    importlib.invalidate_caches()
    assert (one.FIRST, one.SECOND) == (1, 2)


def test_a_module_is_loaded_when_a_name_is_read_and_missing_names_are_errors() -> None:
    from archline import recurrences
    from archline.recurrences import model

    assert model.RecurrenceSystem.__module__ == "archline.recurrences.model"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = model.nothing  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = recurrences.nothing  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        from archline.recurrences import nothing  # noqa: F401
