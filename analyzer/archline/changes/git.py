"""Programs of a revision, read from git's objects; the work tree is not touched."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from archline.language.diagnostics import Rule, error

NO_VERSION = Rule(
    "AL441",
    "unreadable version",
    """
    `archline diff` compares folders, files and revisions of git:

        archline diff old/kernels kernels
        archline diff v1.0 v1.1
        archline diff main...

    The last one compares the work tree with the last commit that HEAD and main have in common. Revisions are those of
    the repository around the current folder, read by the program `git`. A clone of a CI system often has the latest
    commit alone: in a workflow of GitHub, `fetch-depth: 0` under the step `actions/checkout` brings all of them, and
    `git fetch --unshallow` does so elsewhere.
    """,
)

SUFFIX = ".algo"
PLAIN_FILES = (b"100644", b"100755")


def programs(folder: Path, revision: str) -> dict[str, bytes]:
    """The programs below a folder at a revision, by their paths from there. Raises ArchlineError (AL441)."""
    prefix = _require(folder, "rev-parse", "--show-prefix").decode().removesuffix("\n")
    commit = _commit(folder, revision)
    found: dict[str, bytes] = {}
    for entry in _require(folder, "ls-tree", "-r", "-z", "--full-tree", commit, "--", prefix or ".").split(b"\0")[:-1]:
        about, _, name = entry.partition(b"\t")
        mode, _, digest = about.split(b" ")
        if name.endswith(SUFFIX.encode()) and mode in PLAIN_FILES:
            found[os.fsdecode(name).removeprefix(prefix)] = digest
    contents = _require(folder, "cat-file", "--batch", given=b"".join(each + b"\n" for each in found.values()))
    for path in found:
        header, _, rest = contents.partition(b"\n")
        size = int(header.split(b" ")[2])
        found[path], contents = rest[:size], rest[size + 1 :]
    return found


def present(folder: Path) -> list[str]:
    """The programs below a folder of the work tree, but for those that git ignores."""
    listed = _require(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = sorted({os.fsdecode(each) for each in listed.split(b"\0")})
    # Revisions have links as files of their own kind.
    plain = (each for each in names if each.endswith(SUFFIX) and not (folder / each).is_symlink())
    return [each for each in plain if (folder / each).is_file()]


def merge_base(folder: Path, one: str, other: str) -> str:
    """The last commit that two revisions have in common. Raises ArchlineError (AL441)."""
    found = _git(folder, "merge-base", _commit(folder, one), _commit(folder, other))
    return _line(folder, found, f"`{one}` and `{other}` have no commit in common")


def _commit(folder: Path, revision: str) -> str:
    """The commit of a revision. Raises ArchlineError (AL441)."""
    _require(folder, "rev-parse", "--git-dir")
    # Whatever begins with `-` would be an option.
    usable = revision and not revision.startswith("-") and "\0" not in revision
    found = _git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") if usable else None
    return _line(folder, found, f"`{revision}` is not a file, a folder or a git revision")


def _line(folder: Path, found: bytes | None, problem: str) -> str:
    """The line that git answers. Raises ArchlineError (AL441) with the problem where there is none."""
    if found:
        return found.decode().strip()
    if _git(folder, "rev-parse", "--is-shallow-repository") == b"true\n":
        hint = "fetch all commits: `fetch-depth: 0` under actions/checkout, or `git fetch --unshallow`"
        raise error(NO_VERSION, f"{problem} in this shallow clone", hint=hint)
    raise error(NO_VERSION, problem, hint="`git log --all --oneline` lists revisions")


def _require(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    """What git answers. Raises ArchlineError (AL441)."""
    found = _git(folder, *arguments, given=given)
    if found is None:
        hint = "name two folders, or go to a folder of the repository"
        raise error(NO_VERSION, f"no readable git repository at `{folder}`", hint=hint)
    return found


def _git(folder: Path, *arguments: str, given: bytes = b"") -> bytes | None:
    """What git answers; None where it fails."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        ran = subprocess.run(
            ["git", *arguments], input=given, capture_output=True, cwd=folder, env=environment, check=False
        )
    except FileNotFoundError:
        hint = "install git, or name two folders: archline diff OLD NEW"
        raise error(NO_VERSION, "revisions are read by the program `git`, which is not found", hint=hint) from None
    return ran.stdout if ran.returncode == 0 else None
