"""The linear model between and within nodes: Demmel, Gearhart, Lipshitz and Schwartz, IPDPS 2013, (12) and (17).

pn nodes of pl cores, P = pn*pl. A core sends `words` in `messages` to other nodes, `node_words` in `node_messages` to
cores of its own; the paper's Wn and Sn are those of a node, pl times those of a core, over the one link that it has.

* T = gamma_t*F + betan_t*Wn + alphan_t*Sn + betal_t*Wl + alphal_t*Sl; (12) and (17) print it without latency, for
  which beta is replaced by beta + alpha/m.
* E = P*(gamma_e*F + betal_e*Wl + alphal_e*Sl + (deltan_e*Mn/pl + deltal_e*Ml + eps_e)*T) + pn*(betan_e*Wn +
  alphan_e*Sn).

With F = n^3/P, Wn = n^3/(pn*sqrt(Mn)) and Wl = n^3/(P*sqrt(Ml)) that is (12), whose time has n^2 for n^3. With
F = f*n^2/P, Wn = n^2/(pn*Mn) and Wl = n^2/(P*Ml) it is (17) but for one term: pn*betan_e*Wn is betan_e*n^2/Mn, and
printed is pl times that, which (12) does not have.

If a machine has no costs within a node (`node_beta_t` = 0 and so on), all costs are between nodes. Ml is the memory of
a core; Mn that of its node, which is pl times that of a core unless it is given.
"""

from archline.energy.model import Figure, Model, Option

MODEL = Model(
    name="two_level",
    title="the linear model of perfect strong scaling on two levels",
    source="Demmel, Gearhart, Lipshitz and Schwartz, IPDPS 2013, equations (12) and (17)",
    inputs=("flops", "words", "messages", "node_words", "node_messages", "memory", "node_memory", "P", "nodes"),
    definitions={
        "cores_per_node": "P/nodes",
        "between": "beta_t*words*cores_per_node + alpha_t*messages*cores_per_node",
        "within": "node_beta_t*node_words + node_alpha_t*node_messages",
    },
    time="gamma_t*flops + between + within",
    energy={
        "computation": "P*gamma_e*flops",
        "between nodes": "P*(beta_e*words + alpha_e*messages)",
        "within nodes": "P*(node_beta_e*node_words + node_alpha_e*node_messages)",
        "memory": "(P*delta_e*memory + nodes*node_delta_e*node_memory)*time",
        "leakage": "P*eps_e*time",
    },
    sides={"computation": "gamma_t*flops", "between nodes": "between", "within nodes": "within"},
    letters={
        "F": "flops", "W": "words", "S": "messages", "M": "memory",
        "Wl": "node_words", "Sl": "node_messages", "Mn": "node_memory", "pn": "nodes",
    },
    conversions={
        "node_memory": "memory*P/nodes",
        "node_words": "0",
        "node_messages": "0",
        "nodes": "P",
        "node_beta_t": "0",
        "node_alpha_t": "0",
        "node_beta_e": "0",
        "node_alpha_e": "0",
        "node_delta_e": "0",
    },
    options={
        "overlap": Option(
            "computation, transfer between nodes and within them overlap (footnote 1)",
            time="max(gamma_t*flops, between, within)",
        )
    },
    figures={"flops per word": Figure("flops/words", "flop/word", "between nodes")},
    processors="P",
    error="none stated",
    leaves_out=("contention on links", "processors that wait for each other", "data-dependent power"),
    convention="costs are those of one core, on the critical path; the cores of a node share its link",
)  # fmt: skip
