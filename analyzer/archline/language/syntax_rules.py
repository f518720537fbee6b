"""Rules about unreadable files, and about text that does not follow the grammar, are defined here (AL001 to AL129)."""

from archline.language.diagnostics import Rule

MISSING_FILE = Rule(
    "AL001",
    "no such file",
    """
    The path names nothing. A target is `path.algo`, `path.algo::name`, or a module of the standard library
    such as `dense.matmul` or `dense.matmul::matmul_basic`.
    """,
)
DIRECTORY = Rule(
    "AL002",
    "a folder where a file is expected",
    """
    The command reads a file; name one in the folder. `archline check`, `fmt` and `list` take a folder, for all `.algo`
    files in it.
    """,
)
UNREADABLE = Rule(
    "AL003", "file cannot be read", "The operating system refused to open the file; its reason is in the message."
)
TOO_LARGE = Rule(
    "AL004",
    "file too large",
    """
    Sketches are short; a file beyond the limit in the message is most likely not one. Split a large collection
    into several files and join them with `use`.
    """,
)
NUL = Rule("AL005", "NUL byte in a text file", "A NUL byte means that the file is binary, or was saved as UTF-16.")
NOT_UTF8 = Rule("AL006", "not UTF-8", "Source files are UTF-8. Save the file in that encoding.")
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
    Names are made of ASCII letters, digits and `_`, so `größe` and `Δ` are not names; comments and docstrings may have
    any letters. Strings stand in double quotes on one line. `?`, `&`, `!` alone, `'` and the like mean nothing here.
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
