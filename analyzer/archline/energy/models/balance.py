"""Balance principles: Czechowski, Battaglino, McClanahan, Chandramowlishwaran and Vuduc, HotPar 2011, (1) to (6).

* (1) T_comp = (D + W/p)/C0 (Brent), (2) T_mem = alpha*D + Q*L/beta; the run is balanced where T_mem <= T_comp.
* (3) divides that by W/(p*C0) and L*Q/beta: (p*C0/beta)*(1 + (alpha*beta/L)/(Q/D)) <= (W/(Q*L))*(1 + p/(W/D)).
* (4) Kung's principle is (3) without latency and span: p*C0/beta <= W/(Q*L).
* (5), (6): for matrix products W/(Q*L) is at most sqrt(2)*sqrt(Z/p) (Irony et al.), for sorting O(log2(Z/p)).

Q is the number of lines that p cores transfer. Here it is the derived io of the serial order, which bounds a parallel
depth-first schedule on a shared cache of Z + p*D*L words (Blelloch et al., not in this paper); with `--procs` that of P
private caches, at most P times as much.

The paper gives no energy. Section 3 says when idling costs more than computing: T_mem/T_comp > P_max/P_idle. With those
two powers, E = P_max*T_comp + P_idle*(T_mem - T_comp), the latter where it is positive; idling then costs more iff
T_mem/T_comp > 1 + P_max/P_idle, as the cores do not idle while they compute.
"""

from archline.energy.model import Figure, Model

_BETA = "(bandwidth/word)"
_COMPUTING = "((span + work/cores)/core_rate)"
_MOVED = "(bytes/(L*8*byte_per_word))"
_TRANSFER = f"(latency*latency_per_op*span + {_MOVED}*L/{_BETA})"

MODEL = Model(
    name="balance",
    title="balance principles",
    source="Czechowski, Battaglino, McClanahan, Chandramowlishwaran and Vuduc, HotPar 2011, equations (1) to (6)",
    inputs=("work", "span", "bytes"),
    essential="time",
    definitions={"computing": _COMPUTING, "transferring": _TRANSFER},
    time="max(computing, transferring)",
    energy={
        "computing": "power_max*computing",
        "idling": "power_idle*max(0, transferring - computing)",
    },
    sides={"computation": "computing", "memory": "transferring"},
    figures={
        "machine balance": Figure(f"cores*core_rate/{_BETA}", "op/word", "p*C0/beta, left side of (4)"),
        "intensity": Figure(f"work/({_MOVED}*L)", "op/word", "W/(Q*L), right side of (4)"),
        "left side of (3)": Figure(
            f"(cores*core_rate/{_BETA})*(1 + (latency*latency_per_op*{_BETA}/L)/({_MOVED}/span))",
            "op/word",
            "machine, with Little's law",
        ),
        "right side of (3)": Figure(
            f"(work/({_MOVED}*L))*(1 + cores/(work/span))", "op/word", "algorithm, with Amdahl's law"
        ),
        "sqrt(Z/p)": Figure("sqrt(fast_memory/word*per_word/cores)", "1", "right side of (5): matrix products"),
        "log2(Z/p)": Figure("log2(fast_memory/word*per_word/cores)", "1", "right side of (6): sorting, FFT"),
    },
    letters={"W": "work", "D": "span", "Q": "io"},
    conversions={"bytes": "io*L*8*byte_per_word"},
    processors="cores",
    error="none stated: the principles hold up to constants",
    leaves_out=("energy, unless `power_max` and `power_idle` are given", "contention", "data-dependent power"),
    convention="an operation is one of work; lines are fetched and written back; each operation of the span waits for "
    "slow memory once",
)
