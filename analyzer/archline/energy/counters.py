"""Read the energy counters of this machine: RAPL from the powercap files of Linux, and NVML for NVIDIA GPUs."""

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
READING_INTERVAL = 60.0
"""Seconds between two readings during a run: a counter of 262 kJ wraps around in 14 minutes at 300 W."""


class Counter(Protocol):
    """A counter of joules."""

    def joules(self) -> float:
        """Return the joules since the counter was made."""


class Rapl:
    """The energy of the packages and the memory of this machine, from files of Linux that only root may read.

    A package contains its cores, and `psys` the packages, so that these are not added; memory (`dram`) is counted
    separately. Counters wrap around at `max_energy_range_uj`: they are read at least once before that.
    Raises ArchlineError (AL469) if no counter exists or may be read.
    """

    def __init__(self, folder: Path = POWERCAP) -> None:
        names = sorted(folder.glob("intel-rapl:*/name"))
        self._zones = [
            name.parent for name in names if name.read_text(encoding="ascii").startswith(("package", "dram"))
        ]
        if not self._zones:
            hint = "RAPL needs Linux on x86, and is mostly missing in virtual machines"
            raise error(rules.COUNTERS, f"there are no energy counters in `{folder}`", path=str(folder), hint=hint)
        self._lock = threading.Lock()
        self._last = {zone: _read_microjoules(zone / "energy_uj") for zone in self._zones}
        self._total = 0

    def joules(self) -> float:
        with self._lock:
            for zone in self._zones:
                now = _read_microjoules(zone / "energy_uj")
                if now < self._last[zone]:
                    # The counter wrapped around.
                    self._total += _read_microjoules(zone / "max_energy_range_uj") + 1
                self._total += now - self._last[zone]
                self._last[zone] = now
            return self._total / 1e6


def _read_microjoules(file: Path) -> int:
    try:
        return int(file.read_text(encoding="ascii"))
    except PermissionError:
        hint = "run as root, or let root grant read access: chmod o+r on this file"
        raise error(rules.COUNTERS, f"only root may read `{file}`", path=str(file), hint=hint) from None
    except (OSError, ValueError) as problem:
        raise error(rules.COUNTERS, f"`{file}` cannot be read: {problem}", path=str(file)) from None


class Nvml:
    """The energy of an NVIDIA GPU, from Volta on, by the package `nvidia-ml-py`.

    Raises ArchlineError (AL469) if either is missing.
    """

    def __init__(self, index: int = 0) -> None:
        try:
            library: Any = import_module("pynvml")
            library.nvmlInit()
            device = library.nvmlDeviceGetHandleByIndex(index)
            self._millijoules = partial(library.nvmlDeviceGetTotalEnergyConsumption, device)
            self._start = self._millijoules()
        except Exception as problem:
            hint = "run `pip install nvidia-ml-py`; GPUs have the counter from Volta on"
            raise error(
                rules.COUNTERS, f"NVML does not report the energy of GPU {index}: {problem}", hint=hint
            ) from None

    def joules(self) -> float:
        return float(self._millijoules() - self._start) / 1e3


def measured(run: Callable[[], object], counter: Counter, interval: float = READING_INTERVAL) -> tuple[float, float]:
    """Return the seconds and joules of a call; the counter is read at least every `interval` seconds."""
    done = threading.Event()

    def read_periodically() -> None:
        # A counter that cannot be read now cannot be read at the end either, where the error is reported.
        with suppress(ArchlineError):
            while not done.wait(interval):
                counter.joules()

    thread = threading.Thread(target=read_periodically, daemon=True)
    thread.start()
    try:
        before, start = counter.joules(), time.perf_counter()
        run()
        return time.perf_counter() - start, counter.joules() - before
    finally:
        done.set()
        thread.join()
