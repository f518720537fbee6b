"""Rules about machine files, energy models and formulas are defined here (AL450 to AL469, AL490 to AL493)."""

from archline.language.diagnostics import Rule

UNKNOWN_MACHINE = Rule(
    "AL450",
    "unknown machine",
    """
    A machine is named after its file in `machines/`, such as `xeon-e5-2650l-v3`, or by folder and file, such
    as `ice/xeon-e5-2650l-v3`; `archline machines` lists them. `NAME@VARIANT` picks a variant, such as
    `gtx-580@single`. A machine of your own is the path of its `.toml` file.
    """,
)
AMBIGUOUS_MACHINE = Rule(
    "AL451",
    "several machines have this name",
    "Two folders of `machines/` have a file of this name. Give the folder too: `ice/NAME`.",
)
NOT_TOML = Rule(
    "AL452",
    "machine file is not TOML",
    """
    A machine file is a regular file of TOML text: a title, and one table `[quantity.NAME]` for each number.

        title = "My server"

        [quantity.eps_op]
        value = "0.263"
        unit = "nJ/op"
        kind = "measured"
        source = { note = "RAPL, 2025-03-01" }
    """,
)
MACHINE_FORM = Rule(
    "AL453",
    "machine file has the wrong form",
    """
    The keys are `title` (required), `processor`, `notes` (a list of texts), `extends` (another machine, whose
    quantities this one begins with), `year` (of the figures), `default_variant`, tables `[quantity.NAME]`,
    `[level.L1.quantity.NAME]` for the levels of caches, L1 to L4, and both with the prefix `variant.VARIANT.`. A level
    has `capacity` (of one of its caches), `line`, `bandwidth`, `energy` and `shared`. A quantity has `value`, `unit`,
    `kind` and `source`, or `from` (a formula of other quantities) and `unit`; optional keys are `check` (a formula that
    gives the same number), `error` (of the value, in its unit), `scope` (what was measured), `doubling_years` and
    `halving_years`. Kinds are `peak`, `measured`, `fitted`, `rated`, `inferred`, `assumed` and `definition`. Other keys
    are refused, so that a misspelt one does not go unnoticed.
    """,
)
UNKNOWN_UNIT = Rule(
    "AL454",
    "unknown unit",
    """
    A unit is a base unit (`J`, `s`, `W`, `Hz`, `B`, `flop`, `op`, `word`, `line`, `message`, or `1` for a
    count), with an optional prefix from `f` to `P` (`nJ`, `GHz`, `MB`; powers of 1000, and `KiB`, `MiB`,
    `GiB`, `TiB` of 1024), multiplied or divided by other units: `pJ/B`, `Gflop/s`, `nJ/word/s`. What data sheets call
    GFLOPS is Gflop/s. For sizes of caches (`fast_memory`, the `capacity` of a level) `KB`, `kB`, `MB` and `GB` are
    powers of 1024 too, as vendors count them; pages then show `32 MB of 2^20 B`.
    """,
)
MISSING_SOURCE = Rule(
    "AL455",
    "number without a source",
    """
    Every number of a machine says where it is from: `source = { document = "choi2013", place = "Table III" }` with a
    document of `machines/documents.toml`, or in a file of your own `source = { note = "measured with RAPL, 2025-03-01"
    }`. Results that depend on it quote the source.
    """,
)
NOT_A_NUMBER = Rule(
    "AL456",
    "not a number",
    """
    A value is a decimal numeral in quotes, such as `"0.263"` or `"1.8e-9"`, so that it is read exactly; a
    bare TOML float would be rounded to binary before it is used. It has at most 40 digits on either side of the point,
    and its exponent at most two.
    """,
)
IMPOSSIBLE_NUMBER = Rule(
    "AL457",
    "number that no machine has",
    """
    Times, energies and powers of a machine are 0 or more; rates and sizes are above 0. A word, a line and the number of
    cores are whole numbers, a line is a whole number of words, and the fast memory has room for at least one line. A
    cache of a level is a whole number of lines, and at least as large as a cache of the level before it.
    """,
)
UNSUITED_MACHINE = Rule(
    "AL458",
    "the machine lacks what the model needs",
    """
    An energy model reads certain quantities of a machine: ICE reads `eps_op`, `pi_op`, `eps_io` and `pi_io`. The
    message names those that are missing; `--parameter NAME=VALUE` gives one for this command, `archline machines` lists
    the models that each machine suits. Divisors in a model must be above 0: `power_limit - pi0` in `roofline+cap`.
    """,
)
UNKNOWN_MODEL = Rule(
    "AL459",
    "unknown energy model",
    "The message lists the models there are, or the options of the model: `roofline+cap`, `linear+overlap`.",
)
WRONG_AMOUNT = Rule(
    "AL460",
    "amounts that no execution has",
    """
    An energy model takes the costs of an execution: 1 <= span <= work (the outermost call counts 1 in both), and no
    amount below 0. Bounds on an amount are given with the lower one first.
    """,
)
DIMENSION = Rule(
    "AL461",
    "wrong dimension",
    """
    Every quantity has one dimension (`eps_mem` is in J/B: a value in pJ/word is refused), and so has every formula:
    energies are only added to energies, and flop/B is not compared with flop/word. Units multiply and divide as their
    quantities do, so that `1/peak` is in s/flop. Only the quantity `word` converts words to bytes, and only `L`
    converts lines to words.
    """,
)
FORMULA = Rule(
    "AL462",
    "formula that gives no number",
    """
    Formulas of machine files (`from`, `check`) and of targets (`"linear:F=n^3/P,..."`) are written in the language's
    syntax: numbers, names, `+ - * / ^`, and `min max sqrt log2 floor ceil`. Every name must be known, and no divisor
    may be 0.
    """,
)
EXTENDS = Rule(
    "AL463",
    "machine that extends itself",
    "A machine that `extends` another begins with its quantities; none may extend itself, directly or indirectly.",
)
UNKNOWN_VARIANT = Rule(
    "AL464",
    "unknown variant of a machine",
    "Variants are the tables `[variant.NAME]` of a machine file; `archline machines NAME` lists them.",
)
PARAMETER = Rule(
    "AL465",
    "wrong parameter",
    """
    `--parameter NAME=VALUE` sets or overrides a quantity of the machine: `gamma_t=2.5e-12` in the quantity's base unit,
    or with another unit, `"gamma_t=2.5 ps/flop"` or `gamma_t=2.5ps/flop`. Quantities that the machine file computes
    from it change accordingly.
    """,
)
TARGET = Rule(
    "AL466",
    "wrong target of formulas",
    """
    A target is an algorithm, or formulas typed by hand: a model, and a formula of sizes for each amount that the model
    takes, such as `"linear:F=f*n^2/P,W=n^2/(P*M),S=n^2/(P*M*m)"` or `"ice:work=3*n^3,span=n,io=n^3/L"`.
    """,
)
MEASUREMENTS = Rule(
    "AL467",
    "measurements that cannot be read",
    """
    Measurements are CSV: a header with the names of the columns, then one row per run, numbers in SI units. For the
    roofline the columns are `flops`, `bytes`, `seconds` and `joules`, and optionally `precision` (single, double or
    half); for ICE `work`, `span`, `io` (cache lines) and `joules`. Other columns are ignored, and so are lines that
    begin with `#`. Columns may be separated by semicolons or tabs instead of commas. Numbers are written as 1.5e9,
    without units and thousands separators.

        flops,bytes,seconds,joules,precision
        2.0e11,1.6e9,1.03,174.2,double
    """,
)
NOT_DETERMINED = Rule(
    "AL468",
    "parameters that the measurements do not determine",
    """
    Two columns of the measurements are nearly proportional: flops and seconds, for example, where all runs are
    compute-bound. Then the energy can be divided between the two parameters arbitrarily, and a fit is meaningless. The
    message names them and the runs to add. Runs over a wide range of flops per byte, from far below to far above the
    balance of the machine, determine all parameters.
    """,
)
COUNTERS = Rule(
    "AL469",
    "no energy counters",
    """
    Energy is read from the files of Linux's powercap (RAPL, `/sys/class/powercap/intel-rapl:*/energy_uj`), which only
    root may read since 2020 (CVE-2020-8694), or from NVML for NVIDIA GPUs.
    """,
)
CONSTRAINT = Rule(
    "AL490",
    "wrong constraint of an optimisation",
    """
    `--subject` compares two formulas by `<=`, `>=` or `==`: of `time`, `energy`, `power`, `energy_delay` and
    `flops_per_joule`, of metrics, of the machine's quantities and of sizes. The right side may be a number with a unit:
    `"time <= 2 ms"`, `"power/P <= 20 W"`, `"memory <= memory_max"`, `"flops_per_joule >= 75 Gflop/J"`.
    """,
)
UNBOUNDED = Rule(
    "AL491",
    "optimisation without an end",
    """
    Sizes of an algorithm are taken from the values that its facts allow (`c divides g`, `P is power of 7`) or from a
    range: `--over c=1..64`. A variable that no fact limits needs a range; a real variable of formulas needs one if
    time, energy or power would decrease without limit. If facts leave more than 10^6 points, boxes are searched.
    """,
)
NOT_SIGNOMIAL = Rule(
    "AL492",
    "formula that cannot be minimised over real numbers",
    """
    Over real numbers, sums of products of powers can be minimised, also with `max`, roots and quotients, but not with
    `floor`, `ceil` or the logarithm of a variable. Over whole numbers, `--integer P` with a range, every formula can.
    """,
)
LISTING = Rule(
    "AL493",
    "listing of a machine that cannot be read",
    """
    `archline machines new NAME --from lscpu FILE` reads what `LC_ALL=C lscpu` prints, as text or with `-J`, also with
    the table of `lscpu -C` after it; `--from nvidia-smi FILE` reads what `nvidia-smi -q` prints, also with `-x`, or
    with `--query-gpu=name,clocks.max.sm,power.default_limit,memory.total --format=csv`. The draft leaves out the
    quantities whose rows are missing, and lists them.
    """,
)
