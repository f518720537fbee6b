"""ICE, the Ideal Cache Energy model: Tran and Ha, ICPADS 2016, arXiv 1605.08222, equations (6) to (15).

Derivation, in the paper's symbols (F cycles an operation, M cycles a line, Freq the clock):

* (6)   E = P_sta * max(T_comp, T_mem) + eps_op * Work + eps_io * IO.
* (7)-(10) eps_op = P_op * F/Freq, eps_io = P_io * M/Freq, pi_op = P_sta * F/Freq, pi_io = P_sta * M/Freq.
* T_comp = Span * F/Freq, so P_sta * T_comp = pi_op * Span. With that, (6) is (11) and (12), CPU-bound.
* T_mem = IO / (Work/Span) * M/Freq, so P_sta * T_mem = pi_io * IO * Span / Work. With that, (6) is (13) and
  (14), memory-bound.
* T_mem >= T_comp iff pi_io * IO * Span / Work >= pi_op * Span. Span and Work are positive, hence iff
  pi_io * IO >= pi_op * Work: which of the two binds does not depend on the span. At a tie (12) and (14)
  agree.

What to know of the model before relying on it:

* The paper decides by kernel (SpMV memory-bound, matrix product CPU-bound). By its own equations it depends
  on the machine too: a kernel is CPU-bound where it does at least pi_io/pi_op operations a line, 60 on a GTX
  680 and 826 on a Xeon Phi 31S1P. Here the equations decide.
* T_comp is the span alone and T_mem divides by Work/Span, the most parallelism there is; neither knows a
  number of cores. Static energy is thus that of unlimited cores, from below.
* By (9) F/Freq is the time of an operation on one core. Section 6.2 takes pi_op = pi_1 * tau_d, where tau_d
  is one over the flop rate of the whole platform. On a chain of dependent operations (Work = Span) the static
  energy with these parameters is too low by about the platform's peak parallelism.
* Section 6.2 prints pi_io = pi_1 * tau_mem with tau_mem a time per byte; (10) needs that of a line, pi_1 *
  tau_mem * B. Table 3 has the latter: for the i7-950 408.80 nJ / 64 B is 122 W / (19.1 GB/s).
* (15) takes out pi_max = max(pi_op, pi_io) and keeps the maximum of Span and IO*Span/Work: the same max, up
  to constants of the platform.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from archline.energy import rules
from archline.energy.machines import Machine
from archline.energy.model import Estimate, Interval, Model, Number, Part
from archline.language.diagnostics import error

CPU_BOUND = "CPU-bound"
MEMORY_BOUND = "memory-bound"
BALANCED = "balanced"
UNDECIDED = "CPU- or memory-bound, undecided within the bounds"


class Term(Protocol):
    """A number or a symbolic expression: what the equations need of work, span and io."""

    def __mul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...


T = TypeVar("T", bound=Term)


@dataclass(frozen=True, slots=True)
class IceParameters:
    """The four parameters of Table 2, in joules."""

    eps_op: Fraction
    pi_op: Fraction
    eps_io: Fraction
    pi_io: Fraction

    @classmethod
    def of(cls, machine: Machine) -> IceParameters:
        """The machine's parameters. Raises ArchlineError (AL458) where it lacks one."""
        return cls(*(machine.value(name, unit) for name, unit in _QUANTITIES.items()))


@dataclass(frozen=True, slots=True)
class IceTerms(Generic[T]):
    """The terms of (12) and (14), in joules; symbolic where work, span and io are.

    Static energy is the larger of `static_cpu` = pi_op*Span and `static_memory` = pi_io*IO*Span/Work.
    """

    static_cpu: T
    static_memory: T
    computation: T
    memory: T


def ice_terms(parameters: IceParameters, work: T, span: T, io: T) -> IceTerms[T]:
    """The terms of (12) and (14) for numbers (exact in, exact out) or for expressions; nothing is
    compared.
    """
    return IceTerms(
        static_cpu=span * parameters.pi_op,
        static_memory=io * parameters.pi_io * span / work,
        computation=work * parameters.eps_op,
        memory=io * parameters.eps_io,
    )


@dataclass(frozen=True, slots=True)
class IceEnergy:
    """Energies in joules, exact, and what bounds the execution time (`CPU-bound`, `memory-bound` or
    `balanced`).
    """

    static: Fraction
    computation: Fraction
    memory: Fraction
    bound: str

    @property
    def total(self) -> Fraction:
        """Equation (6)."""
        return self.static + self.computation + self.memory


def ice_energy(parameters: IceParameters, work: Number, span: Number, io: Number) -> IceEnergy:
    """Equation (6) at exact work, span (operations) and io (cache lines).

    Raises ArchlineError (AL460) unless 0 < span <= work and io >= 0.
    """
    _check(Interval.of(work), Interval.of(span), Interval.of(io))
    terms = ice_terms(parameters, Fraction(work), Fraction(span), Fraction(io))
    return IceEnergy(
        max(terms.static_cpu, terms.static_memory),
        terms.computation,
        terms.memory,
        _verdict(parameters, Interval.of(work), Interval.of(io)),
    )


@dataclass(frozen=True, slots=True)
class IceBounds:
    """Sound bounds on each energy over all executions within bounds on work, span and io; joules."""

    static: Interval
    computation: Interval
    memory: Interval
    total: Interval
    bound: str


def ice_energy_bounds(
    parameters: IceParameters,
    work: Interval | Number | tuple[Number, Number],
    span: Interval | Number | tuple[Number, Number],
    io: Interval | Number | tuple[Number, Number],
) -> IceBounds:
    """Equation (6) over all (work, span, io) within the intervals with span <= work.

    E grows with span and with io, but not with work: static memory energy falls as work rises. At fixed span
    and io, E is convex in work (a constant, K/work and a line, combined by max and sum).

    * Upper: at the largest span and io; convexity puts the maximum at an end of work's range. Where span is
      held down by work, E grows with work, so that the range begins at the largest span.
    * Lower: at the smallest span and io, at the work where E turns: the smaller of the point where (12) takes
      over, work = pi_io*io/pi_op, and the minimum of (14), work = sqrt(pi_io*io*span/eps_op). The root is
      enclosed in rationals, and the lower end is then below the true minimum by less than one part in 2^60.

    Raises ArchlineError (AL460) where no execution is within the intervals.
    """
    works, spans, ios = Interval.of(work), Interval.of(span), Interval.of(io)
    _check(works, spans, ios)
    works = Interval(max(works.lower, spans.lower), works.upper)
    spans = Interval(spans.lower, min(spans.upper, works.upper))
    top_works = (max(works.lower, spans.upper), works.upper)
    upper = [_totals(parameters, amount, spans.upper, ios.upper) for amount in top_works]
    return IceBounds(
        Interval(
            ice_energy(parameters, works.upper, spans.lower, ios.lower).static,
            ice_energy(parameters, top_works[0], spans.upper, ios.upper).static,
        ),
        works.times(parameters.eps_op),
        ios.times(parameters.eps_io),
        Interval(_least_total(parameters, works, spans.lower, ios.lower), max(upper)),
        _verdict(parameters, works, ios),
    )


def _totals(parameters: IceParameters, work: Fraction, span: Fraction, io: Fraction) -> Fraction:
    return ice_energy(parameters, work, span, io).total


def _least_total(parameters: IceParameters, works: Interval, span: Fraction, io: Fraction) -> Fraction:
    """The least total over works, or a rational just below it."""
    eps, hyperbola = parameters.eps_op, parameters.pi_io * io * span
    takeover = parameters.pi_io * io / parameters.pi_op if parameters.pi_op else None
    if takeover is not None and takeover <= works.lower:
        return _totals(parameters, works.lower, span, io)
    last = works.upper if takeover is None else min(works.upper, takeover)
    # On [works.lower, last] static energy is hyperbola/work; its sum with eps*work is least at
    # sqrt(hyperbola/eps).
    if eps * last * last <= hyperbola:
        return _totals(parameters, last, span, io)
    if eps * works.lower**2 >= hyperbola:
        return _totals(parameters, works.lower, span, io)
    # The sum at its minimum is 2*sqrt(hyperbola*eps), by the inequality of the means.
    return 2 * _sqrt_below(hyperbola * eps) + parameters.eps_io * io


def _sqrt_below(value: Fraction) -> Fraction:
    """A rational at most sqrt(value), and equal to it where that is rational; relative error under 2^-60."""
    numerator = value.numerator * value.denominator
    shift = max(0, 64 - numerator.bit_length() // 2)
    return Fraction(math.isqrt(numerator << 2 * shift), value.denominator << shift)


def _verdict(parameters: IceParameters, works: Interval, ios: Interval) -> str:
    memory, computation = ios.times(parameters.pi_io), works.times(parameters.pi_op)
    if memory.exact and computation.exact and memory.lower == computation.lower:
        return BALANCED
    if memory.lower >= computation.upper:
        return MEMORY_BOUND
    if memory.upper <= computation.lower:
        return CPU_BOUND
    return UNDECIDED


def _check(works: Interval, spans: Interval, ios: Interval) -> None:
    if spans.lower <= 0:
        raise error(rules.WRONG_AMOUNT, f"the span is {spans.lower}; an execution has a span of at least 1")
    if spans.lower > works.upper:
        raise error(rules.WRONG_AMOUNT, f"the span, {spans.lower}, is above the work, {works.upper}")
    if ios.lower < 0:
        raise error(rules.WRONG_AMOUNT, f"the io is {ios.lower}, a negative number of lines")


def _reason(parameters: IceParameters, verdict: str, works: Interval, ios: Interval) -> str:
    memory, computation = ios.times(parameters.pi_io), works.times(parameters.pi_op)
    relation = {MEMORY_BOUND: ">=", CPU_BOUND: "<=", BALANCED: "="}.get(verdict, "against")
    return f"pi_io*io = {memory.text('J')} {relation} pi_op*work = {computation.text('J')}"


def _estimate(machine: Machine, amounts: Mapping[str, Interval]) -> Estimate:
    parameters = IceParameters.of(machine)
    works, ios = amounts["work"], amounts["io"]
    bounds = ice_energy_bounds(parameters, works, amounts["span"], ios)
    formulas = {
        CPU_BOUND: "pi_op*span",
        MEMORY_BOUND: "pi_io*io*span/work",
        BALANCED: "pi_op*span = pi_io*io*span/work",
        UNDECIDED: "max(pi_op*span, pi_io*io*span/work)",
    }
    equation = {CPU_BOUND: "equation (12)", MEMORY_BOUND: "equation (14)"}.get(bounds.bound, "equation (6)")
    return Estimate(
        model=ICE.name,
        machine=machine.name,
        parts=(
            Part("static", bounds.static, "J", formulas[bounds.bound]),
            Part("computation", bounds.computation, "J", "eps_op*work"),
            Part("memory", bounds.memory, "J", "eps_io*io"),
        ),
        total=Part("total", bounds.total, "J", equation),
        verdict=bounds.bound,
        reason=_reason(parameters, bounds.bound, works, ios),
        convention="eps_op multiplies work (flops, iterations, tests and calls), io counts lines fetched",
    )


_QUANTITIES = MappingProxyType({"eps_op": "J", "pi_op": "J", "eps_io": "J", "pi_io": "J"})

ICE = Model(
    name="ice",
    title="Ideal Cache Energy model",
    source="Tran and Ha, ICPADS 2016, arXiv 1605.08222, equations (6) to (14)",
    inputs=("work", "span", "io"),
    quantities=_QUANTITIES,
    estimate=_estimate,
)
