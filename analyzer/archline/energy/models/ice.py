"""ICE, the Ideal Cache Energy model: Tran and Ha, ICPADS 2016, arXiv 1605.08222, equations (6) to (15).

Derivation, in the paper's symbols (F cycles an operation, M cycles a line, Freq the clock):

* (6)   E = P_sta * max(T_comp, T_mem) + eps_op * Work + eps_io * IO.
* (7)-(10) eps_op = P_op * F/Freq, eps_io = P_io * M/Freq, pi_op = P_sta * F/Freq, pi_io = P_sta * M/Freq.
* T_comp = Span * F/Freq, so P_sta * T_comp = pi_op * Span. With that, (6) is (11) and (12), CPU-bound.
* T_mem = IO / (Work/Span) * M/Freq, so P_sta * T_mem = pi_io * IO * Span / Work. With that, (6) is (13) and
  (14), memory-bound.
* T_mem >= T_comp iff pi_io * IO * Span / Work >= pi_op * Span. Span and Work are positive, hence iff
  pi_io * IO >= pi_op * Work: which of the two binds does not depend on the span.
* (15) takes out pi_max = max(pi_op, pi_io) and keeps the maximum of Span and IO*Span/Work: the same max, up
  to constants of the platform.
* Span <= Work, so Span/Work is written min(1, Span/Work): the same number, and tighter where both are only bounded.
* T = max(T_comp, T_mem) is the static energy over P_sta, which is pi0 here. Table 3 does not give it; the energy
  roofline's constant power is P_sta where ICE's parameters were converted from that paper's (section 6.2).

What to know of the model before relying on it:

* The paper decides by kernel (SpMV memory-bound, matrix product CPU-bound). By its own equations it depends
  on the machine too: a kernel is CPU-bound where it does at least pi_io/pi_op operations a line, 60 on a GTX
  680 and 826 on a Xeon Phi 31S1P. Here the equations decide.
* T_comp is the span alone and T_mem divides by Work/Span, the most parallelism there is; neither knows a
  number of cores. Static energy is thus that of unlimited cores, a lower bound for any real number of them.
* By (9) F/Freq is the time of an operation on one core. Section 6.2 takes pi_op = pi_1 * tau_d, where tau_d
  is one over the flop rate of the whole platform. On a chain of dependent operations (Work = Span) the static
  energy with these parameters is too low by about the platform's peak parallelism.
* Section 6.2 prints pi_io = pi_1 * tau_mem with tau_mem a time per byte; (10) needs that of a line, pi_1 *
  tau_mem * B. Table 3 has the latter: for the i7-950 408.80 nJ / 64 B is 122 W / (19.1 GB/s).
"""

from archline.energy.model import Figure, Model

MODEL = Model(
    name="ice",
    title="ICE, the Ideal Cache Energy model",
    source="Tran and Ha, ICPADS 2016, equations (6) to (15)",
    inputs=("work", "span", "io"),
    definitions={"static_energy": "max(pi_op*span, pi_io*io*min(1, span/work))"},
    time="static_energy/pi0",
    energy={
        "computation": "eps_op*work",
        "memory": "eps_io*io",
        "static": "max(pi_op*span, pi_io*io*min(1, span/work))",
    },
    sides={"computation": "pi_op*work", "memory": "pi_io*io"},
    figures={
        "operations per line": Figure("work/io", "op/line", ""),
        "balance": Figure("pi_io/pi_op", "op/line", "(12), (14): CPU-bound above it"),
    },
    conversions={
        "tau_flop": "1/peak",
        "tau_mem": "1/bandwidth",
        "eps_op": "eps_flop*flop_per_op",
        "pi_op": "pi0*tau_flop*flop_per_op",
        "eps_io": "eps_mem*line",
        "pi_io": "pi0*tau_mem*line",
    },
    coarser={"computation": "eps_op*flops/flop_per_op"},
    unlimited=True,
    scale=("pi0",),
    processors="span",
    error="none stated: the paper compares ratios of energies, not energies (figures 5 to 8)",
    leaves_out=(
        "the number of cores: static energy is that of unlimited ones",
        "caches between the first level and memory",
        "data-dependent power",
    ),
    convention="eps_op multiplies work (flops, iterations, tests and calls); io counts cache misses",
)
