"""The registry contains all names of machines and formulas: quantities, metrics and constants, each with its unit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from archline.energy.units import Dimension, Unit, parse_dimension, parse_unit
from archline.language import metrics
from archline.language.diagnostics import find_closest
from archline.records import record


@record(slots=True)
class QuantityDefinition:
    """The meaning of a name, and its base unit; `value` is set for constants alone."""

    name: str
    unit: str
    meaning: str
    value: Fraction | None = None

    @property
    def dimension(self) -> Dimension:
        return parse_dimension(self.unit)


def _make_registry(*rows: tuple[str, str, str]) -> Mapping[str, QuantityDefinition]:
    return MappingProxyType({name: QuantityDefinition(name, unit, meaning) for name, unit, meaning in rows})


LEVELS = ("L1", "L2", "L3", "L4")
"""The levels of caches that a machine may have, from the processor on."""
LEVEL_QUANTITIES = {
    "capacity": ("B", "size of one cache of level {}"),
    "line": ("B/line", "bytes in a line of level {}"),
    "bandwidth": ("B/s", "bandwidth of all caches of level {} together, towards the processor"),
    "energy": ("J/B", "energy of a byte that level {} serves"),
    "shared": ("1", "cores that share one cache of level {}"),
}
"""The quantities of a level in a machine file, each with its unit and meaning: in formulas `L1_capacity` and so on."""


QUANTITIES = _make_registry(
    # ICE: Tran and Ha 2016, Table 2.
    ("eps_op", "J/op", "dynamic energy of one operation"),
    ("pi_op", "J/op", "static energy while one operation is performed"),
    ("eps_io", "J/line", "dynamic energy of one cache-line transfer"),
    ("pi_io", "J/line", "static energy while one cache line is transferred"),
    # Energy roofline: Choi et al. 2013, Table I.
    ("tau_flop", "s/flop", "time of a flop at peak throughput"),
    ("tau_mem", "s/B", "time of a byte at peak bandwidth"),
    ("eps_flop", "J/flop", "energy of a flop"),
    ("eps_add", "J/flop", "energy of an addition or subtraction"),
    ("eps_mul", "J/flop", "energy of a multiplication"),
    ("eps_div", "J/flop", "energy of a division"),
    ("eps_mem", "J/B", "energy of a byte moved to or from slow memory"),
    ("eps_cache", "J/B", "energy of a byte moved to or from the caches"),
    ("pi0", "W", "constant power: drawn as long as the computation runs"),
    ("power_limit", "W", "maximum power that the device may draw"),
    ("peak", "flop/s", "peak throughput"),
    ("peak_scalar", "flop/s", "peak throughput without vector instructions"),
    ("peak_sustained", "flop/s", "highest throughput measured"),
    ("bandwidth", "B/s", "peak bandwidth of slow memory"),
    ("bandwidth_sustained", "B/s", "highest bandwidth measured"),
    ("power_idle", "W", "power of the idle device"),
    ("power_max", "W", "power while all cores compute"),
    ("power_rated", "W", "thermal design power"),
    # Perfect strong scaling: Demmel et al. 2013, equations (1) and (2).
    ("gamma_t", "s/flop", "time of a flop on one processor"),
    ("beta_t", "s/word", "time of a word sent: reciprocal bandwidth"),
    ("alpha_t", "s/message", "time of a message: latency"),
    ("gamma_e", "J/flop", "energy of a flop"),
    ("beta_e", "J/word", "energy of a word sent"),
    ("alpha_e", "J/message", "energy of a message"),
    ("delta_e", "J/word/s", "energy of a word stored, per second"),
    ("eps_e", "W", "leakage power of one processor"),
    ("memory_max", "word", "memory of one processor"),
    ("message_max", "word", "largest message"),
    # Two levels: the same within a node, equations (12) and (17); those above are then between nodes.
    ("node_beta_t", "s/word", "time of a word sent within a node"),
    ("node_alpha_t", "s/message", "time of a message within a node"),
    ("node_beta_e", "J/word", "energy of a word sent within a node"),
    ("node_alpha_e", "J/message", "energy of a message within a node"),
    ("node_delta_e", "J/word/s", "energy of a word stored in the memory that a node shares, per second"),
    # Balance principles: Czechowski et al. 2011, figure 1 and Table 1.
    ("core_rate", "op/s", "operations that one core performs per second"),
    ("cores", "1", "cores"),
    ("latency", "s", "latency of slow memory"),
    ("fast_memory", "B", "size of fast memory"),
    # Sizes and parts.
    ("word", "B/word", "bytes in a word"),
    ("line", "B/line", "bytes in a cache line"),
    *(
        (f"{level}_{name}", unit, meaning.format(level[1:]))
        for level in LEVELS
        for name, (unit, meaning) in LEVEL_QUANTITIES.items()
    ),
    ("frequency", "Hz", "clock of a core"),
    ("simd", "1", "single-precision operands of one SIMD instruction"),
    ("flop_per_cycle", "flop", "flops of one SIMD lane in a cycle"),
    ("efficiency", "flop/J", "peak throughput over rated power"),
    ("link_bandwidth", "B/s", "bandwidth of the link between processors"),
    ("link_power", "W", "power of the link while it transfers"),
    ("dimm_power", "W", "power of one memory module"),
    ("dimms", "1", "memory modules of a processor"),
)

PER_LEVEL = MappingProxyType({f"{level}_{name}": (level, name) for level in LEVELS for name in ("io", "bytes")})
"""The metrics of each level of caches, with the level and the metric that is taken of a cache of its size."""

METRICS = _make_registry(
    *((metric.name, metric.unit, metric.doc) for metric in metrics.METRICS.values() if metric.taken),
    *(
        (name, metrics.METRICS[of].unit, f"{metrics.METRICS[of].doc}: level {level[1:]}")
        for name, (level, of) in PER_LEVEL.items()
    ),
    ("P", "1", "processors"),
    ("nodes", "1", "nodes, of several processors each"),
    ("Z", "word", "words of fast memory"),
    ("L", "word/line", "words in a cache line"),
)

CONSTANTS = MappingProxyType(
    {
        name: QuantityDefinition(name, unit, meaning, Fraction(1))
        for name, unit, meaning in (
            ("flop_per_op", "flop/op", "a flop is an operation"),
            ("message_per_line", "message/line", "a cache line is moved by one message"),
            ("per_word", "1/word", "a word is counted"),
            ("byte_per_word", "B/word", "`bytes` are those of words of 8 B"),
            ("latency_per_op", "1/op", "each operation of the critical path waits for slow memory once"),
        )
    }
)

FORMULA_NAMES: Mapping[str, QuantityDefinition] = MappingProxyType({**QUANTITIES, **METRICS, **CONSTANTS})
"""All names that a formula may contain."""


MAX_SHOWN = 40
"""The number of characters of a text that a message shows."""
NUMERAL = r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?"
AMOUNT = re.compile(rf"({NUMERAL})\s*(?![eE][0-9+-])([^\W\d_].*)")
"""A decimal numeral followed by a unit: `10pJ/flop`, `10 pJ/flop`."""
_QUANTITY_SYNONYMS = {"tdp": "power_rated", "clock": "frequency", "cache": "fast_memory", "flops": "peak"}
_UNIT_SPELLINGS = {
    "/": r"\s*(?:/|\bper\b)\s*",
    "s": r"(?<=/)s(?:ec(?:onds?)?)?\b",
    "flop/s": r"flop(?:s?/s|s)\b",
    "flop": r"flop\b",
    "B": r"bytes?\b",
    "J": r"j(?:oules?)?\b",
    "W": r"w(?:atts?)?\b",
    "Hz": r"hz\b",
}


def parse_capacity_unit(name: str, written: str) -> tuple[Unit | None, str]:
    """Return the unit of a quantity, and its text: KB, MB and so on of caches are powers of 1024, as vendors count."""
    match = re.fullmatch(r"([kKMGT])B", written.strip())
    if match is None or not (name == "fast_memory" or name.endswith("_capacity")):
        return parse_unit(written), written
    power = 10 * ("KMGT".index(match[1].upper()) + 1)
    return Unit(Fraction(2**power), parse_dimension("B")), f"{written} of 2^{power} B"


def correct_unit(text: str) -> str:
    """Correct the spelling of a unit: `GFLOPS` is Gflop/s, `MB/sec` MB/s, `pJ per FLOP` pJ/flop; b stands for bits."""
    for right, wrong in _UNIT_SPELLINGS.items():
        text = re.sub(wrong, right, text, flags=re.IGNORECASE)
    return re.sub(r"\b[gtK](?=flop|B\b|J|W|Hz)", lambda prefix: prefix[0].swapcase(), text)


def suggest_unit(written: str, base: str) -> str:
    """Suggest a unit in place of a text that is not a unit, or not one of the dimension of `base`."""
    if base == "B" and (match := re.fullmatch(r"([kmgt])i?b?", written.strip(), re.IGNORECASE)):
        return f"write {match[1].upper()}iB"
    if base == "B" and re.fullmatch(r"w|words?", written.strip()):
        return "multiply by the number of bytes in a word, and write B"
    meant = correct_unit(written)
    unit = parse_unit(meant)
    lacking = "" if unit is None or base == "1" else str(parse_dimension(base).times(unit.dimension, -1))
    if lacking == "1" or lacking.startswith("1/"):
        return f"write {meant}{lacking[1:]}"
    prefix = {"J": "p", "s": "n", "W": "", "1": ""}.get(
        base.partition("/")[0], "" if base in ("B/word", "B/line") else "G"
    )
    bits = "; 8 bits are 1 B" if re.search(r"bit|b(?:ps)?\b", written) else ""
    return f"its unit is {base}" + (f", or {prefix}{base}, ..." if prefix else "") + bits


def suggest_number(written: str) -> str | None:
    """Suggest a numeral for a text that is not a number; None if no correction is clear."""
    match = AMOUNT.fullmatch(written)
    if match is not None and parse_unit(correct_unit(match[2])) is not None:
        return f'write value = "{match[1]}" and unit = "{correct_unit(match[2])}"'
    corrected = re.sub(r"(?<=\d)[ ,'_](?=\d{3}\b)", "", written).replace(",", ".")
    return (
        f'write "{corrected}", with a decimal point and no separators'
        if re.fullmatch(NUMERAL, corrected) and corrected != written
        else None
    )


def find_meant_quantity(name: str) -> str | None:
    """Return the quantity with this name or a similar one (`memory_bandwidth`: `bandwidth`); None if there is none."""
    parts = re.split(r"\W|_", name.lower())
    candidates = [part for part in (*parts, *map(_QUANTITY_SYNONYMS.get, parts)) if part in QUANTITIES]
    return find_closest(name, QUANTITIES, 0.85) or next(iter(candidates), None) or find_closest(name, QUANTITIES)


def suggest_quantity(name: str) -> str | None:
    """Return a hint with the quantity that a name may mean; None if none is similar."""
    meant = find_meant_quantity(name)
    return f"did you mean `{meant}`?" if meant else None


def shorten_text(text: str) -> str:
    """Return the first MAX_SHOWN characters of a user's text, for a message."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
