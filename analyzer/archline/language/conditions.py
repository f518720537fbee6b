"""Rules that every run keeps are defined here, which the analysis proves, refutes or assumes (AL501 to AL524)."""

from archline.language.diagnostics import WARNING, Rule

OUT_OF_BOUNDS = Rule(
    "AL501",
    "subscript out of bounds",
    """
    A subscript lies in 0..extent. The message names the subscript's value and the extent of the array or view at the
    moment the run stopped.

    ```
    for i in 0..n:
        y[i] = x[i + 1]      # the last i reads x[n]
    ```
    """,
)
SLICE_OUT_OF_BOUNDS = Rule(
    "AL502",
    "slice out of bounds",
    "A slice `lo..hi` of a dimension of extent e needs 0 <= lo <= hi <= e; `lo ..+ k` is `lo..lo + k`.",
)
UNSET = Rule(
    "AL503",
    "read of an unset element or register",
    """
    Elements of an `out` parameter or of a `local` array without a value, and a `local` register without one, are unset
    until they are assigned.

    ```
    local s: real            # write: local s: real = 0
    for i in 0..n:
        s += x[i]
    ```
    """,
)
NEVER_SET = Rule(
    "AL606",
    "output that is not set",
    """
    At the sizes that the message names, no run sets the element of the `out` array, whatever the data: the result has
    no value there. Or a run stops there, as it reads the element before it is set. Costs are derived all the same, for
    the program as it is written.

    ```
    for i in 1..n:           # write: for i in 0..n
        y[i] = x[i]
    ```

    Ranges are half-open and begin at 0: `0..n` goes from 0 to n - 1. It is a warning, and fails a check with
    `--strict`. Where it is meant, a comment on the line of the header says so: `# archline: ignore AL606`. What the
    data decides is left to runs.
    """,
    WARNING,
)
NEVER_READ = Rule(
    "AL607",
    "name that is not read",
    """
    A name that is set without a declaration is declared where it is first set. If nothing reads it, it is probably
    misspelt.

    ```
    total = 0
    for i in 0..n:
        totl = total + x[i]  # write: total
    ```

    It is a warning, and fails a check with `--strict`. A name that is declared, by `local totl: real`, is not warned
    about.
    """,
    WARNING,
)
NEVER_ENDS = Rule(
    "AL608",
    "loop that never ends",
    """
    The condition of a `while` stays true once it is: its body changes nothing that it tests, or moves it away from the
    end, and does not leave the loop. No run that enters the loop ends, and none at the sizes at which it is entered.

    ```
    i = 0
    while i < n:
        s += a[i]                # write also: i += 1
    ```

    It is a warning, and fails a check with `--strict`. Loops for which this is not certain are not warned about.
    """,
    WARNING,
)
SIZE_TOO_SMALL = Rule(
    "AL504",
    "size too small",
    """
    A size is at least 1, or what a `where` of its algorithm says: `where n >= 0` allows empty arrays. A size for which
    recursive calls may pass 0 is at least 0, unless a `where` says otherwise. An algorithm is refused if a recursive
    call passes less, or 0 where no run at 0 ends.

    ```
    x[0] += 1.0
    if n >= 2:
        f(x[2..n])           # n = 2 passes 0, and x[0] is outside; write: if n > 2
    ```
    """,
)
SHAPE = Rule(
    "AL505",
    "shapes do not agree",
    """
    The extents of an argument must be what the parameter's type says once the sizes are bound, both sides of a copy
    must have equal extents, and `x as [p, q]` needs p*q elements.
    """,
)
WHERE = Rule(
    "AL506",
    "`where` is false",
    "A call must satisfy the facts that stand in the `where` of the algorithm it calls.",
)
NOT_EXACT = Rule(
    "AL507",
    "integer expression without an integer value",
    """
    `/` between sizes must divide, `log2` and `sqrt` of a size must be integers, `//` and `%` need a divisor other than
    0, and `^` an exponent that is not negative.

    ```
    let h = n/2              # n = 7; write n//2 or ceil(n/2), or say `where 2 divides n`
    let k = log2(n)          # n = 7; write floor(log2(n)) or ceil(log2(n)), or say `where n is power of 2`
    ```
    """,
)
NOT_DECREASING = Rule(
    "AL510",
    "recursion that does not decrease",
    """
    At every recursive call the `decreases` expressions must be at least 0 and lexicographically less than those of the
    active call of the same algorithm. Without `decreases`, some size must be smaller than in that call, or some index
    different, unless conditions of data decide in the algorithm: data may end the recursion too.

    ```
    algorithm f(x: inout real[n]):
        f(x)                 # write: f(x[0..n//2]), under a condition
    ```
    """,
)
BAD_STEP = Rule(
    "AL515",
    "step that is not positive",
    "The step of a loop or slice is at least 1, and so are all values of a loop with `step *2` or `step /2`.",
)
SCALED_HINT = "no factor moves 0: a loop with `step *2` begins at 1, and one with `step /2` ends there"
BAD_SIZE = Rule(
    "AL524",
    "bad value of a size",
    """
    The value of a size is a whole number, at least 1, or at least what a `where` allows; every size that is not bound
    otherwise must be given, and nothing else.
    """,
)
GRID = Rule(
    "AL530",
    "group of processors that does not fit the grid",
    """
    An algorithm `on grid(i: g, j: h)` runs on g*h processors: those that a call names `along` its axes, or all of the
    caller's. `split r by p` needs a number of parts p that divides the axis. A run needs `--at P=8` where the extents
    of the axes do not determine P.
    """,
)
SIZE_RULES = frozenset(
    (OUT_OF_BOUNDS, SLICE_OUT_OF_BOUNDS, UNSET, SIZE_TOO_SMALL, SHAPE, WHERE, NOT_EXACT, BAD_STEP, BAD_SIZE, GRID)
)
"""The rules that can be broken by sizes alone, whatever the data."""
