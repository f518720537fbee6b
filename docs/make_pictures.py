"""Make the pictures of the documentation, in docs/pictures.

    python docs/make_pictures.py [NAME...]        # such as report-lu-dark.png; without a name: all

Pages are shown by Chromium, and drawings need the extra `plots`. Bytes differ between releases of both, so no test
compares them; one checks that pages show only pictures that exist, and that the commands below are understood.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
LU = "archline report dense.lu::lu --at n=1000"
WIDTH = 1000
SCHEMES = {"dark": 0, "light": 1}
"""Chromium's numbers of the colour schemes that a page can ask for."""


@dataclass(frozen=True)
class Screenshot:
    """The top of the page that a command writes, as high as `height`, in one colour scheme."""

    command: str
    height: int
    scheme: str = "light"


SCREENSHOTS: Mapping[str, Screenshot] = {
    "report-lu-light.png": Screenshot(LU, 1210),
    "report-lu-dark.png": Screenshot(LU, 1210, "dark"),
    "report-matmul.png": Screenshot(
        "archline report dense.matmul::matmul_basic dense.matmul::matmul_blocked --at n=1024,m=1024,p=1024,b=64"
        " --machine i7-950",
        1060,
    ),
    "check-fails.png": Screenshot(
        "archline check examples/broken_promise.algo examples/distances.algo --format html", 330
    ),
}
DRAWINGS: Mapping[str, str] = {
    "io-lu.svg": "archline plot dense.lu::lu --at n=64 --cache L=8",
    "roofline-levels.svg": "archline plot dense.matmul::matmul_blocked --kind roofline --machine mi250x-gcd"
    " --at n=1024,m=1024,p=1024,b=64",
}


def list_words(command: str) -> list[str]:
    """Return the words of a command after `archline`."""
    return command.split()[1:]


def main(names: Sequence[str]) -> int:
    """Make the pictures of these names, or all; return the exit status."""
    unknown = [name for name in names if name not in SCREENSHOTS and name not in DRAWINGS]
    if unknown:
        print(f"no such pictures: {', '.join(unknown)}; there are {', '.join([*SCREENSHOTS, *DRAWINGS])}")
        return 2
    FOLDER.mkdir(exist_ok=True)
    for name in names or [*SCREENSHOTS, *DRAWINGS]:
        if name in DRAWINGS:
            run_archline([*list_words(DRAWINGS[name]), "--out", str(FOLDER / name)])
        else:
            take_screenshot(SCREENSHOTS[name], FOLDER / name)
        print(f"{name}: {(FOLDER / name).stat().st_size} bytes")
    return 0


def run_archline(words: Sequence[str]) -> str:
    """Run a command from the top of the checkout, and return what it prints; a check that fails is shown too."""
    ran = subprocess.run(
        [sys.executable, "-m", "archline", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if ran.returncode > 1:
        raise SystemExit(ran.stderr)
    return ran.stdout


def take_screenshot(shown: Screenshot, target: Path) -> None:
    """Write the page of a command to a file, and what Chromium shows of it to the target."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Chromium is not installed: it shows the pages")
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(run_archline(list_words(shown.command)), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=3000"]
        options += [f"--blink-settings=preferredColorScheme={SCHEMES[shown.scheme]}"]
        options += [f"--window-size={WIDTH},{shown.height}", f"--user-data-dir={folder}/profile"]
        command = [chromium, *options, f"--screenshot={target}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=600)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
