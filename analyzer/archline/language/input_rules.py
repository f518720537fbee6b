"""Rules about files that cannot be read as archline text (AL001 to AL009)."""

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
