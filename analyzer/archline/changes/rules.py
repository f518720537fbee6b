"""Rules about versions of programs (AL441, AL442)."""

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
NO_BASELINE = Rule(
    "AL442",
    "baseline that cannot be read",
    """
    A baseline has a line for each cost of an algorithm, and for each regime of its cache misses, and lines for findings
    that it accepts:

        accept AL602 sums.algo::total  ensures flops == n
        sums.algo::total(n)  work == 2*n + 1

    `archline check --write-baseline FILE` writes it.
    """,
)
