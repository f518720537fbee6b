"""Name the iterations of loops without a bound in a comparison: one size for loops of the same text, else several."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from archline.compare.growth import GREATER_GROWTH, LESS_GROWTH, UNKNOWN_GROWTH, GrowthRelation
from archline.costs import rules
from archline.costs.sizes import Given, SizeNames
from archline.energy.subjects import AlgorithmSubject, Subject
from archline.expr import build as b
from archline.expr.tree import substitute_in_fact, substitute_names
from archline.growth.growths import Growth
from archline.language import syntax as s
from archline.language.canonical import write_canonical_loop
from archline.language.diagnostics import error
from archline.language.iterations import IterationCount, NamedLoop, list_iterations
from archline.records import record, replace


@record(eq=False)
class ComparedIterations:
    """Names the iteration counts of loops in a comparison of `subjects`, which have the distinct names `labels`.

    If all loops whose iterations have the same name have the same text, they share one size of this name, under an
    assumption. Otherwise each loop has its own size, such as `jacobi.T`.
    """

    subjects: Sequence[Subject]
    labels: Sequence[str]

    @cached_property
    def _loops_by_name(self) -> list[dict[str, IterationCount]]:
        """The loops on which the costs of each subject depend, by the names of their iterations."""
        return [
            {
                item.name: item
                for item in list_iterations(*subject.algorithm.executed)
                if item.name in subject.names.counted_iterations
            }
            if isinstance(subject, AlgorithmSubject)
            else {}
            for subject in self.subjects
        ]

    @cached_property
    def _shared_names(self) -> frozenset[str]:
        """The names of iterations that several subjects share, since their loops have the same text."""
        texts: dict[str, list[str]] = {}
        for subject, counted in zip(self.subjects, self._loops_by_name, strict=True):
            for name, item in counted.items():
                assert isinstance(subject, AlgorithmSubject)
                module, algorithm = subject.algorithm.executed
                called = item.algorithm is not algorithm
                sizes = {} if called else {size: size for size in module.signatures[algorithm].size_names}
                texts.setdefault(name, []).append(write_canonical_loop(module, item, sizes))
        # A parameter `T` of another algorithm, or of formulas, is not a number of iterations.
        return frozenset(
            name
            for name, of_name in texts.items()
            if len(of_name) > 1 and len({*of_name}) == 1 and not self._list_subjects_with_size(name)
        )

    @cached_property
    def names(self) -> list[dict[str, str]]:
        """The names of each subject's iterations in the comparison, by their names in the subject."""
        several = [name for counted in self._loops_by_name for name in counted if name not in self._shared_names]
        alone = {name for name in several if several.count(name) == 1 and not self._list_subjects_with_size(name)}
        return [
            {name: name if name in self._shared_names | alone else f"{label}.{name}" for name in counted}
            for label, counted in zip(self.labels, self._loops_by_name, strict=True)
        ]

    def rename_growth(self, index: int, growth: Growth) -> Growth:
        """Rename the iterations in a growth of a subject to their names in the comparison."""
        values: dict[str, s.Expr] = {size: b.name(name) for size, name in self.names[index].items() if size != name}
        if not values:
            return growth
        lower, upper = (bound and substitute_names(bound, values) for bound in (growth.lower, growth.upper))
        facts, where = (tuple(substitute_in_fact(x, values) for x in part) for part in (growth.facts, growth.where))
        return Growth(lower, upper, facts, where)

    def is_shared(self, index: int, names: Collection[str]) -> bool:
        """Test whether names in a cost of a subject are sizes that all subjects share."""
        return not any(name in self.names[index] and name not in self._shared_names for name in names)

    def reject_refutations(self, relation: GrowthRelation, growths: Sequence[Growth]) -> GrowthRelation:
        """Weaken a relation that refutes O or Omega, if the growths contain iterations that subjects do not share."""
        apart = {name for names in self.names for name in names.values()} - self._shared_names
        held = (bound for growth in growths for bound in (growth.lower, growth.upper) if bound is not None)
        if not apart & s.find_names(tuple(held)):
            return relation
        bound = {LESS_GROWTH: "O", GREATER_GROWTH: "Omega"}.get(relation.relation, relation.bound)
        if relation.relation not in (LESS_GROWTH, GREATER_GROWTH) and bound != "incomparable":
            return relation
        return replace(relation, relation=UNKNOWN_GROWTH, bound="" if bound == "incomparable" else bound)

    def select_values(self, index: int, at: Given) -> Given:
        """Select the values that a subject has names for; `T` gives all loops with this name the same number."""
        names = self.names[index]
        allowed = self.subjects[index].names.all
        values = {name: value for name, value in at.items() if name in allowed}
        return {**values, **{name: at[shared] for name, shared in names.items() if shared in at}}

    def merge_counts(self, counted: Mapping[int, Mapping[str, int]]) -> dict[str, int]:
        """Merge the iterations that runs counted, by subject, in the names of the comparison.

        Counts that differ get a name for each subject, also for loops of the same text.
        """
        merged: dict[str, int] = {}
        for index, counts in counted.items():
            for size, count in counts.items():
                name = self.names[index].get(size, size)
                equal = len({of_run.get(size, count) for of_run in counted.values()}) == 1
                merged[name if equal or name != size else f"{self.labels[index]}.{size}"] = count
        return merged

    @property
    def further_names(self) -> SizeNames:
        """The names of iterations, such as `jacobi.T`, that may have values in addition to names of the subjects."""
        further = {name: 0 for names in self.names for size, name in names.items() if size != name}
        return SizeNames({}, iterations=further)

    def require_values(self, given: Collection[str], needed: Collection[str]) -> None:
        """Raise ArchlineError (AL402) if iterations have no value among the `given` names; `needed` are all sizes."""
        both = [pair for names in self.names for pair in names.items()]
        missing = [name for size, name in both if not {size, name} & {*given}]
        if missing:
            names = [*(name for name in needed if name not in dict(both)), *(name for _, name in both)]
            message = f"no value is given for {', '.join(f'`{name}`' for name in dict.fromkeys(missing))}"
            hint = f"give --at {','.join(f'{name}=...' for name in dict.fromkeys(names))}"
            raise error(rules.MISSING_SIZE, message, hint=hint)

    def iterate_loops(self) -> Iterator[NamedLoop]:
        """Yield the loops of all subjects under their names in the comparison."""
        for label, names, counted in zip(self.labels, self.names, self._loops_by_name, strict=True):
            yield from (NamedLoop(name, counted[size], label) for size, name in names.items())

    def iterate_assumptions(self, given: Collection[str]) -> Iterator[str]:
        """Yield, as text, the iterations that are assumed equal in several subjects: shared, or given by `--at T=5`."""
        for size in dict.fromkeys(size for names in self.names for size in names):
            having = [index for index, names in enumerate(self.names) if size in names]
            for_all = size in given and not {self.names[index][size] for index in having} & {*given}
            loops = {self.labels[index]: self._loops_by_name[index][size].loop for index in having}
            places = [f"in line {loop.span.line} of {label}" for label, loop in loops.items()]
            if for_all:
                places += [f"the {size} of {self.labels[index]}" for index in self._list_subjects_with_size(size)]
            if len(places) > 1 and (for_all or size in self._shared_names):
                yield f"as many iterations {size} {' as '.join(places)}"

    def _list_subjects_with_size(self, name: str) -> list[int]:
        """List the subjects, by index, whose caller gives a size with this name."""
        given = [{*subject.names.sizes, *subject.names.amounts} for subject in self.subjects]
        return [index for index, names in enumerate(given) if name in names]
