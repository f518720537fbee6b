"""Rules about machine files and energy models (AL450 to AL469)."""

from archline.language.diagnostics import Rule

UNKNOWN_MACHINE = Rule(
    "AL450",
    "unknown machine",
    """
    A machine is named after its file in `machines/`, such as `xeon-e5-2650l-v3`, or by folder and file, such
    as `ice/xeon-e5-2650l-v3`; `archline machines` lists them. A machine of your own is the path of its
    `.toml` file.
    """,
)
AMBIGUOUS_MACHINE = Rule(
    "AL451",
    "several machines have this name",
    "Two folders of `machines/` hold a file of this name. Say which is meant: `ice/NAME`.",
)
NOT_TOML = Rule(
    "AL452",
    "machine file is not TOML",
    """
    A machine file is a regular file of TOML text: a title, and one table `[quantity.NAME]` for each number.

        title = "My server"

        [quantity.eps_op]
        value = "0.263"
        unit = "nJ"
        source = "measured with RAPL, 2025-03-01"
    """,
)
MACHINE_FORM = Rule(
    "AL453",
    "machine file has the wrong form",
    """
    The keys are `title` (required), `processor`, `notes` (a list of texts), and tables `[quantity.NAME]` with
    `value`, `unit`, `source` and, if you like, `meaning`, all of them texts. Other keys are refused, so that
    a misspelt one does not go unnoticed.
    """,
)
UNKNOWN_UNIT = Rule(
    "AL454",
    "unknown unit",
    """
    A unit is a base unit (`J`, `s`, `W`, `Hz`, `B`, `flop`, `op`, `word`, `line`, `message`, or `1` for a
    count), with a prefix from `f` to `P` if you like (`nJ`, `GHz`, `MB`; powers of 1000, and `KiB`, `MiB`,
    `GiB` of 1024), divided by any of them: `pJ/B`, `Gflop/s`, `nJ/word/s`.
    """,
)
MISSING_SOURCE = Rule(
    "AL455",
    "number without a source",
    """
    Every number of a machine says where it is from: a paper and its table, a data sheet, or a measurement
    with its method and date. Results that rest on it quote the source.
    """,
)
NOT_A_NUMBER = Rule(
    "AL456",
    "not a number",
    """
    A value is a decimal numeral in quotes, such as `"0.263"` or `"1.8e-9"`, so that it is read exactly; a
    bare TOML float would be rounded to binary before it is used. An exponent has at most two digits.
    """,
)
NEGATIVE_NUMBER = Rule(
    "AL457",
    "negative number",
    "Times, energies, powers, sizes and rates of a machine are zero or more.",
)
UNSUITED_MACHINE = Rule(
    "AL458",
    "the machine lacks what the model needs",
    """
    An energy model reads certain quantities of a machine, each of a given dimension: ICE reads `eps_op`,
    `pi_op`, `eps_io` and `pi_io`, all energies. The message names the quantity that is missing or is of
    another dimension.
    """,
)
UNKNOWN_MODEL = Rule(
    "AL459",
    "unknown energy model",
    "The message lists the models there are.",
)
WRONG_AMOUNT = Rule(
    "AL460",
    "amounts that no execution has",
    """
    An energy model takes the work, span and io of an execution: 1 <= span <= work (the outermost call counts
    1 in both), and io >= 0. Bounds on them are a lower end and an upper end, in that order.
    """,
)
