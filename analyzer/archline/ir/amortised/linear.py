"""Affine forms over registers and sizes, with exact coefficients.

A column is a register (its name), or a monomial of sizes; the empty monomial stands for 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from archline.algebra.polynomial import Monomial, Poly
from archline.numbers import fmpq

Column: TypeAlias = "str | Monomial"
Linear: TypeAlias = dict[Column, fmpq]
UNIT: Monomial = ()


def constant_form(value: fmpq | int) -> Linear:
    """Return the form of a number."""
    return {UNIT: fmpq(value)} if value else {}


def register_form(name: str) -> Linear:
    """Return the form of a register."""
    return {name: fmpq(1)}


def size_form(value: Poly) -> Linear:
    """Return the form of an expression in sizes, each monomial a column of its own."""
    return {column: number for column, number in value.terms.items()}  # noqa: C416


def add_forms(left: Linear, right: Linear, factor: fmpq | int = 1) -> Linear:
    """Return the sum of a form and a multiple of another one."""
    result = dict(left)
    for column, number in right.items():
        total = result.get(column, 0) + factor * number
        if total:
            result[column] = fmpq(total)
        else:
            result.pop(column, None)
    return result


def scale_form(form: Linear, factor: fmpq | int) -> Linear:
    """Return a multiple of a form."""
    return {column: number * factor for column, number in form.items()} if factor else {}


def shift_form(form: Linear, number: fmpq | int) -> Linear:
    """Return a form plus a number."""
    return add_forms(form, constant_form(number))


def substitute_form(form: Linear, update: Mapping[str, Linear]) -> Linear:
    """Replace registers by forms."""
    result: Linear = {}
    for column, number in form.items():
        if isinstance(column, str) and column in update:
            result = add_forms(result, update[column], number)
        else:
            result = add_forms(result, {column: number})
    return result


def combine_forms(forms: Iterable[Linear], factors: Iterable[fmpq | int]) -> Linear:
    """Return a linear combination of forms."""
    result: Linear = {}
    for form, factor in zip(forms, factors, strict=True):
        if factor:
            result = add_forms(result, form, factor)
    return result


def has_registers(form: Linear) -> bool:
    """Test whether a form contains a register."""
    return any(isinstance(column, str) for column in form)


def is_constant(form: Linear) -> bool:
    """Test whether a form is a number."""
    return all(column == UNIT for column in form)


def constant_part(form: Linear) -> fmpq:
    """Return the number in a form."""
    return form.get(UNIT, fmpq(0))


def form_to_poly(form: Linear) -> Poly:
    """Return a form without registers as an expression in sizes."""
    assert not any(isinstance(column, str) for column in form)
    return Poly({column: number for column, number in form.items() if not isinstance(column, str)})


def freeze_form(form: Linear) -> frozenset[tuple[Column, fmpq]]:
    """Return a hashable key of a form."""
    return frozenset(form.items())
