"""Rules about versions of programs (AL441)."""

from archline.language.diagnostics import Rule

NO_VERSION = Rule(
    "AL441",
    "version that cannot be read",
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
