"""Rules about names are defined here: scopes, definitions, sizes, metrics, modules (AL201 to AL219)."""

from archline.language.diagnostics import Rule

UNKNOWN_NAME = Rule(
    "AL201",
    "unknown name",
    """
    A name must be a parameter, a size that stands in a shape, or be defined before its use by `let`,
    `local`, `for`, `split` or `on grid`; a definition lasts to the end of the block it stands in.

    ```
    for i in 0..n:
        local t: real = x[i]
    y[0] = t                 # t ended with the loop's body
    ```

    Define the name in the block that uses it: `local t: real = 0` before the loop.
    """,
)
UNKNOWN_FUNCTION = Rule(
    "AL202",
    "unknown function or algorithm",
    """
    What is called must be an intrinsic (`sqrt`, `max`, `real_of`, ...), an `extern`, an algorithm of the
    file, or one of a file named by `use`. A `use` does not pass on what the used file itself uses.

    ```
    matmul(A, B, C)          # without `use dense.matmul`
    ```
    """,
)
SHADOWING = Rule(
    "AL203",
    "name already in scope",
    """
    A name means one thing from its definition to the end of its block; a second definition inside would
    hide the first.

    ```
    for i in 0..n:
        for i in 0..m:       # a second i
    ```

    Choose another name. The variable of a loop may have the name of a register that nothing reads behind the loop
    before it is set again. Names of sizes that only stand in shapes (`n` in `A: real[n]`) count too, and so do
    the cost symbols of the externs in scope (`f` in `extern g(a: real) -> real costs f flops`).
    """,
)
DUPLICATE = Rule(
    "AL204",
    "defined twice",
    """
    A file defines each algorithm and extern once, its own names and those of the files it uses must differ,
    and an algorithm names each parameter once.
    """,
)
MACHINE_SYMBOL = Rule(
    "AL205",
    "machine symbol out of place",
    """
    `P` (processors), `Z` (fast memory, words), `L` (line, words) and `K` (largest message, words) describe
    the machine. They stand in contracts, claims and declared costs; `P` also in the sizes of algorithms
    `on grid`. An algorithm that is not on a grid cannot compute with them.

    Outside grids an array, a scalar or a register may have such a name, and a size, an index or a loop
    variable may be called `P` or `K`, where no contract or declared cost speaks of the machine's symbol. A
    size, an index or a loop variable cannot be called `Z` or `L`, in which io is.

    ```
    algorithm tiled(A: inout real[n, n]):
        let b = Z // 3       # depends on the machine
    ```

    Write `b: size` as a parameter, and say `ensures io <= ... when 3*b^2 <= Z`.
    """,
)
UNBOUND_SIZE = Rule(
    "AL206",
    "size that no argument binds",
    """
    A size gets its value from an argument: an extent that is the name alone (`x: real[n]`), the parts of
    `offsets[n] into nz longest nr`, or a parameter `n: size`. The names in an expression are not inferred from it.

    ```
    algorithm csb(x: real[nb*b], b: size):         # nb is not inferred from nb*b
    ```

    Declare it: `algorithm csb(x: real[nb*b], nb: size, b: size)`.
    """,
)
NOT_A_SIZE = Rule(
    "AL207",
    "not a size",
    """
    Shapes, contracts and declared costs are in sizes: `size` and `index` parameters and names bound by
    shapes, with `let` names, loop variables and grid coordinates inside a body. Data (`real`, `int`, array
    elements) is not known to the analysis.
    """,
)
UNKNOWN_METRIC = Rule(
    "AL208",
    "unknown metric",
    """
    The metrics are flops, work, span, io, words, messages, memory, node_words, node_messages and
    node_memory, and on request comparisons, calls and accesses; an `ensures` also `time(P)`, the time on P processors.
    Claims have energy, time, power and energy_delay too, on a machine.

    ```
    ensures reads <= n       # write: ensures io <= n
    ```
    """,
)
UNKNOWN_MODULE = Rule(
    "AL209",
    "unknown module",
    """
    `use dense.matmul` names the file `dense/matmul.algo`, first next to the file that uses it, then in the
    standard library.
    """,
)
CYCLIC_USE = Rule(
    "AL210",
    "files that use each other",
    "A file's `use` must not lead back to the file. Put algorithms that call each other into one file.",
)
UNKNOWN_ALGORITHM = Rule(
    "AL211",
    "no such algorithm in the file",
    "A target `file.algo::name` or `dense.matmul::name` names an algorithm that the file itself defines.",
)
RECORD = Rule(
    "AL212",
    "record out of place",
    """
    A record is passed on as a whole, as the argument of a call whose parameter has its type; elsewhere its fields
    stand, which are numbers and arrays. It cannot be assigned, compared, computed with or returned, and no type
    contains itself.

    ```
    return Q                 # write: a parameter `Q: out queue[n]`
    ```
    """,
)
