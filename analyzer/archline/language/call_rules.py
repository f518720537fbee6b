"""Rules about calls, contracts and distributed statements are defined here (AL251 to AL289, AL508)."""

from archline.language.diagnostics import Rule

ARGUMENT_COUNT = Rule(
    "AL251",
    "wrong number of arguments",
    """
    A call gives one argument for each parameter, in order. Sizes bound by shapes (`n` in `A: real[n]`) are
    not passed.
    """,
)
ARGUMENT_KIND = Rule(
    "AL252",
    "wrong kind of argument",
    """
    A `size` or `index` takes an integer known to the analysis, `int` any integer, `real` a real, an array a
    view of the same element type and as many dimensions; what is written through `out` or `inout` must be a
    view.

    ```
    lower_bound(a[0], key)   # write: lower_bound(a[0..n], key)
    ```
    """,
)
RESULT_PLACE = Rule(
    "AL253",
    "call with a result out of place",
    """
    A call of an algorithm with a result is part of an expression, and is neither spawned nor left unused. An
    expression that costs nothing, such as a fact after `assume`, cannot call an algorithm.

    ```
    assume lower_bound(a, key) <= n
    ```

    Write `local k: int = lower_bound(a, key)` first.
    """,
)
NO_RESULT = Rule(
    "AL254",
    "call without a result used as a value",
    """
    An algorithm that returns no value is called as a statement; it hands data back through `out` and `inout`
    parameters.
    """,
)
RETURN = Rule(
    "AL255",
    "`return` missing or out of place",
    """
    `return` and `return VALUE` end the algorithm, `break` the innermost loop, and `continue` its iteration. If one
    path of an algorithm returns a value, all do. An exit cannot leave a `parallel for`, whose iterations run side by
    side, nor skip code in which processors communicate.

    ```
    for i in 0..n:
        if a[i] == x:
            return i         # then the last line is return -1, and not missing
    ```
    """,
)
EXTERN = Rule(
    "AL256",
    "not a function of scalars",
    """
    An `extern` takes `real` and `int` values and returns at most one; its declared cost is in symbols given
    at `--at`.
    """,
)
BAD_FACT = Rule(
    "AL260",
    "not a fact",
    """
    A fact is a comparison, `n is power of 2`, `n is square` or `c divides n`, or such joined by `and`,
    `or`, `not`.

    ```
    where n % 2              # write: where 2 divides n
    ```
    """,
)
BAD_QUANTITY = Rule(
    "AL261",
    "not an expression in sizes",
    """
    Contracts and claims are formulas in sizes, machine symbols and the cost symbols of externs, with
    `+ - * / // % ^`, `min max abs floor ceil log2 sqrt`; a claim also speaks of `io(algorithm)` and the
    like.
    """,
)
BAD_CLAIM = Rule(
    "AL262",
    "claim about no cost of an algorithm",
    """
    A claim compares costs of algorithms of the file or of the files it uses; each side is a formula, one at
    least with a form such as `io(matmul_co)`. It may set sizes of an algorithm. Energy, time, power and energy_delay
    are those on a machine, by its name or the path of its file, and by a model.

    ```
    claim io(matmul_co) is O(io(matmul_basic) + p) where Z >= L^2
    claim work(matmul_co, n = 2*n) <= 3*work(matmul_co)
    claim energy(matmul_co) <= energy(matmul_basic) on "gtx-580@double" with roofline at n = 512, m = 512, p = 512
    ```
    """,
)
NOT_ON_GRID = Rule(
    "AL270",
    "distributed statement outside a grid",
    """
    Communication, `input`, `output`, `split`, `local ... when` and `local` parameters belong to algorithms
    that run on every processor of a grid: `algorithm f(...) on grid(r: P):`. Such an algorithm is called
    from another one on a grid.
    """,
)
UNKNOWN_AXIS = Rule(
    "AL271",
    "unknown axis",
    """
    `along` and `split` name an axis of the algorithm's grid, or a group that an enclosing `split` defines.
    """,
)
CLAUSE = Rule(
    "AL272",
    "wrong clauses of a communication",
    """
    | operation | clauses |
    |---|---|
    | `shift x along a by e` | `using` |
    | `alltoall x along a into y` | `using` |
    | `alltoall x along a into y counts cnt` (or `into y, got`) | `using` |
    | `broadcast x along a from root` | `using` |
    | `reduce x along a onto root with op` | `into`, `using` |
    | `allreduce x along a with op` | `into`, `using` |
    | `gather x along a onto root into y` | `counts`, `using` |
    | `scatter x along a from root into y` | `counts`, `using` |
    | `allgather x along a into y` | `counts`, `using` |
    | `reduce_scatter x along a into y with op` | `counts`, `using` |
    | `scan x along a with op` | `into`, `using` |
    | `barrier` | `along`, `using` |
    | `exchange x to (coordinates) into y from (coordinates)` | `when` |
    | `send x to (coordinates)`, `receive y from (coordinates)` | |

    The first column is needed, the second may be added, each once. `op` is `+`, `*`, `min` or `max`, or a parameter
    that holds one; `a` is one axis or several, such as `along i, j`.
    """,
)
SHIFT_BY = Rule(
    "AL273",
    "shift that depends on its own axis",
    """
    In `shift x along a by e` every processor of the group must shift by the same amount: e must not depend
    on a.
    """,
)
SHARED_ARRAY = Rule(
    "AL274",
    "global array used by a processor",
    """
    On a grid an array parameter without `local` is the whole problem's, spread over the processors. A
    processor touches it only where data starts and ends: `local x: real[s] = X[r*s ..+ s]`,
    `input x = X[...]`, `output Y[...] = y`.
    """,
)
ROOT = Rule(
    "AL275",
    "root that depends on its own axis",
    """
    In `broadcast x along a from r` every processor of the group must name the same root: r must not depend on a.

    ```
    broadcast x along k from k       # write: from 0
    ```
    """,
)
PARTICIPATION = Rule(
    "AL276",
    "collective that not all processors reach",
    """
    Every processor of the group takes part in a collective, and in a call of an algorithm that communicates: the
    conditions and loops around it must not depend on the coordinates along its axes.

    ```
    if r > 0:
        broadcast x along r from 0       # write it before the `if`
    ```
    """,
)
UNEQUAL_BUFFERS = Rule(
    "AL277",
    "buffers of different sizes",
    """
    In a collective every processor of the group has a buffer of the same size; pieces of different sizes go with
    `counts`.

    ```
    broadcast x[0..r] along r from 0     # write: from what all have, such as x[0..n]
    ```
    """,
)
MIXED = Rule(
    "AL278",
    "different collectives at once",
    """
    The processors of a group are in the same collective at a time, in the same order: a message of one is never taken
    by another.

    ```
    if r == 0:
        reduce x along r onto 0 with +
    else:
        reduce y along r onto 0 with +   # no processor is in the same `reduce`
    ```
    """,
)
UNEQUAL_TEST = Rule(
    "AL279",
    "processors may leave a loop at different times",
    """
    All processors of a group leave a loop in which they communicate after the same iteration: the test of a `while`
    without a bound, and the conditions of a `break` or `return`, must be equal on the group. They are if they depend on
    sizes, numbers and the results of `allreduce`, `broadcast` and `allgather` along its axes alone, in registers or
    whole arrays. A run checks that the processors agree.

    ```
    while error > eps:               # write: allreduce error with max
        exchange ...
        error = ...
    ```
    """,
)
TOO_MANY_ITERATIONS = Rule(
    "AL508",
    "too many iterations of a `while`",
    """
    A loop without a bound did not end in the time that a run gives it (10 seconds, or `--time-limit`), or in 10^9
    iterations; or a `while` loop began more iterations
    than its `at most` allows. That bound is evaluated once, on entry. It is a declared fact: where the data decides the
    number of iterations, a run that exceeds it stops. Where the sizes alone decide that number, `check` and `cost`
    refuse a bound that it exceeds at some small sizes.

    ```
    while i < n at most 3 times:     # n = 4; write: at most n times
        i += 1
    ```
    """,
)
