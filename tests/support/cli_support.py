"""The command line in a test: called in this process, or as a process of its own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from archline.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Result:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    def refused(self, *codes: str) -> bool:
        """Whether it is a clean refusal: exit code 2, nothing printed but a diagnostic of one of these rules."""
        known = any(f"{code}: " in self.err for code in codes)
        return self.code == 2 and not self.out and known and "Traceback" not in self.err


def cli(*arguments: str) -> Result:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    return Result(code, out.getvalue(), err.getvalue())


def process(*arguments: str, stdin: bytes = b"", cwd: Path = ROOT) -> Result:
    """Run a command as a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "archline", *arguments],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT / "analyzer")},
        timeout=600,
        check=False,
    )
    return Result(ran.returncode, ran.stdout.decode(), ran.stderr.decode())
