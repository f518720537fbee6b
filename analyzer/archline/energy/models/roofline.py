"""The energy roofline: Choi, Bedard, Fowler and Vuduc, IPDPS 2013, equations (1) to (8), sections V-B and V-C.

* (1)-(4) T = max(W*tau_flop, Q*tau_mem), E = W*eps_flop + Q*eps_mem + pi0*T, with W flops and Q bytes.
* (5), (6) the same, as E = W*eps_hat*(1 + B_hat(I)/I) with the intensity I = W/Q, eps_hat = eps_flop + pi0*tau_flop,
  eta = eps_flop/eps_hat and the effective energy balance B_hat(I) = eta*B_eps + (1 - eta)*max(0, B_tau - I).
* Power cap (V-B): where E_dyn/T + pi0 would pass the limit, the run takes T = E_dyn/(P_cap - pi0) instead; P_cap has to
  be above pi0. It is a model: the GTX 580 ran single precision faster than its 244 W allow here (1398 Gflop/s
  measured, 1224 under the cap).
* Cache energy (V-C): eps_cache for each byte read from or written to the caches, here each element accessed once.
  With one level of caches, of that energy, `levels` is the same.

Greenup (section II-E): the general condition is cut off in our copy of the paper. Derived from (2): an algorithm with
f*W flops and Q/m bytes takes less energy than (W, Q) iff f*W*eps_flop + (Q/m)*eps_mem + pi0*T(f, m) < E(1, 1).
Dividing by W*eps_flop gives, with both memory-bound (I < B_tau and f*m*I < B_tau),
f < 1 + (1 - 1/m)*(eps_mem + pi0*tau_mem)/(I*eps_flop); with both compute-bound,
f < 1 + (1 - 1/m)*eps_mem/(eps_hat*I).
"""

from fractions import Fraction

from archline.energy.levels import WORD_CONVERSION, with_cache_levels
from archline.energy.model import Figure, Model, Option

_BY_KIND = "eps_add*additions + eps_mul*multiplications + eps_div*divisions + eps_flop*other_flops"
_EPS_HAT = "(eps_flop + pi0*tau_flop)"
_INTENSITY, _B_TAU, _B_EPS = "(flops/traffic)", "(tau_mem/tau_flop)", "(eps_mem/eps_flop)"
_ETA = f"(eps_flop/{_EPS_HAT})"
_B_HAT = f"({_ETA}*{_B_EPS} + (1 - {_ETA})*max(0, {_B_TAU} - {_INTENSITY}))"

MODEL = Model(
    name="roofline",
    title="the energy roofline",
    source="Choi, Bedard, Fowler and Vuduc, IPDPS 2013, equations (1) to (8)",
    inputs=("flops", "traffic"),
    essential="time",
    definitions={
        "flop_energy": "flops*eps_flop",
        "cache_energy": "0",
        "dynamic_energy": "flop_energy + traffic*eps_mem + cache_energy",
    },
    time="max(flops*tau_flop, traffic*tau_mem)",
    energy={"computation": "flops*eps_flop", "memory": "traffic*eps_mem", "constant": "pi0*time"},
    sides={"computation": "flops*tau_flop", "memory": "traffic*tau_mem"},
    figures={
        "intensity": Figure(_INTENSITY, "flop/B", "I = W/Q"),
        "time balance": Figure(_B_TAU, "flop/B", "B_tau, (3): memory takes longer than computation below it"),
        "energy balance": Figure(_B_EPS, "flop/B", "B_eps, (4)"),
        "effective energy balance": Figure(_B_HAT, "flop/B", "B_hat(I), (6)"),
        "of peak flop/s": Figure("flops*tau_flop/time", "1", "roofline, (3)"),
        "of peak flop/J": Figure(f"flops*{_EPS_HAT}/energy", "1", "arch line, (5)"),
    },
    letters={"W": "flops", "Q": "traffic"},
    conversions={
        "traffic": f"bytes{WORD_CONVERSION}",
        "bytes": "io*L*8*byte_per_word",
        "tau_flop": "1/peak",
        "tau_mem": "1/bandwidth",
        "eps_add": "eps_flop",
        "eps_mul": "eps_flop",
        "eps_div": "eps_flop",
    },
    options={
        "cap": Option(
            "the run is slowed down until its power is at most `power_limit` (section V-B)",
            time="max(flops*tau_flop, traffic*tau_mem, dynamic_energy/(power_limit - pi0))",
            sides={"power cap": "dynamic_energy/(power_limit - pi0)"},
            positive=("power_limit - pi0",),
        ),
        "cache": Option(
            "each element accessed costs `eps_cache` a byte (section V-C)",
            energy={"cache": "eps_cache*accesses*word"},
            definitions={"cache_energy": "eps_cache*accesses*word"},
            inputs=("accesses",),
            error="median 4.1 % on the variants of the FMM U-list that use the caches alone (section V-C)",
            accuracy=Fraction("0.041"),
        ),
        "kinds": Option(
            "additions, multiplications and divisions cost `eps_add`, `eps_mul` and `eps_div`, other flops `eps_flop`",
            energy={"computation": _BY_KIND},
            definitions={"flop_energy": _BY_KIND},
            inputs=("additions", "multiplications", "divisions", "other_flops"),
        ),
        "levels": Option(
            "each level of the machine's caches takes time and energy for the bytes that it serves",
            inputs=("accesses",),
            error="none stated; with one level, as `roofline+cache`, median 4.1 % where only the caches are used",
            convention="each level is one ideal cache, of the capacity of one of its caches, in the serial order; its "
            "bandwidth is that of all its caches; L1 also serves what registers would; as several caches of a level "
            "have more room than one, the time is not a lower bound",
            completed=with_cache_levels,
            without=("cache",),
        ),
        "tdp": Option(
            "the energy is at most `power_rated` times the time, for machines without measured energies",
            energy={"thermal design power": "power_rated*time"},
            error="the energy is an upper bound, not an estimate: it holds if the run takes no longer than the model"
            " says and draws at most the thermal design power, a figure for the cooling and not a measured maximum",
            at_most=True,
        ),
    },
    error="33 % too low on average on the FMM U-list, whose cache traffic it leaves out (section V-C)",
    accuracy=Fraction("0.33"),
    leaves_out=(
        "energy of the caches (`roofline+cache` has it, `roofline+levels` by level)",
        "time of the caches (`roofline+levels` has it)",
        "a limit on power (`roofline+cap` has it)",
        "latency, and what does not overlap: without levels its time is a lower bound",
        "data-dependent power",
    ),
    convention="flops are flops; traffic is what is fetched and written back; peak rates are the whole device's",
)
