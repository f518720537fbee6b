"""Define the rules about requests: sizes, caches, targets, options (AL401 to AL419), and AL999."""

from archline.language.diagnostics import Rule

UNKNOWN_SIZE = Rule(
    "AL401",
    "no such size",
    """
    A value is given for a name that the algorithm does not have. Values are given for its sizes and `index`
    parameters, for the machine symbols P, Z, L and K, and for the cost symbols of `extern` functions:

        archline cost dense.matmul::matmul_basic --at n=64,m=64,p=64
    """,
)
MISSING_SIZE = Rule(
    "AL402",
    "size without a value",
    "Every size of the algorithm needs a value; the message names those that have none.",
)
REPEATED_SIZE = Rule("AL403", "size given twice", "A name may be given one value only.")
NOT_A_NUMBER = Rule(
    "AL404",
    "value that is not a number",
    """
    A value is an exact expression of constants, such as `64`, `2^20`, `10^30` or `3*2^10 + 1`. It contains no names,
    and no number in it may have more than 65536 bits.
    """,
)
NOT_AN_INTEGER = Rule(
    "AL405", "size that is not an integer", "Sizes are integers: `7/2`, `1.5` and `log2(3)` are not. `8/2` is."
)
TOO_SMALL = Rule(
    "AL406",
    "size too small",
    """
    A size is at least 1, or what the `where` of the algorithm says: at least 0 under `n >= 0`, at least 3 under
    `n >= 3`. P, Z, L and K are at least 1, and cost symbols of `extern` functions at least 0.
    """,
)
FACT_FAILS = Rule(
    "AL407",
    "sizes violate a `where` fact",
    """
    The algorithm, or `--where`, states a fact that is false at the sizes given. Costs are derived under those facts,
    so nothing is known at these sizes. Change the sizes.
    """,
)
WRONG_CACHE = Rule(
    "AL408",
    "impossible cache",
    """
    A cache is `--cache Z=32768,L=8`: Z words of fast memory in lines of L words, both at least 1, with room for a line:
    Z >= L. It holds Z // L lines. In Python: `archline.Cache(Z=32768, L=8)`.
    """,
)
WRONG_SCHEDULE = Rule(
    "AL409",
    "impossible schedule",
    """
    A schedule is `static`, `chunked:C` with C iterations a chunk, or `stealing` or `stealing:SEED`. It needs
    `--procs P` with P at least 1, since it says which processor executes what. On a grid the program says that.
    """,
)
WHICH_ALGORITHM = Rule(
    "AL410",
    "one algorithm is expected",
    "The file or module defines several algorithms; name one with `::`, as in `dense.matmul::matmul_basic`.",
)
OPTIONS_CLASH = Rule(
    "AL411",
    "incompatible options",
    "The message says which options exclude or need each other; `archline COMMAND --help` describes each.",
)
UNKNOWN_CODE = Rule("AL412", "no such rule", "`archline explain` without a code lists all rules.")
NOT_WRITTEN = Rule(
    "AL413",
    "file cannot be written",
    """
    Text is written to a new file in the same folder, which then replaces the old one, so the folder must be writable
    and the disk must have room. The old file is unchanged. A picture (`archline plot --out`) is written into a folder
    that exists.
    """,
)
NEEDS_BOUND = Rule(
    "AL414",
    "a needed cost is unknown",
    """
    The energy of a run needs its work and span, a plot its io. One of these cannot be derived; the message gives the
    reason. A recursion in which no size shrinks needs a `decreases` in its header, such as `decreases n - k`.
    """,
)
NO_VALUE = Rule(
    "AL415",
    "cost without an exact value",
    """
    The cost has a logarithm or a square root that is irrational at these sizes, or is too large to be printed.
    Values are never rounded silently; the expression itself is exact.
    """,
)
ARRAYS_DIFFER = Rule(
    "AL416",
    "arrays that cannot be combined",
    """
    `upper_at` takes integers and arrays of integers whose shapes numpy can broadcast: arrays of one length, or, for all
    pairs of values, `n[:, None]` and `Z[None, :]`.
    """,
)
NEEDS_EXTRA = Rule(
    "AL417",
    "a library is not installed",
    """
    The command or function needs a library that is not installed with archline itself, but with one of its extras,
    which the message names. Pictures need matplotlib: `pip install 'archline[plots]'`. Exact LRU counts (`--lru`) need
    islpy-barvinok, which is under the GPL: `pip install 'archline[isl]'`. The language server (`archline lsp`) needs
    pygls: `pip install 'archline[lsp]'`. Scripts for shells (`archline completion`) need shtab: `pip install
    'archline[completion]'`.
    """,
)
NO_PICTURE = Rule(
    "AL418",
    "no such picture",
    """
    Pictures are written as .svg, .png or .pdf, by the name of the file, with numbers up to 10^300. A comparison can be
    drawn if it has sizes and known amounts, and at most six series.
    """,
)
DEFECT = Rule(
    "AL999",
    "defect in archline",
    """
    Something happened that no input should cause: an unexpected exception, a derived cost that contradicts itself, or
    an execution outside its derived bounds. Please report the command and its input. The exit code is 3 (1 for an
    execution outside its bounds, which is printed in full); other algorithms and claims are still reported. With
    `ARCHLINE_TRACEBACK=1` in the environment, the traceback is printed.
    """,
)
