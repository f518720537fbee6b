"""Plant bugs one at a time and run the tests that should catch them (cosmic-ray makes the bugs).

    python benchmarks/mutation.py analysis --sample 120 --seed 1
    python benchmarks/mutation.py execution

Mutants are made in copies of the checkout, never in the working tree. Left out is what no test of behaviour can see:
annotations, patterns of classes, decorators' arguments, and the text of messages. Of the many operators that could
replace an operator, one or two near ones stand for the rest; far ones die at once and would only flatter the figure.
Prints the share killed and every survivor with its difference. Exit code 1 where less than 85 % are killed.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing as mp
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.commands.init import _all_work_items
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_item import MutationSpec, TestOutcome

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("analyzer", "archline")
COPIED = ("analyzer", "tests", "stdlib", "grammar", "machines", "examples", "pyproject.toml")
WANTED = 0.85

OPERATORS = {
    f"core/{name}"
    for name in (
        *("ReplaceBinaryOperator_" + each for each in (
            "Add_Sub", "Sub_Add", "Mul_Add", "Div_Mul", "FloorDiv_Mul", "Mod_FloorDiv", "Pow_Mul", "BitOr_BitAnd",
            "BitAnd_BitOr", "BitXor_BitOr", "LShift_RShift", "RShift_LShift",
        )),
        *("ReplaceComparisonOperator_" + each for each in (
            "Eq_NotEq", "NotEq_Eq", "Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt",
            "Is_IsNot", "IsNot_Is",
        )),
        "ReplaceUnaryOperator_Delete_USub", "ReplaceUnaryOperator_Delete_Not", "AddNot", "ReplaceTrueWithFalse",
        "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceBreakWithContinue",
        "ReplaceContinueWithBreak", "ExceptionReplacer", "NumberReplacer", "RemoveDecorator", "ZeroIterationForLoop",
    )
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """A part of the package, and the tests that hold it, quick ones first; `seconds` for all of them on one mutant."""

    files: tuple[str, ...]
    tests: tuple[str, ...]
    seconds: float = 60.0


TARGETS = {
    "analysis": Target(
        ("analysis/*.py",),
        (
            "test_analysis_cases.py", "test_contracts.py", "test_agreement_quick.py", "test_certain_races.py",
            "test_stdlib_derived.py",
        ),
    ),
    "algebra": Target(
        ("algebra/*.py",),
        ("test_polynomial.py", "test_analysis_cases.py", "test_agreement_quick.py", "test_summation.py"),
    ),
    "execution": Target(
        (
            "execution/codegen/*.py", "execution/races.py", "execution/run.py", "execution/binding.py",
            "execution/data.py", "execution/memory.py", "execution/slots.py", "execution/results.py",
        ),
        (
            "test_executor_counts.py", "test_agreement_quick.py", "test_executor_races.py",
            "test_executor_diagnostics.py", "test_executor_traces.py",
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant."""

    mutation: MutationSpec
    killed: bool
    seconds: float
    diff: str


Position = tuple[int, int]


def hidden(source: str) -> list[tuple[Position, Position]]:
    """The stretches of a module in which a change is not one of behaviour."""
    found: list[tuple[Position, Position]] = []

    def hide(node: ast.AST | None) -> None:
        if isinstance(node, ast.expr | ast.pattern):
            assert node.end_lineno is not None and node.end_col_offset is not None
            found.append(((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)))

    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=annotation):
                hide(annotation)
            case ast.FunctionDef(returns=returns, decorator_list=decorators):
                hide(returns)
                _hide_arguments(decorators, hide)
            case ast.ClassDef(decorator_list=decorators):
                _hide_arguments(decorators, hide)
            case ast.JoinedStr() | ast.MatchOr():
                hide(node)
    return found


def _hide_arguments(decorators: list[ast.expr], hide) -> None:  # type: ignore[no-untyped-def]
    for decorator in decorators:
        if isinstance(decorator, ast.Call):
            for keyword in decorator.keywords:
                hide(keyword.value)


def mutants(target: Target) -> Iterator[MutationSpec]:
    """Every mutant of the target, with paths relative to the checkout."""
    paths = sorted({path for each in target.files for path in (ROOT / PACKAGE).glob(each)})
    for path in paths:
        stretches = hidden(path.read_text(encoding="utf-8"))
        for item in _all_work_items([path], {}):
            (mutation,) = item.mutations
            start = mutation.start_pos
            if mutation.operator_name in OPERATORS and not any(low <= start < high for low, high in stretches):
                yield mutation


def checkout_copy(parent: Path) -> Path:
    """A copy of what the tests need."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, parent / name, ignore=ignored)
        else:
            shutil.copy(source, parent / name)
    return parent


def command(target: Target) -> str:
    """The tests of the target, as a command run inside a copy."""
    tests = " ".join(f"tests/{name}" for name in target.tests)
    return f"{sys.executable} -m pytest -x -q -p no:cacheprovider --no-header --tb=line {tests}"


_copy: Path


def enter(folders: mp.Queue[str]) -> None:
    """Give a worker process a copy of its own."""
    global _copy
    _copy = Path(folders.get())
    os.chdir(_copy)


def test(job: tuple[MutationSpec, str, float]) -> Outcome:
    """Run the tests on one mutant."""
    mutation, tests, seconds = job
    place = _copy / mutation.module_path.relative_to(ROOT)
    moved = MutationSpec(
        place, mutation.operator_name, mutation.occurrence, mutation.start_pos, mutation.end_pos
    )
    started = time.perf_counter()
    result = mutate_and_test([moved], tests, seconds)
    diff = "\n".join(line for line in (result.diff or "").splitlines()[3:] if line[:1] in "+-")
    return Outcome(mutation, result.test_outcome != TestOutcome.SURVIVED, time.perf_counter() - started, diff)


def run(target: Target, chosen: list[MutationSpec], workers: int) -> list[Outcome]:
    """Test the mutants, each worker in its own copy."""
    with tempfile.TemporaryDirectory(prefix="archline-mutation-") as folder:
        folders: mp.Queue[str] = mp.Queue()
        for number in range(workers):
            place = Path(folder, str(number))
            place.mkdir()
            folders.put(str(checkout_copy(place)))
        with mp.Pool(workers, enter, (folders,)) as pool:
            jobs = [(each, command(target), target.seconds) for each in chosen]
            outcomes = []
            for number, outcome in enumerate(pool.imap_unordered(test, jobs), 1):
                outcomes.append(outcome)
                if not outcome.killed:
                    print(describe(outcome), flush=True)
                if number % 20 == 0:
                    print(f"# {number} of {len(jobs)}", file=sys.stderr, flush=True)
        return outcomes


def describe(outcome: Outcome) -> str:
    """A survivor: where it is, what changed."""
    mutation = outcome.mutation
    place = f"{mutation.module_path.relative_to(ROOT / PACKAGE)}:{mutation.start_pos[0]}"
    return f"survived {place} {mutation.operator_name.removeprefix('core/')} ({outcome.seconds:.0f} s)\n{outcome.diff}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--sample", type=int, help="how many mutants, drawn at random; all of them if not given")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    target = TARGETS[options.target]
    chosen = list(mutants(target))
    print(f"{len(chosen)} mutants of {options.target}")
    if options.sample is not None:
        chosen = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
    outcomes = run(target, chosen, options.workers)
    killed = sum(outcome.killed for outcome in outcomes)
    print(f"killed {killed} of {len(outcomes)} ({killed / max(1, len(outcomes)):.1%})")
    return 0 if killed >= WANTED * len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
