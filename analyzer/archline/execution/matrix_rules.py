"""Define the rules about Matrix Market files and sparse formats (AL420 to AL449)."""

from archline.language.diagnostics import Rule

UNREADABLE_MATRIX = Rule(
    "AL420",
    "matrix file cannot be read",
    """
    `--matrix` takes the path of a regular file in Matrix Market form, plain or compressed with gzip. The
    message says whether there is no such file, it is a directory or a device, or the operating system refused
    it.
    """,
)
EMPTY_MATRIX_FILE = Rule("AL421", "matrix file is empty", "The file has no bytes, or decompresses to none.")
BROKEN_GZIP = Rule(
    "AL422",
    "gzip file is damaged",
    """
    The file begins as a gzip file does but ends early, or its check sum is wrong; or it is called `.gz` and
    is not one. An interrupted download is the usual cause: fetch it again, and try `gzip -t FILE`.
    """,
)
NOT_TEXT = Rule(
    "AL423",
    "matrix file is not UTF-8 text",
    "Matrix Market files are text. The message gives the first line with bytes that are not UTF-8.",
)
WRONG_BANNER = Rule(
    "AL424",
    "wrong first line",
    """
    A Matrix Market file begins with five words:

        %%MatrixMarket matrix FORMAT FIELD SYMMETRY

    with FORMAT `coordinate` or `array`, FIELD `real`, `integer`, `pattern` or `complex`, and SYMMETRY
    `general`, `symmetric`, `skew-symmetric` or `hermitian` (Boisvert, Pozo, Remington, NISTIR 5935).
    """,
)
UNSUPPORTED_MATRIX = Rule(
    "AL425",
    "unsupported kind of matrix",
    """
    Programs compute with reals. Complex and hermitian matrices are not read, and of the dense ones (`array`)
    only `real general` and `integer general`.
    """,
)
WRONG_SIZE_LINE = Rule(
    "AL426",
    "wrong size line",
    """
    After the comments comes one line of sizes: rows, columns and stored entries (`coordinate`), or rows and
    columns (`array`). Rows and columns are at least 1; a symmetric matrix is square.
    """,
)
WRONG_ENTRY = Rule(
    "AL427",
    "malformed entry",
    """
    An entry of a coordinate file is a line with a row, a column and a value; of a `pattern` file, a row and a
    column; of an `array` file, a value. Rows and columns are integers that count from 1.
    """,
)
INDEX_OUT_OF_RANGE = Rule(
    "AL428",
    "index out of range",
    "Rows count from 1 to the number of rows of the size line, columns from 1 to its number of columns.",
)
NOT_FINITE = Rule(
    "AL429",
    "value is not a finite number",
    "A NaN, an infinity, or a number (or a sum of duplicate entries) beyond the range of a 64-bit real.",
)
TOO_FEW_ENTRIES = Rule(
    "AL430",
    "fewer entries than announced",
    "The file ends before all entries that its size line announces: it is most likely truncated.",
)
TOO_MANY_ENTRIES = Rule(
    "AL431",
    "more entries than announced",
    "Lines follow after all entries that the size line announces.",
)
WRONG_TRIANGLE = Rule(
    "AL432",
    "entry outside the stored triangle",
    """
    A symmetric file stores entries on and below the diagonal, a skew-symmetric one those below it; the others
    follow by symmetry. An entry elsewhere would be counted twice or contradict another.
    """,
)
MATRIX_TOO_LARGE = Rule(
    "AL433",
    "matrix does not fit memory",
    """
    The sizes that the file announces, or the blocked form asked for, would need more memory than is
    available. The estimate is in the message; nothing was allocated.
    """,
)
WRONG_BLOCK_SIZE = Rule(
    "AL434",
    "wrong block size",
    "A block size is an integer from 1 to 2^31, and a power of 2 where entries are in Z-Morton order.",
)
