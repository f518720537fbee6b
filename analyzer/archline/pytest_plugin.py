"""A plugin of pytest: each claim of a collected `.algo` file is a test, `sums.algo::total::flops == n`.

The test of a claim that fails fails; that of a claim that is not decided is skipped, or fails with
`--archline-strict`. If the project has a baseline, each file has a test `baseline`, which fails where a cost grew or
became unknown. Nothing of archline is imported before a file is collected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from archline.api.configuration import Configuration
    from archline.language import syntax as s
    from archline.report.findings import CheckReport
    from archline.report.view import Contract


PROJECT_KEY = pytest.StashKey["Configuration"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --archline-strict."""
    group = parser.getgroup("archline")
    group.addoption("--archline-strict", action="store_true", help="fail the tests of claims that are not decided")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> AlgoFile | None:
    """Return the collector of an `.algo` file; None for other files, and for excluded ones not on the command line."""
    if file_path.suffix != ".algo":
        return None
    if _read_project_configuration(parent.config).excludes(file_path) and file_path not in _find_requested_paths(
        parent.config
    ):
        return None
    collected: AlgoFile = AlgoFile.from_parent(parent, path=file_path)
    return collected


def _read_project_configuration(config: pytest.Config) -> Configuration:
    """Read the project's configuration, once in a run of pytest. Raises UsageError for an invalid one."""
    from archline.api.configuration import read_configuration
    from archline.language.diagnostics import ArchlineError

    if PROJECT_KEY not in config.stash:
        try:
            config.stash[PROJECT_KEY] = read_configuration()
        except ArchlineError as problem:
            raise pytest.UsageError(str(problem)) from None
    return config.stash[PROJECT_KEY]


def _find_requested_paths(config: pytest.Config) -> set[Path]:
    """Return the paths that the command line names."""
    return {config.invocation_params.dir / argument.partition("::")[0] for argument in config.args}


class ClaimFailureError(Exception):
    """A claim fails, or is not decided under `--archline-strict`; the message is shown as the failure."""


class AlgoFile(pytest.File):
    """A file of algorithms; all its claims are decided when the first one is tested."""

    def collect(self) -> Iterator[AlgorithmNode | ClaimItem | BaselineItem]:
        """Yield nodes for algorithms, tests for claims, and a test of costs if the project has a baseline."""
        from archline.api.modules import load
        from archline.language import syntax as s
        from archline.language.diagnostics import ArchlineError
        from archline.language.format_statements import format_claim

        try:
            program = load(self.path).module.program
        except ArchlineError as problem:
            raise self.CollectError(str(problem)) from None
        for item in program.items:
            if isinstance(item, s.Algorithm):
                yield AlgorithmNode.from_parent(self, name=item.name, node=item)
            elif isinstance(item, s.Claim):
                yield ClaimItem.from_parent(self, name=format_claim(item), line=item.span.line)
        if _read_project_configuration(self.config).baseline:
            yield BaselineItem.from_parent(self, name="baseline", line=1)

    @cached_property
    def report(self) -> CheckReport:
        """The findings about the claims, and about the costs compared with the baseline. Raises ArchlineError."""
        from archline.api.baselines import compare_with_baseline
        from archline.api.changes import Terms
        from archline.api.checks import Task, check_tasks
        from archline.costs.rules import DEFECT
        from archline.costs.sizes import parse_share
        from archline.language.diagnostics import ArchlineError
        from archline.records import replace
        from archline.report.findings import CheckReport
        from archline.report.view import CheckView

        project = _read_project_configuration(self.config)
        (view,) = check_tasks([Task(str(self.path), project.facts or None)], 1)
        if not isinstance(view, CheckView):
            raise ArchlineError(list(map(project.locate_diagnostic, view)))
        if errors := [problem for problem in view.errors if problem.rule != DEFECT]:
            # An algorithm without claims has no test that could show its error.
            raise ArchlineError(list(map(project.locate_diagnostic, errors)))
        terms, path = Terms(parse_share(project.tolerance or "0"), where=project.facts), os.path.relpath(self.path)
        changes, taken = compare_with_baseline(project.baseline, [path], terms, 1) if project.baseline else ((), ())
        report = CheckReport((view,), select=project.select or ("AL",), ignore=project.ignore)
        return replace(report, strict=self.config.getoption("archline_strict"), changes=changes, accepted=taken)

    def find_contract(self, text: str, line: int) -> tuple[Contract, str, bool]:
        """Return the verdict on the claim of a text and line, its finding's code, and whether that is ignored."""
        claim = next((entry for entry in self.report.all if (entry.text, entry.place.line) == (text, line)), None)
        if claim is None:
            raise ClaimFailureError(f"AL999: defect in archline: run `archline check {self.path}` for details")
        return claim, *self.report.find_code(claim)


class AlgorithmNode(pytest.Collector):
    """A collector for one algorithm, which yields a test for each `ensures`."""

    def __init__(self, *, node: s.Algorithm, **named: Any) -> None:
        super().__init__(**named)
        self._ensures = node.ensures

    def collect(self) -> Iterator[ClaimItem]:
        from archline.report.view import format_contract

        for claim in self._ensures:
            yield ClaimItem.from_parent(self, name=format_contract(claim), line=claim.span.line)


class ClaimItem(pytest.Item):
    """A test that passes if a claim about a cost holds."""

    def __init__(self, *, line: int, **named: Any) -> None:
        super().__init__(**named)
        self._line = line

    def runtest(self) -> None:
        """Fail if the claim fails; skip the test if it is not decided or ignored. Raises ArchlineError."""
        from archline.report.findings import list_reasons

        program = self.getparent(AlgoFile)
        assert program is not None
        claim, code, ignored = program.find_contract(self.name, self._line)
        if not code:
            return
        text = "\n".join([f"{claim.place}: {claim.outcome}: {claim.text}  [{code}]", *list_reasons(claim)])
        if ignored:
            pytest.skip(f"{code} is ignored")
        if claim.outcome != "fails" and not self.config.getoption("archline_strict"):
            pytest.skip(text)
        raise ClaimFailureError(text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return archline's message alone for its own errors, without a traceback."""
        from archline.language.diagnostics import ArchlineError

        if isinstance(excinfo.value, (ClaimFailureError, ArchlineError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the file, the line and the name that pytest reports."""
        above = f"{self.parent.name}::" if isinstance(self.parent, AlgorithmNode) else ""
        return self.path, self._line - 1, above + self.name


class BaselineItem(ClaimItem):
    """A test of the costs of a file against the project's baseline."""

    def runtest(self) -> None:
        """Fail where a cost grew or became unknown."""
        from archline.claims.rules import BECAME_UNKNOWN, GREW

        program = self.getparent(AlgoFile)
        assert program is not None
        if changes := [change for change in program.report.failing if change.code in (GREW.code, BECAME_UNKNOWN.code)]:
            raise ClaimFailureError(
                "\n".join(f"{change.place}: {change.message}  [{change.code}]" for change in changes)
            )
