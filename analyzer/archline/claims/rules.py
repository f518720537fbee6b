"""Rules AL601 to AL605 describe findings of `archline check` in valid programs; each can be ignored."""

from archline.language.diagnostics import WARNING, Rule

FAILS = Rule(
    "AL601",
    "a claim about a cost fails",
    """
    An `ensures` or a `claim` is false: at the sizes that are shown the derived cost is not what is claimed, or the
    growth is refuted in the direction that is shown. Either the algorithm changed or the claim is wrong:

        algorithm pairs(x: real[n], y: inout real[n]):
            ensures flops == n^2
            for i in 0..n:
                for j in 0..i:
                    y[i] += x[j]*x[i]

    Here `flops == n*(n - 1)` holds. A claim that is known to fail, and stays for now, is ignored on its line:
    `# archline: ignore AL601`.
    """,
)
NOT_DECIDED = Rule(
    "AL602",
    "a claim about a cost is not decided",
    """
    An `ensures` or a `claim` is neither proved nor refuted; the reason says what is missing. It is a warning, and
    fails a check with `--strict`. It may be ignored by a comment on the line of the claim, or for a whole algorithm on
    the line of its header:

        algorithm chosen(x: inout real[n]):  # archline: ignore AL602
            ensures flops == n

    The comment names the codes, separated by commas.
    """,
    WARNING,
)
GREW = Rule(
    "AL603",
    "a cost grew",
    """
    A derived cost is larger than the one in the baseline (`archline check --baseline FILE`). If only a bound on it
    rose, on cache misses for example, this is a warning, which fails a check with `--strict`. If the growth is
    intended, write the baseline again with `--write-baseline FILE`, and commit it with the change.
    """,
)
BECAME_UNKNOWN = Rule(
    "AL604",
    "a cost became unknown or is not decided",
    """
    The baseline has a cost that can no longer be derived, or one that cannot be compared with the derived one; the
    reason says why. A cost is not decided if it counts iterations of loops that the data decides, and these loops
    differ. If that is intended, write the baseline again with `--write-baseline FILE`.
    """,
)
UNNEEDED = Rule(
    "AL605",
    "unused suppression or baseline entry",
    """
    A comment `# archline: ignore CODE` ignores nothing: no such finding is made at its line, or it names no code of a
    finding (AL601 to AL604, AL606). Or an entry of the baseline is about an algorithm that no longer exists, or accepts
    a finding that is no longer made. Remove it, so that it does not hide a later finding.
    """,
    WARNING,
)
