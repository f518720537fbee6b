"""Read the programs of a revision from git's objects, without touching the work tree."""

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
    commit alone: in a workflow of GitHub, `fetch-depth: 0` under the step `actions/checkout` fetches all commits, and
    `git fetch --unshallow` does so elsewhere.
    """,
)

SUFFIX = ".algo"
PLAIN_FILES = (b"100644", b"100755")


def read_programs(folder: Path, revision: str) -> dict[str, bytes]:
    """Read the programs below a folder at a revision, by paths relative to it. Raises ArchlineError (AL441)."""
    prefix = _run_required(folder, "rev-parse", "--show-prefix").decode().removesuffix("\n")
    commit = _resolve_commit(folder, revision)
    result: dict[str, bytes] = {}
    for entry in _run_required(folder, "ls-tree", "-r", "-z", "--full-tree", commit, "--", prefix or ".").split(b"\0")[
        :-1
    ]:
        about, _, name = entry.partition(b"\t")
        mode, _, digest = about.split(b" ")
        if name.endswith(SUFFIX.encode()) and mode in PLAIN_FILES:
            result[os.fsdecode(name).removeprefix(prefix)] = digest
    contents = _run_required(
        folder, "cat-file", "--batch", given=b"".join(digest + b"\n" for digest in result.values())
    )
    for path in result:
        header, _, rest = contents.partition(b"\n")
        size = int(header.split(b" ")[2])
        result[path], contents = rest[:size], rest[size + 1 :]
    return result


def list_programs(folder: Path) -> list[str]:
    """List the programs below a folder of the work tree, except ones that git ignores."""
    listed = _run_required(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = sorted({os.fsdecode(name) for name in listed.split(b"\0")})
    # Symbolic links are excluded, as they are from revisions.
    unlinked = (name for name in names if name.endswith(SUFFIX) and not (folder / name).is_symlink())
    return [name for name in unlinked if (folder / name).is_file()]


def find_merge_base(folder: Path, one: str, other: str) -> str:
    """Return the last commit that two revisions have in common. Raises ArchlineError (AL441)."""
    answer = _run_git(folder, "merge-base", _resolve_commit(folder, one), _resolve_commit(folder, other))
    return _require_line(folder, answer, f"`{one}` and `{other}` have no commit in common")


def _resolve_commit(folder: Path, revision: str) -> str:
    """Return the commit of a revision. Raises ArchlineError (AL441)."""
    _run_required(folder, "rev-parse", "--git-dir")
    # A revision that begins with `-` would be an option.
    usable = revision and not revision.startswith("-") and "\0" not in revision
    answer = _run_git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") if usable else None
    return _require_line(folder, answer, f"`{revision}` is not a file, a folder or a git revision")


def _require_line(folder: Path, answer: bytes | None, problem: str) -> str:
    """Return the answer of git as a line. Raises ArchlineError (AL441) with the message `problem` if it is empty."""
    if answer:
        return answer.decode().strip()
    if _run_git(folder, "rev-parse", "--is-shallow-repository") == b"true\n":
        hint = "fetch all commits: `fetch-depth: 0` under actions/checkout, or `git fetch --unshallow`"
        raise error(NO_VERSION, f"{problem} in this shallow clone", hint=hint)
    raise error(NO_VERSION, problem, hint="`git log --all --oneline` lists revisions")


def _run_required(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Run git and return its answer. Raises ArchlineError (AL441) if it fails."""
    answer = _run_git(folder, *arguments, given=given)
    if answer is None:
        hint = "name two folders, or go to a folder of the repository"
        raise error(NO_VERSION, f"no readable git repository at `{folder}`", hint=hint)
    return answer


def _run_git(folder: Path, *arguments: str, given: bytes = b"") -> bytes | None:
    """Run git and return its answer; None if it fails. Raises ArchlineError (AL441) if git is not installed."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        ran = subprocess.run(
            ["git", *arguments], input=given, capture_output=True, cwd=folder, env=environment, check=False
        )
    except FileNotFoundError:
        hint = "install git, or name two folders: archline diff OLD NEW"
        raise error(NO_VERSION, "revisions are read by the program `git`, which is not found", hint=hint) from None
    return ran.stdout if ran.returncode == 0 else None
