"""Energy counters of this machine: RAPL by the powercap files of Linux, and NVML for GPUs of NVIDIA."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from archline.energy import rules
from archline.language.diagnostics import ArchlineError, error

POWERCAP = Path("/sys/class/powercap")
INTERVAL = 60.0
"""Seconds between two readings while something runs: a counter of 262 kJ wraps around in 14 minutes at 300 W."""


class Counter(Protocol):
    """Something that counts joules."""

    def joules(self) -> float:
        """The energy since it was made."""


class Rapl:
    """The packages and memory of this machine, by files of Linux that root alone may read.

    A package contains its cores, and `psys` the packages, so that these are not added; memory (`dram`) is counted
    apart. Counters start again from 0 beyond `max_energy_range_uj`: they are read once at least in each such round.
    Raises ArchlineError (AL469) where there are none, or none that may be read.
    """

    def __init__(self, folder: Path = POWERCAP) -> None:
        names = sorted(folder.glob("intel-rapl:*/name"))
        self._zones = [
            each.parent for each in names if each.read_text(encoding="ascii").startswith(("package", "dram"))
        ]
        if not self._zones:
            hint = "RAPL is for x86 on Linux; in a virtual machine there is mostly none"
            raise error(rules.COUNTERS, f"there are no energy counters in `{folder}`", path=str(folder), hint=hint)
        self._lock = threading.Lock()
        self._last = {each: _microjoules(each / "energy_uj") for each in self._zones}
        self._total = 0

    def joules(self) -> float:
        """The energy since it was made."""
        with self._lock:
            for zone in self._zones:
                now = _microjoules(zone / "energy_uj")
                if now < self._last[zone]:
                    # The counter went through its largest value and 0.
                    self._total += _microjoules(zone / "max_energy_range_uj") + 1
                self._total += now - self._last[zone]
                self._last[zone] = now
            return self._total / 1e6


def _microjoules(file: Path) -> int:
    try:
        return int(file.read_text(encoding="ascii"))
    except PermissionError:
        hint = "run as root, or let root give the permission: chmod o+r on this file"
        raise error(rules.COUNTERS, f"`{file}` may be read by root alone", path=str(file), hint=hint) from None
    except (OSError, ValueError) as problem:
        raise error(rules.COUNTERS, f"`{file}` cannot be read: {problem}", path=str(file)) from None


class Nvml:
    """A GPU of NVIDIA, from Volta on, by the package `nvidia-ml-py`. Raises ArchlineError (AL469) without either."""

    def __init__(self, index: int = 0) -> None:
        try:
            library: Any = import_module("pynvml")
            library.nvmlInit()
            device = library.nvmlDeviceGetHandleByIndex(index)
            self._millijoules = partial(library.nvmlDeviceGetTotalEnergyConsumption, device)
            self._start = self._millijoules()
        except Exception as problem:
            hint = "`pip install nvidia-ml-py`; the counter is that of Volta and later"
            raise error(rules.COUNTERS, f"NVML gives no energy of GPU {index}: {problem}", hint=hint) from None

    def joules(self) -> float:
        """The energy since it was made."""
        return float(self._millijoules() - self._start) / 1e3


def measured(run: Callable[[], object], counter: Counter, interval: float = INTERVAL) -> tuple[float, float]:
    """The seconds and joules of a call; the counter is read at least every so many seconds."""
    done = threading.Event()

    def watch() -> None:
        # What cannot be read now cannot be read at the end either, where it is said.
        with suppress(ArchlineError):
            while not done.wait(interval):
                counter.joules()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        before, start = counter.joules(), time.perf_counter()
        run()
        return time.perf_counter() - start, counter.joules() - before
    finally:
        done.set()
        thread.join()
