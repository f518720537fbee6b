"""Energies at many points, beside sympy; and how long comparisons take from a cold start.

Closed forms of the linear model (n-body, 2.5D) and the regimes of matmul_basic under ICE are evaluated over arrays of
sizes and machine parameters, beside sympy's `lambdify` over the same arrays and `evalf` at a few points. The last lines
time `archline compare` as a new process, beside starting Python with numpy and sympy.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import sympy
from common import parsed

import archline as al

POINTS = 10**6
EVALF = 200
TARGETS = {
    "n-body (15), (16)": "linear:F=f*n^2/P,W=n^2/(P*M),S=n^2/(P*M*m)",
    "2.5D matmul (9), (10)": "linear:F=n^3/P,W=n^3/(P*sqrt(M)),S=n^3/(P*m*sqrt(M))",
}
PAIRS = (
    ("dense.matmul::matmul_basic", "dense.matmul::matmul_co"),
    ("sparse.csr::spmv_csr", "sparse.csc::spmv_csc"),
    ("sort.mergesort::mergesort", "sort.insertion_sort::insertion_sort"),
)


def best(action: Callable[[], object], rounds: int = 3) -> float:
    """The least time of some rounds, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def rate(points: int, seconds: float) -> str:
    """Evaluations a second."""
    return f"{points / seconds:10.3g} a second"


def closed_forms(count: int) -> None:
    """Formulas typed by hand on the case study's machine, over sizes and one machine parameter."""
    random = np.random.default_rng(0)
    values = {name: random.integers(10**3, 10**6, count).astype(float) for name in ("n", "M")}
    values |= {"P": random.integers(1, 10**4, count).astype(float)}
    gamma = random.uniform(1e-12, 1e-11, count)
    for title, target in TARGETS.items():
        energy = al.energy(target, machine="jaketown")
        fixed = {"f": 20.0, "m": 1000.0}
        names = {name: value for name, value in {**values, **fixed}.items() if name in target}
        ours = best(lambda names=names, energy=energy: energy.upper_at(names, parameters={"gamma_t": gamma}))
        expr, symbols = symbolic(energy)
        order = [symbols[name] for name in (*names, "gamma_t")]
        compiled = sympy.lambdify(order, expr, "numpy")
        theirs = best(lambda names=names, compiled=compiled: compiled(*names.values(), gamma))
        found = energy.upper_at(names, parameters={"gamma_t": gamma})["energy"]
        assert np.allclose(found, compiled(*names.values(), gamma), rtol=1e-12)
        few = [{symbols[name]: np.broadcast_to(value, count)[k] for name, value in names.items()} for k in range(EVALF)]
        slow = best(
            lambda few=few, expr=expr, symbols=symbols: [
                expr.evalf(subs={**at, symbols["gamma_t"]: 2e-12}) for at in few
            ],
            1,
        )
        print(f"{title:<28}{rate(count, ours)}; lambdify {rate(count, theirs)} (ratio {theirs / ours:.2f}); "
              f"evalf {rate(EVALF, slow)} (ratio {slow / EVALF / (ours / count):.0f})")  # fmt: skip


def symbolic(energy: al.Energy) -> tuple[sympy.Expr, dict[str, sympy.Symbol]]:
    """The energy as a sympy expression in sizes and gamma_t."""
    names = ("n", "f", "P", "M", "m", "gamma_t")
    symbols = {name: sympy.Symbol(name, positive=True) for name in names}
    n, f, P, M, m, gamma = symbols.values()  # noqa: N806
    text = energy.result.algorithm
    flops, words, messages = (f * n**2 / P, n**2 / (P * M), n**2 / (P * M * m)) if "f*" in text else (
        n**3 / P, n**3 / (P * sympy.sqrt(M)), n**3 / (P * m * sympy.sqrt(M)))  # fmt: skip
    q = {name: float(value) for name, value in energy.result.machine.values.items()}
    run_time = gamma * flops + q["beta_t"] * words + q["alpha_t"] * messages
    total = P * (q["gamma_e"] * flops + q["beta_e"] * words + q["alpha_e"] * messages)
    return total + P * (q["delta_e"] * M * run_time + q["eps_e"] * run_time), symbols


def regimes(count: int) -> None:
    """matmul_basic under ICE: the least of its regimes at each point, then the model."""
    random = np.random.default_rng(1)
    sizes = {name: random.integers(16, 4096, count) for name in ("n", "m", "p")}
    cache = {"Z": random.integers(1024, 2**22, count), "L": 8}
    energy = al.energy("dense.matmul::matmul_basic", machine="xeon-e5-2650l-v3")
    ours = best(lambda: energy.upper_at({**sizes, **cache}))
    few = [{name: int(value[k]) for name, value in sizes.items()} for k in range(50)]
    one = best(
        lambda: [al.energy("dense.matmul::matmul_basic", machine="xeon-e5-2650l-v3", at=at).total for at in few], 1
    )
    print(f"{'matmul_basic, regimes':<28}{rate(count, ours)}; one by one, exact {rate(50, one)}")


def cold(pairs: Sequence[tuple[str, str]]) -> None:
    """New processes."""
    plain = best(lambda: subprocess.run([sys.executable, "-c", "import numpy, sympy"], check=True))
    print(f"\n{'python, numpy and sympy':<60}{plain:6.2f} s")
    launch = "import sys; from archline.cli.main import main; sys.exit(main())"
    for pair in pairs:
        command = [sys.executable, "-c", launch, "compare", *pair]
        taken = best(lambda command=command: subprocess.run(command, check=True, capture_output=True))
        names = " ".join(each.partition("::")[2] for each in pair)
        print(f"{'archline compare ' + names:<60}{taken:6.2f} s, ratio {taken / plain:.2f}")


def main() -> None:
    """Print the three parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=POINTS, help=f"how many points, {EVALF} at least")
    parser.add_argument("--pairs", type=int, default=len(PAIRS), help="how many comparisons from a cold start")
    options = parsed(parser, points=EVALF, pairs=1)
    closed_forms(options.points)
    regimes(options.points)
    cold(PAIRS[: options.pairs])


if __name__ == "__main__":
    main()
