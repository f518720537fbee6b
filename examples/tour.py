"""The whole of archline in one output: derived costs, runs that check them, energy on eleven platforms, a comparison.

python examples/tour.py
"""

from __future__ import annotations

from pathlib import Path

import archline as al
from archline.api.running import run_at
from archline.energy.caches import Settings
from archline.energy.estimates import estimate_amounts
from archline.energy.machine_files import machines
from archline.energy.models import find_model

KERNELS = (
    "dense.matmul::matmul_basic",
    "dense.lu::lu",
    "dense.cholesky::cholesky_parallel",
    "stencil.jacobi_2d::jacobi_2d",
    "sparse.csr::spmv_csr",
    "sparse.csc::spmv_csc",
)
MATRICES = Path(__file__).resolve().parents[1] / "tests" / "data" / "matrices"
CACHE = al.Cache(Z=4096, L=8)


def derived() -> None:
    """The costs of dense and sparse kernels, derived from their sketches."""
    print("Derived from the sketches, for every size")
    for target in KERNELS:
        cost = al.algorithm(target).cost()
        print(f"\n  {target}")
        for metric in (cost.flops, cost.work, cost.span):
            print(f"    {metric.name:<6} {metric.status:<6}  {metric.text}")


def executed() -> None:
    """The same sketches run on data; every count is held against its derivation."""
    print(f"\nExecuted with a cache of {CACHE.Z} words in lines of {CACHE.L}, optimal replacement\n")
    print(f"  {'kernel':<36} {'data':<18} {'flops':>10} {'work':>10} {'span':>8} {'io':>8}  derived")
    sizes = {"n": 48, "m": 40, "p": 36, "steps": 4}
    for target in KERNELS[:4]:
        subject = al.algorithm(target)
        point = {name: value for name, value in sizes.items() if name in subject.sizes}
        row(
            target,
            " ".join(f"{name}={value}" for name, value in point.items()),
            subject.run(point, cache=CACHE),
        )
    for target in KERNELS[4:]:
        for path in sorted(MATRICES.glob("*.mtx*")):
            run = run_at(al.algorithm(target), {}, CACHE, Settings(chosen_cache=True, matrix=path))
            row(target, path.name.split(".")[0], run)


def row(target: str, data: str, run: al.Run) -> None:
    """One line of the table."""
    counts = run.counts
    verdict = "DIFFERS" if run.outside else "equal"
    print(f"  {target:<36} {data:<18} {counts.flops:>10} {counts.work:>10} {counts.span:>8} {counts.io:>8}  {verdict}")


def energies() -> None:
    """ICE energy of sparse matrix-vector multiplication on the platforms of the model's authors."""
    on_matrix = Settings(chosen_cache=True, matrix=MATRICES / "bcsstk16.mtx.gz")
    run = run_at(al.algorithm("sparse.csr::spmv_csr"), {}, CACHE, on_matrix)
    amounts = {"work": run.counts.work, "span": run.counts.span, "io": run.counts.io or 0}
    print("\nICE energy of spmv_csr on bcsstk16 (Tran and Ha, ICPADS 2016, equation 14), in microjoules\n")
    print(f"  {'platform':<24} {'computation':>12} {'memory':>10} {'static':>10} {'total':>10}  bound by")
    for machine in (each for each in machines() if each.collection == "ice"):
        estimate = estimate_amounts(find_model("ice"), machine, amounts)
        numbers = [float(term.upper) * 1e6 for term in estimate.terms.values()]
        columns = f"{numbers[0]:>12.2f} {numbers[1]:>10.2f} {numbers[2]:>10.2f} {sum(numbers):>10.2f}"
        print(f"  {machine.name:<24} {columns}  {estimate.binds}")


def comparison() -> None:
    """Which product of matrices takes less energy, from derived bounds alone: nothing is executed."""
    names = ("dense.matmul::matmul_basic", "dense.matmul::matmul_co")
    sizes, cache = "n=m=p=1024..8192", al.Cache(Z=3932160, L=8)
    print()
    print(al.compare(*names, machine="xeon-e5-2650l-v3", sweep=sizes, cache=cache), end="")


if __name__ == "__main__":
    derived()
    executed()
    energies()
    comparison()
