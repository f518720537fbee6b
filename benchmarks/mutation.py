"""Plant bugs one at a time and run the tests that should catch them (cosmic-ray makes the bugs).

    python benchmarks/mutation.py analysis --sample 120 --seed 1
    python benchmarks/mutation.py execution

Mutants are made in copies of the checkout, never in the working tree. Left out is what no test of behaviour can see:
annotations, patterns of classes, decorators' arguments, the text of messages, `strict=` (an assertion), and what
spends time or memory but changes no result: limits of effort (MAX_... and EFFORTS) and comparisons with them, bits of
precision, caching, compiling a kernel. Of the many operators that could replace an operator, one or two near ones stand
for the rest; far ones die at once and would only flatter the figure. Prints the share killed and every survivor with
its difference. Exit code 1 where less than 85 % are killed.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import difflib
import multiprocessing as mp
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from py_compile import PycInvalidationMode

import flint  # noqa: F401
import hypothesis.stateful  # noqa: F401
import lark  # noqa: F401
import mpmath  # noqa: F401
import numpy as np  # noqa: F401
import pytest
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.sparse.csgraph  # noqa: F401
import sympy  # noqa: F401
from cosmic_ray.commands.init import _all_work_items
from cosmic_ray.mutating import use_mutation
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_item import MutationSpec

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("analyzer", "archline")
COPIED = ("analyzer", "tests", "stdlib", "grammar", "machines", "bounds", "examples", "pyproject.toml")
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


EFFORTS = frozenset(
    (
        "_SPARE", "_NEAR", "_SMALL_TABLE", "PLAIN_STEPS", "PLAIN_WORDS", "SPARE_WORDS", "_PERIOD", "_SMALL_STACK",
        "_LARGE_STACK", "_PIECE", "_PLAIN_WORD_BYTES", "_START",
        "_KERNEL", "_GENERATED",
        # How closely numbers are enclosed, how much is tried, and at which sizes answers are checked.
        "PRECISION", "PRECISIONS", "_PRECISIONS", "ENCLOSURE_BITS", "RESOLUTION", "_BITS", "SPREADS", "FEW_TRIALS",
        "MANY_TRIALS", "READABLE", "ROUNDS", "LIMIT", "STEPS", "_EVALUATIONS", "_PLACES", "_SPREAD", "SYMBOL_VALUES",
        "SCALES", "FAR", "NUDGES", "SMALL", "_CLOSE", "_DEGREE", "_DENOMINATORS", "SLACK", "SPREAD", "STEADY",
        "FLOATING", "SLOW", "_AHEAD", "_STILL", "_MARGIN",
    )
)  # fmt: skip
# Limits that have no name: one more or less changes no result.
LARGE = 64
FOR_SPEED = frozenset(("cache", "lru_cache", "kernel"))


@dataclass(frozen=True)
class Target:
    """A part of the package, and the tests that hold it, quick ones first.

    `own` gives the tests of files that have tests of their own, by patterns of which the first that matches counts;
    `seconds` of processor time are what a mutant may take.
    `compiler` is a library that takes long and that the tests do without where it is missing: they run without it
    first, under the `options`; what they leave alive then meets all of them, with it.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    seconds: int = 90
    compiler: str | None = None


_EXECUTOR = (
    "test_executor_counts.py", "test_executor_races.py", "test_executor_diagnostics.py", "test_executor_traces.py",
    "test_executor_runs.py", "test_agreement_quick.py",
)  # fmt: skip

_ALGEBRA = (
    "test_facts.py", "test_polynomial.py", "test_summation.py", "test_proofs.py", "test_analysis_cases.py",
    "test_agreement_quick.py", "test_remainders.py",
)  # fmt: skip
_GROWTH = (
    "test_growth_curves.py", "test_growth.py", "test_growth_command.py",
    # The checker shares nothing with the prover: what it rejects is a mistake of the prover's.
    "test_certificates.py::test_hand_made_cases", "test_certificates.py::test_the_same_cases_the_other_way_round",
    "test_certificates.py::test_mistakes_are_found", "test_certificates.py::test_growths_of_recurrences",
    *(f"test_growth_of_exact_forms.py::test_random_questions[{facts}]" for facts in (
        "", "n <= m + p", "n is power of 2", "n >= m*log2(m)", "n*m <= p^2, p <= n",
    )),
    "test_certificates_random.py::test_questions_with_subtraction",
)  # fmt: skip
_RECURRENCES = (
    "test_recurrence_parts.py", "test_recurrence_reading.py", "test_recurrence_solver.py", "test_recurrence_corpus.py",
)  # fmt: skip
_INTEGERS = (
    "test_recursion.py", "test_recursion_indexed.py", "test_recursion_near.py", "test_divide_and_conquer.py",
    "test_recursion_report.py",
)  # fmt: skip
_MULTI = ("test_recurrences_multi.py", "test_recurrences_multi_random.py")

_ENERGY = (
    "test_energy_models.py",
    "test_linear_energy_model.py",
    "test_energy_formulas.py",
    "test_machines.py",
    "test_energy_command.py",
)

TARGETS = {
    "analysis": Target(
        ("analysis/*.py",),
        (
            "test_analysis_cases.py", "test_analysis_regressions.py", "test_contracts.py", "test_agreement_quick.py",
            "test_stdlib_runs.py::test_costs_are_exact_unless_the_data_decides", "test_data_ranges.py",
            "test_remainders.py",
        ),
        {
            "races.py": ("test_certain_races.py",),
            "failures.py": ("test_certain_failures.py",),
            **dict.fromkeys(("contracts.py", "points.py"), ("test_contracts.py", "test_analysis_regressions.py")),
        },
    ),
    "algebra": Target(
        ("algebra/*.py", "algebra/*/*.py"),
        _ALGEBRA,
        {
            "lp/exact.py": ("test_linear_programs.py", *_GROWTH),
            "asymptotic/*.py": _GROWTH,
            "sympy_bridge.py": ("test_api.py",),
            "algebra/evaluate/compiled.py": ("test_vectors.py",),
            "vectors.py": ("test_vectors.py",),
            # Windows and lines are what sums and maxima are mostly bounded for.
            **dict.fromkeys(("relax.py", "maximise.py", "blocks.py"), (*_ALGEBRA, "test_io.py", "test_io_by_hand.py")),
        },
    ),
    "recurrences": Target(
        ("recurrences/*.py", "recurrences/*/*.py", "recurrences/*/*/*.py"),
        (*_RECURRENCES, "test_recurrences_multi_random.py::test_answers_agree_with_the_recurrences[0]"),
        {
            "logspace/*.py": _MULTI,
            # What is read, evaluated and written is the same for one size and for several.
            **dict.fromkeys(
                (f"asymptotic/{name}.py" for name in (
                    "read", "normal_form", "arithmetic", "evaluate", "problem", "solve",
                )),
                (*_RECURRENCES, *_MULTI[:1]),
            ),
            **dict.fromkeys(("exact/*.py", "recurrences/*.py", "closed/levels.py"), _INTEGERS),
        },
    ),
    "energy": Target(
        ("energy/*.py", "energy/models/*.py", "compare/*.py"),
        _ENERGY,
        {
            "arrays.py": ("test_energy_arrays.py", *_ENERGY),
            "compare/*.py": ("test_compare.py", "test_compare_soundness.py"),
            **dict.fromkeys(
                ("machines.py", "machine_files.py", "quantities.py", "units.py"),
                ("test_machines.py", "test_machine_files.py", "test_units.py", "test_energy_models.py"),
            ),
        },
        seconds=240,
    ),
    "execution": Target(
        ("execution/*.py", "execution/*/*.py"),
        _EXECUTOR,
        {
            **dict.fromkeys(
                ("arithmetic.py", "runtime.py", "slots.py", "memory.py", "placement.py"),
                ("test_executor_runtime.py", *_EXECUTOR),
            ),
            **dict.fromkeys(
                ("binding.py", "data.py", "externs.py"),
                ("test_executor_data.py", "test_executor_runs.py", "test_executor_diagnostics.py"),
            ),
            **dict.fromkeys(
                ("matrix_market.py", "sparse_matrix.py"), ("test_matrix_market.py", "test_executor_data.py")
            ),
            **dict.fromkeys(("distances.py", "replacement.py", "trace.py"), ("test_cache_simulators.py",)),
            **dict.fromkeys(("private.py", "schedules.py", "stealing.py", "strands.py"), ("test_parallel_caches.py",)),
            "jit.py": ("test_cache_simulators.py", "test_executor_runs.py"),
        },
        ("-k", "not ompiled and not True and not interrupt and not jit"),
        seconds=45,
        compiler="numba",
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
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            found.append(((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)))

    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                hide(annotation)
                if name in EFFORTS:
                    hide(value)
            case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=annotation):
                hide(annotation)
            case ast.FunctionDef(returns=returns, decorator_list=decorators):
                hide(returns)
                _hide_arguments(decorators, hide)
                found += [
                    ((each.lineno, each.col_offset - 1), (each.lineno, each.col_offset))
                    for each in decorators
                    if ast.unparse(each).partition("(")[0].removeprefix("functools.") in FOR_SPEED
                ]
            case ast.ClassDef(decorator_list=decorators):
                _hide_arguments(decorators, hide)
            case ast.Compare(comparators=[ast.Name(id=name)]) if _is_effort(name):
                hide(node)
            case ast.Compare(comparators=[ast.Constant(value=int() | float() as value)]) if abs(value) >= LARGE:
                hide(node)
            case ast.Constant(value=int() | float() as value) if abs(value) >= LARGE:
                hide(node)
            case ast.JoinedStr() | ast.MatchOr():
                hide(node)
            case ast.keyword(arg="strict" | "repr", value=value):
                hide(value)
            case ast.Call(func=ast.Attribute(attr="workprec"), args=[value]):
                hide(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if _is_effort(name):
                    hide(value)
    return found


def _is_effort(name: str) -> bool:
    return name in EFFORTS or name.lstrip("_").startswith("MAX_")


def _hide_arguments(decorators: list[ast.expr], hide) -> None:  # type: ignore[no-untyped-def]
    for decorator in decorators:
        if isinstance(decorator, ast.Call):
            for keyword in decorator.keywords:
                hide(keyword.value)


def mutants(target: Target, copy: Path) -> Iterator[MutationSpec]:
    """Every mutant of the target in a copy of the checkout."""
    paths = sorted({path for each in target.files for path in (copy / PACKAGE).glob(each)})
    for path in paths:
        stretches = hidden(path.read_text(encoding="utf-8"))
        for item in _all_work_items([path], {}):
            (mutation,) = item.mutations
            start = mutation.start_pos
            if mutation.operator_name in OPERATORS and not any(low <= start < high for low, high in stretches):
                place = path.relative_to(copy)
                yield MutationSpec(place, mutation.operator_name, mutation.occurrence, start, mutation.end_pos)


def checkout_copy(copy: Path) -> None:
    """Copy what the tests need, compiled; a changed module is compiled again, whatever its time stamp."""
    copy.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        else:
            shutil.copy(source, copy / name)
    compileall.compile_dir(copy / PACKAGE, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)


@dataclass(frozen=True)
class Round:
    """Arguments of pytest inside a copy, the processor time they may take, and a library that is to be missing."""

    arguments: list[str]
    seconds: int
    missing: str | None = None


def rounds(target: Target, tests: tuple[str, ...]) -> list[Round]:
    """Tests of the target: first those without a compiler, if it has one."""
    quick = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", "--hypothesis-profile=unshrunk"]
    paths = list(map(place, tests))
    first = Round([*quick, *target.options, *paths], target.seconds, target.compiler)
    return [first] if target.compiler is None else [first, Round([*quick, *paths], 4 * target.seconds)]


def place(name: str) -> str:
    """Where a test is: `test_x.py::test_y` is in the folder of its tier."""
    file, mark, test = name.partition("::")
    (found,) = (ROOT / "tests").glob(f"*/{file}")
    return f"{found.relative_to(ROOT)}{mark}{test}"


_copy: Path


def enter(copies: mp.Queue[Path]) -> None:
    """Give a worker process a copy of its own."""
    global _copy
    _copy = copies.get()
    os.chdir(_copy)


def test(job: tuple[MutationSpec, list[Round]]) -> Outcome:
    """Run the tests on one mutant; its path is relative to a copy."""
    mutation, tests = job
    started = time.perf_counter()
    operator = get_operator(mutation.operator_name)()
    with use_mutation(_copy / mutation.module_path, operator, mutation.occurrence) as (before, after):
        survived = all(passes(each) for each in tests)
    changes = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    diff = "\n".join(line for line in islice(changes, 3, None))
    return Outcome(mutation, not survived, time.perf_counter() - started, diff)


def passes(tests: Round, *, keep_bytecode: bool = False) -> bool:
    """Whether the tests pass within the processor time, in a fork of this process, which has the libraries loaded."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (tests.seconds, tests.seconds))
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            sys.dont_write_bytecode = not keep_bytecode
            if tests.missing is not None:
                sys.modules[tests.missing] = None  # type: ignore[assignment]
            code = int(pytest.main(tests.arguments))
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def tests_of(target: Target, path: Path) -> tuple[str, ...]:
    """The tests of a file of the target."""
    return next((tests for pattern, tests in target.own.items() if path.match(pattern)), target.tests)


def run(target: Target, chosen: list[MutationSpec], copies: list[Path]) -> list[Outcome]:
    """Test the mutants, a worker for each copy."""
    queue: mp.Queue[Path] = mp.Queue()
    for copy in copies:
        queue.put(copy)
    jobs = [(each, rounds(target, tests_of(target, each.module_path))) for each in chosen]
    outcomes = []
    with mp.Pool(len(copies), enter, (queue,)) as pool:
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
    place = f"{mutation.module_path.relative_to(PACKAGE)}:{mutation.start_pos[0]}"
    return (
        f"survived {place} {mutation.operator_name.removeprefix('core/')} ({outcome.seconds:.0f} s)\n{outcome.diff}\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--sample", type=int, help="how many mutants, drawn at random; all of them if not given")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    target = TARGETS[options.target]
    os.environ["ARCHLINE_TESTS"] = "full"
    with tempfile.TemporaryDirectory(prefix="archline-mutation-") as folder:
        copies = [Path(folder, str(number)) for number in range(options.workers)]
        checkout_copy(copies[0])
        os.chdir(copies[0])
        tests = tuple(sorted({*target.tests, *(name for own in target.own.values() for name in own)}))
        for each in rounds(target, tests):
            if not passes(replace(each, seconds=10 * each.seconds), keep_bytecode=True):
                sys.exit("the tests fail without a mutant")
        for copy in copies[1:]:
            shutil.copytree(copies[0], copy)
        chosen = list(mutants(target, copies[0]))
        print(f"{len(chosen)} mutants of {options.target}", flush=True)
        if options.sample is not None:
            chosen = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
        outcomes = run(target, chosen, copies)
    killed = sum(outcome.killed for outcome in outcomes)
    print(f"killed {killed} of {len(outcomes)} ({killed / max(1, len(outcomes)):.1%})")
    return 0 if killed >= WANTED * len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
