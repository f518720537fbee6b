"""List the rules about expressions in sizes whose growth is asked for (AL480 to AL483)."""

from archline.language.diagnostics import Rule

NOT_A_SIZE_EXPRESSION = Rule(
    "AL480",
    "not an expression in sizes",
    """
    Growth is compared for expressions in sizes: numbers, names, `+ - * / // % ^`, `min`, `max`, `sqrt`, `log2`,
    `log`, `exp`, `floor`, `ceil`, `abs`, `log_star`, `factorial`. Elements of arrays, comparisons and
    other functions have no growth.

        archline order "n*log2(n)" "n^2/m" --where "n >= m"
    """,
)
NOT_POSITIVE = Rule(
    "AL481",
    "expression that is nowhere positive",
    """
    O, Omega and Theta compare amounts. An expression that is zero or negative at every size, such as `0`, `-n` or
    `n - 2*n`, has no growth to compare.
    """,
)
NOT_A_FACT = Rule(
    "AL482",
    "not a fact about sizes",
    """
    Facts are comparisons of expressions in sizes, joined by `and`, and `n is power of 2`, `n is square`,
    `b divides n`:

        archline order "nz + n" "nz" --where "nz >= n"
    """,
)
NO_SIZES = Rule(
    "AL483",
    "facts that no sizes satisfy",
    """
    Under facts that exclude every size, such as `n <= 0`, every claim about growth would hold and mean nothing.
    Sizes are at least 1.
    """,
)
