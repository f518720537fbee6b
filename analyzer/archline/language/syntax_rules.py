"""Rules about text that does not follow the grammar (AL101 to AL129)."""

from archline.language.diagnostics import Rule

UNEXPECTED = Rule(
    "AL101",
    "unexpected text",
    """
    The grammar allows something else here; the message names what was found and what could stand instead.

    ```
    for i in 0..n        # a block header ends with a colon
    ```

    Write `for i in 0..n:`. docs/reference/language.md shows every form by example.
    """,
)
BAD_CHARACTER = Rule(
    "AL102",
    "character that no token starts with",
    """
    Names are letters, digits and `_`; strings stand in double quotes on one line. `?`, `&`, `!` alone, `'` and the like
    mean nothing here.
    """,
)
TAB = Rule(
    "AL103",
    "tab in the indentation",
    """
    Indentation marks blocks, and a tab has no agreed width. Indent with spaces (four a level, as
    `archline fmt` does).
    """,
)
INDENTATION = Rule(
    "AL104",
    "indentation that fits no open block",
    """
    A line must be indented as far as the lines of the block it belongs to.

    ```
    for i in 0..n:
            x[i] = 0
        y[i] = 0         # fits neither block
    ```
    """,
)
TOO_DEEP = Rule(
    "AL105",
    "nested too deeply",
    """
    Expressions may nest 200 levels (a chain of operators counts one level each) and blocks 320. Name parts of a long
    expression with `let` or `local`.
    """,
)
NUMBER_TOO_LONG = Rule("AL106", "number too long", "A literal may have at most 1000 digits.")
RESERVED = Rule(
    "AL107",
    "reserved word as a name",
    """
    Words of the language (`for`, `step`, `index`, ...), intrinsics (`sqrt`, `min`, ...) and `pi` cannot name anything
    else.
    """,
)
TOP_LEVEL = Rule(
    "AL108",
    "text outside an algorithm",
    """
    A file is a list of `use`, `extern`, `algorithm` and `claim`; each starts at the left margin, statements stand
    indented below a header.
    """,
)
NO_ALGORITHM = Rule(
    "AL109",
    "no algorithm in the file",
    "The file has no `algorithm` and no `claim`, so there is nothing to derive, run or check in it.",
)
