"""Define the rules about runs of a program (AL501 to AL549); those that the analysis shares are imported."""

from archline.language.call_rules import TOO_MANY_ITERATIONS as TOO_MANY_ITERATIONS
from archline.language.conditions import BAD_SIZE as BAD_SIZE
from archline.language.conditions import BAD_STEP as BAD_STEP
from archline.language.conditions import GRID as GRID
from archline.language.conditions import NOT_DECREASING as NOT_DECREASING
from archline.language.conditions import NOT_EXACT as NOT_EXACT
from archline.language.conditions import OUT_OF_BOUNDS as OUT_OF_BOUNDS
from archline.language.conditions import SHAPE as SHAPE
from archline.language.conditions import SIZE_TOO_SMALL as SIZE_TOO_SMALL
from archline.language.conditions import SLICE_OUT_OF_BOUNDS as SLICE_OUT_OF_BOUNDS
from archline.language.conditions import UNSET as UNSET
from archline.language.conditions import WHERE as WHERE
from archline.language.diagnostics import Rule

LONGER_HINT = "`--time-limit 60`, or ARCHLINE_TIME_LIMIT=60, gives a long loop 60 seconds"
ENDLESS_HINT = f"its body has to make its condition false; {LONGER_HINT}"
"""The hint of a loop without a bound that is stopped (AL508)."""

ASSUMPTION = Rule(
    "AL509",
    "`assume` is false",
    "The analysis takes an `assume` as a fact, so the executor checks it wherever it passes. The check has no cost.",
)
TOO_DEEP_RECURSION = Rule(
    "AL511",
    "recursion too deep",
    "The run has more active calls than the executor allows. Sketches that halve a size stay far below the limit.",
)
OFFSETS = Rule(
    "AL512",
    "broken offsets",
    """
    `offsets[n] into nz longest nr` is an int array of n + 1 entries: the first is 0, none is less than the one before,
    the last is nz, and neighbours differ by at most nr.
    """,
)
INDICES = Rule(
    "AL513",
    "index array out of range",
    "The entries of `index[k] below m` are integers in 0..m.",
)
OVERFLOW = Rule(
    "AL514",
    "integer beyond 64 bits",
    """
    `int` data, sizes and indices that a run computes must fit 64 bits (except -2^63, which
    marks unset elements). Symbolic results have no such limit.
    """,
)
RACE = Rule(
    "AL516",
    "determinacy race",
    """
    Two accesses that nothing orders touch one element, at least one writes, and they are not both `atomic`: two
    iterations of a `parallel for`, or a spawned call and what follows it up to the `sync`. The run is serial, so its
    result is that of one possible order; another order may give a different one. Found by SP-bags
    (Feng and Leiserson, SPAA 1997), which reports a race on the given data if and only if there is one.

    ```
    parallel for j in 0..m:
        y[row[j]] += x[j]    # write: atomic y[row[j]] += x[j]
    ```
    """,
)
TOO_DEEP = Rule(
    "AL517",
    "blocks nested too deeply to run",
    "The executor translates an algorithm into one Python function, and Python limits how deep its blocks nest.",
)
NO_MEMORY = Rule(
    "AL519",
    "run does not fit memory",
    """
    The arrays, the access trace or the record of accesses for races would need more memory than is available. Choose
    smaller sizes, or leave the trace out: no `--cache`, or one with `--policy lru`.
    """,
)
MISSING_ARGUMENT = Rule(
    "AL520",
    "argument missing",
    "A run needs a value for every parameter, and for the cost symbols of the externs it calls.",
)
UNKNOWN_ARGUMENT = Rule("AL521", "no such parameter", "Arguments are given by the names of parameters.")
ARGUMENT_TYPE = Rule(
    "AL522",
    "argument of the wrong type",
    """
    A `real` array takes numbers that are not complex, an `int`, `offsets` or `index` array integers of at most 64 bits,
    a scalar one number. Nothing is rounded.
    """,
)
ARGUMENT_SHAPE = Rule(
    "AL523",
    "argument of the wrong shape",
    """
    An array has as many dimensions as its parameter's type, and extents that agree with the other arguments. An array
    of a `local` parameter has the processors of the grid as its first axis.
    """,
)
BAD_CACHE = Rule(
    "AL525",
    "cache without a line",
    "A cache of Z words with lines of L words holds Z // L lines, which must be at least one. L is at least 1.",
)
IMPOSSIBLE_DATA = Rule(
    "AL526",
    "no data of these sizes",
    """
    Random data cannot meet the declared facts: the gaps of `offsets[n] into nz longest nr` sum to nz with none above
    nr, so nz <= n*nr, and with a bare `longest nr` one gap is nr itself.
    """,
)
NOT_A_KERNEL = Rule(
    "AL527",
    "no sparse matrix among the parameters",
    """
    A sparse matrix is passed to an algorithm whose parameters store one: by rows `offsets[n] into nz longest nr`
    with `index[nz] below m` and `real[nz]`; by columns `offsets[m] into nz longest nc` with `index[nz] below n`; by
    blocks of b x b `offsets[nb^2] into nz longest nmax` with two arrays `index[nz] below b`, and `b: size`.
    """,
)
INTERRUPTED = Rule(
    "AL528", "run interrupted", "The run was stopped before its end, by the user or by a limit of steps."
)
COST_AMOUNT = Rule(
    "AL529",
    "declared cost that is not a count",
    "Declared flops, work and span are whole numbers >= 0 at every execution of the `costs` that declares them.",
)
PARTNER = Rule(
    "AL531",
    "partner outside the grid",
    """
    A processor sends to and receives from coordinates within the extents of the axes: on a torus write `% g`, at a
    boundary guard the message with `when`.

    ```
    exchange x to (i + 1) into y from (i - 1)        # write: to ((i + 1) % g), or `when i + 1 < g`
    ```
    """,
)
MESSAGE_SIZE = Rule(
    "AL532",
    "message whose size is not that of its buffer",
    "A message has as many words as the buffer that receives it.",
)
DEADLOCK = Rule(
    "AL533",
    "deadlock",
    """
    Every processor that has not finished waits for a message that nobody sends. Collectives are reached by all
    processors of the group, in the same order; the k-th `send` of an algorithm pairs with the k-th `receive` in its
    text.
    """,
)
LOST_MESSAGE = Rule(
    "AL534",
    "message that nobody receives",
    "Every message is received by the same statement of its partner, or by the `receive` that pairs with its `send`.",
)
OUTPUT_TWICE = Rule(
    "AL535",
    "element output twice",
    """
    Each element of a global array is written by `output` once: guard it where several processors hold an element.

    ```
    output C[i*b ..+ b, j*b ..+ b] = z when k == 0
    ```
    """,
)
NO_MPI = Rule(
    "AL536",
    "MPI not found",
    """
    `--engine mpi` needs the extra `mpi`: `pip install 'archline[mpi]'` brings mpi4py and MPICH. The ranks are started
    by the `mpiexec` next to Python; to use another MPI, start archline itself under its `mpiexec`.
    """,
)
RANKS = Rule(
    "AL537",
    "ranks that do not fit the grid",
    "Under `mpiexec` there is one rank for each processor of the grid: `mpiexec -n 8` for `--at P=8`.",
)
ENGINE = Rule(
    "AL538",
    "engine that does not fit the algorithm",
    """
    Algorithms `on grid` run on simulated processors (`--engine simulated`, the default) or on ranks of MPI (`--engine
    mpi`). Others run on one processor. Functions that are registered for externs must be in modules that the ranks can
    import.
    """,
)
RANK_LOST = Rule(
    "AL539",
    "ranks that ended without a result",
    "A process was killed, by a user or for lack of memory, or MPI could not start; the message has its last lines.",
)
DIFFERENT_TESTS = Rule(
    "AL540",
    "processors leave a loop at different times",
    """
    The processors of a group left a loop after different numbers of iterations, although they communicate in it, or its
    number of iterations is the same for all by the text of the program. So a collective did not give them the same
    result: one of the library does.
    """,
)
