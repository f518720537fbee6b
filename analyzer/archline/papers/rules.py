"""List the rules about the files of papers (AL610 to AL614)."""

from archline.language.diagnostics import Rule

UNKNOWN_PAPER = Rule(
    "AL610",
    "unknown paper",
    "A paper is named after its file in `papers/`, such as `scaling`; or it is the path of a `.toml` file of your own.",
)
NOT_TOML = Rule(
    "AL611",
    "file of a paper is not TOML",
    """
    The file of a paper is TOML text: `title`, `document`, the paper's own `[numbers]`, and a table `[[row]]` for each
    printed form.

        title = "Perfect strong scaling using no additional energy"
        document = "demmel2013"

        [[row]]
        place = "(9)"
        kind = "model"
        printed = "gamma_t*n^3/p + beta_t*n^3/(M^(1/2)*p) + alpha_t*n^3/(m*M^(1/2)*p)"
        model = "linear"
        of = "time"
        with = { flops = "n^3/p", words = "n^3/(p*M^(1/2))", messages = "n^3/(p*m*M^(1/2))", P = "p", memory = "M" }
    """,
)
ROW_FORM = Rule(
    "AL612",
    "row of a paper has the wrong form",
    """
    A row has `place` (or several, `Table I, Table II`), `printed` and `kind`, which names its recipe, and the inputs of
    that recipe. Optional keys are `quote`, `subject`, `assumes` (a list of texts), `remark` (shown before the reason of
    a difference), `reading` (another reading of the text: in words as `says`, and inputs that replace the row's own; if
    the print holds only with these, its verdict is `reading`), `define` (parts of the printed form, as the paper names
    them), `at` (numbers that replace the paper's own) and `widest` (why a claim holds without its facts too). A row has
    no verdict: that is computed. The recipes and their inputs are in
    [CONTRIBUTING](../../CONTRIBUTING.md#a-row-of-a-paper).
    """,
)
ROW_FORMULA = Rule(
    "AL613",
    "row of a paper has a text that cannot be read",
    """
    Printed forms are in the language's syntax: `2*n^3/(p*M^(1/2))`, `M <= n^2/p`. A number is followed by its unit,
    `25.60 GB/s`; in addition to the units of machine files there are `bit` and its multiples.
    """,
)
NO_ROW = Rule(
    "AL614",
    "no row of that place",
    "`--place` takes a place as the paper's file has it: `(19)`, `Table II`, `section V.B`.",
)
