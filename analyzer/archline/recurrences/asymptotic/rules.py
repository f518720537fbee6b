"""Rules about the text of recurrences (AL470 to AL479)."""

from archline.language.diagnostics import Rule

NO_DEFINITION = Rule(
    "AL470",
    "not a recurrence",
    """
    A recurrence defines a function of sizes, and may give it values:

    ```
    T(n) = 2*T(n/2) + n, T(1) = 1
    Q(n) = 1 + n/L when n <= Z; 2*Q(n/2) + 1
    A(n) = 2*B(n/2) + n; B(n) = A(n/2) + 1
    ```

    Cases stand in order, with `;` between them: the first whose condition holds applies. A part that begins with
    `NAME(...) =` defines another function, or gives a value where its arguments are numbers.
    """,
)
BAD_HEAD = Rule(
    "AL471",
    "left side that defines nothing",
    """
    The left side of `=` is a function of names, each its own, as in `Q(n, m) = ...`, or of numbers alone, as in
    `T(1) = 1`. Every call has as many arguments as the definition.
    """,
)
DEFINED_TWICE = Rule(
    "AL472",
    "function defined twice",
    "A function has one definition, which may have several cases, and one value at a size.",
)
NO_SUCH_FUNCTION = Rule(
    "AL473",
    "unknown function in a recurrence",
    """
    Functions are those that the text defines, and `log2`, `log`, `sqrt`, `rsqrt`, `exp`, `min`, `max`, `abs`, `floor`
    and `ceil`.
    """,
)
INCOMPLETE_CASES = Rule(
    "AL474",
    "cases that leave out sizes, or come too late",
    """
    The last case has no `when`, so that it covers what the others leave; only the last may do so, since no case
    after it would ever apply.
    """,
)
NOT_A_VALUE = Rule(
    "AL475",
    "not an expression in sizes",
    """
    Values of recurrences are made of numbers, names, `+ - * / ^` and functions; arguments of recursive calls and
    conditions hold no recursive calls themselves, and base values are constants.
    """,
)
TOO_LONG = Rule("AL476", "recurrence too long", "The text of a recurrence has at most 20000 characters.")
