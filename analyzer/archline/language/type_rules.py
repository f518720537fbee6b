"""Rules about the kinds of values, shapes and ranks, and about assignments are defined here (AL222 to AL249)."""

from archline.language.diagnostics import Rule

INT_DIVISION = Rule(
    "AL222",
    "`/` on int data",
    """
    `/` between sizes is exact (it must divide) and between reals is division; for `int` data write `//`,
    which rounds down, or divide a real: `real_of(s)/n`. `check --fix` writes `//` where an integer belongs, such as
    in a subscript or a place that is declared `int`; elsewhere either can be meant.

    ```
    local mid: int = (lo + hi)/2        # write: (lo + hi)//2
    ```
    """,
)
INTEGER_OPERATOR = Rule(
    "AL223",
    "`//` or `%` on reals",
    "`//` and `%` are for sizes and `int` data. For reals write `floor(a / b)`.",
)
EXPONENT = Rule(
    "AL224",
    "exponent that is not a size",
    """
    The exponent of `^` is a literal or an expression in sizes: `x^2`, `2^(log2(n)//2)`. For other powers of
    reals write `exp(y*log(x))`.
    """,
)
CONDITION = Rule(
    "AL225",
    "condition and value confused",
    """
    `if`, `while`, `when`, `not`, `and`, `or` and facts take conditions: comparisons, what is made of them, and
    registers and elements of type `bool`. A condition can be stored as a `bool`; it cannot be computed with.

    ```
    if n % 2:                # write: if n % 2 == 1:
    ```
    """,
)
WRONG_KIND = Rule(
    "AL226",
    "value of the wrong kind",
    """
    Where an integer known to the analysis is expected (`let`, a step, a shape), `int` data and reals will not
    do; where an integer is expected (a subscript, a bound), a real will not; a `real` register takes reals
    and an `int` one integers.

    ```
    let t = x[0]             # write: local t: real = x[0]
    ```
    """,
)
INTRINSIC = Rule(
    "AL227",
    "wrong arguments of an intrinsic",
    """
    `sqrt`, `rsqrt`, `exp`, `log`, `log2`, `sin`, `cos`, `abs`, `floor` and `ceil` take one number, `real_of` one
    integer, `min` and `max` two numbers or more, and `bit_and`, `bit_or` and `xor` two integers. Where an integer is
    expected, `sqrt` and `log2` take a size.
    """,
)
ARRAY_AS_NUMBER = Rule(
    "AL228",
    "array and number confused",
    """
    Arithmetic, comparisons, bounds and subscripts work on numbers. A whole array or a slice can be passed,
    named by `let`, viewed with `as`, filled and copied; anything else is a loop over its elements.

    ```
    C = A + B                # write the loops over i and j
    y = x[i]                 # y an array, x[i] a number: this fills y
    ```
    """,
)
NOT_AN_ARRAY = Rule(
    "AL229",
    "not an array",
    """
    Only arrays and views of them have elements and slices; a register, size or scalar parameter has neither.
    """,
)
RANK = Rule(
    "AL230",
    "wrong number of subscripts",
    """
    An array takes at most as many subscripts as its shape has entries; a slice keeps its dimension, an index drops
    it. Dimensions that are left out are taken whole, so that an element, a number, needs a subscript for each.

    ```
    if A[i] > 0:             # A: real[n, m]; A[i] is a row, A[i, j] a number
    ```
    """,
)
RESHAPE = Rule(
    "AL231",
    "`as` on an array of more dimensions",
    """
    `x as [p, q]` views a one-dimensional array row by row. An array of more dimensions is not flattened,
    since its rows are padded to whole lines.
    """,
)
SHAPE = Rule(
    "AL232",
    "shapes do not agree",
    """
    The extents of an argument must be those of the parameter's shape, with the same size wherever the same
    name stands; a copy needs equal extents, and `x as [p, q]` as many elements as `x`. Reported here where
    the extents differ at every size, or wherever the sizes do; where they differ only at some, the executor
    reports it.

    ```
    algorithm gram(A: real[n, n]): ...
    gram(A[0..h, 0..h+1])
    ```
    """,
)
LAYOUT = Rule(
    "AL233",
    "layouts do not agree",
    """
    An array of two or more dimensions is passed in the layout the parameter names: `rowmajor` (the
    default), `colmajor` or `zmorton`. `zmorton` is for two dimensions. One-dimensional views fit any.
    """,
)
READ_ONLY = Rule(
    "AL240",
    "writing to an `in` array",
    """
    A parameter without a mode is `in`: neither it nor a view of it can be assigned, or passed as `out` or
    `inout`.

    ```
    algorithm scale(x: real[n], a: real):
        for i in 0..n:
            x[i] *= a        # write: x: inout real[n]
    ```
    """,
)
NOT_ASSIGNABLE = Rule(
    "AL241",
    "cannot be assigned",
    """
    `let` names and loop variables keep their value. What changes is a `local`, or a scalar parameter or a
    size: one that is assigned is a register from then on.

    ```
    for i in 0..n:
        i += 1               # write: for i in 0..n step 2
    ```
    """,
)
WRONG_LOCAL = Rule(
    "AL242",
    "not a type of a local",
    """
    A `local` is a scalar (`real`, `int`) or an array of them. A size is named by `let`; `offsets` and
    `index` arrays are parameters, whose facts are checked on the data.
    """,
)
WRONG_MODE = Rule(
    "AL243",
    "mode that the type does not have",
    """
    Sizes and indices are passed by value, and so are the facts of `offsets` and `index` arrays: they are `in`.
    To hand back a number declare it `n: out int` or `n: inout real`, or write `-> int` and `return`. Only an
    array is `local`.
    """,
)
ATOMIC = Rule(
    "AL244",
    "`atomic` without an update",
    """
    `atomic` goes with an update of one array element: `atomic y[i] += v`. A register belongs to its own
    iteration.
    """,
)
NOT_AN_OPERATOR = Rule(
    "AL246",
    "not an operator",
    """
    `x[i] op= y[i]` updates with the operator that the parameter `op: operator` holds: `+`, `*`, `min` or `max`, as the
    `with` of the reduction has it.
    """,
)
STEP = Rule("AL245", "step that is not positive", "A step is at least 1. To count down write `for i in n-1 downto 0`.")
