"""The linear model of perfect strong scaling: Demmel, Gearhart, Lipshitz and Schwartz, IPDPS 2013, (1) and (2).

* (1) T = gamma_t*F + beta_t*W + alpha_t*S, on the critical path; with overlap (footnote 1) the largest of the terms.
* (2) E = P*(gamma_e*F + beta_e*W + alpha_e*S + delta_e*M*T + eps_e*T), with F, W, S, M of one processor.

A program of shared memory is the sequential case (3), (4): P = 1, fast memory of M = Z words, W = io*L words in
S = io messages of one line. A machine that has the quantities of the energy roofline gives gamma, beta and eps_e; what
that model does not know (latency, storage) is then 0.
"""

from archline.energy.model import Figure, Model, Option

MODEL = Model(
    name="linear",
    title="the linear model of perfect strong scaling",
    source="Demmel, Gearhart, Lipshitz and Schwartz, IPDPS 2013, equations (1) and (2)",
    inputs=("flops", "words", "messages", "memory", "P"),
    time="gamma_t*flops + beta_t*words + alpha_t*messages",
    energy={
        "computation": "P*gamma_e*flops",
        "bandwidth": "P*beta_e*words",
        "latency": "P*alpha_e*messages",
        "memory": "P*delta_e*memory*time",
        "leakage": "P*eps_e*time",
    },
    sides={
        "computation": "gamma_t*flops",
        "bandwidth": "beta_t*words",
        "latency": "alpha_t*messages",
    },
    figures={"flops per word": Figure("flops/words", "flop/word", "")},
    letters={"F": "flops", "W": "words", "S": "messages", "M": "memory"},
    conversions={
        "tau_flop": "1/peak",
        "tau_mem": "1/bandwidth",
        "words": "io*L",
        "messages": "io*message_per_line",
        "memory": "Z",
        "P": "1",
        "gamma_t": "tau_flop",
        "beta_t": "tau_mem*word",
        "alpha_t": "0",
        "gamma_e": "eps_flop",
        "beta_e": "eps_mem*word",
        "alpha_e": "0",
        "delta_e": "0",
        "eps_e": "pi0",
    },
    options={
        "overlap": Option(
            "computation, bandwidth and latency overlap (footnote 1)",
            time="max(gamma_t*flops, beta_t*words, alpha_t*messages)",
        )
    },
    processors="P",
    error="none stated",
    leaves_out=("contention on links", "processors that wait for each other", "data-dependent power"),
    convention="flops, words, messages and memory are those of one processor, on the critical path",
)
