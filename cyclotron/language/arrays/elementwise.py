"""Operators on whole arrays, element by element: broadcasting, promotion, and what is computed only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cyclotron.language.arrays import broadcasting
from cyclotron.language.arrays.broadcasting import Shape
from cyclotron.language.arrays.captured import constant
from cyclotron.language.arrays.whole import Expression, Whole, check_scalars
from cyclotron.language.expressions.affine import Affine, Condition, Index
from cyclotron.language.expressions.dtypes import number_of as _number
from cyclotron.language.expressions.elements import Choose, Element, apply, element
from cyclotron.language.expressions.partial import chosen, may_fail
from cyclotron.language.expressions.position import here
from cyclotron.language.expressions.promotion import converted, promoted, typed, unsupported


def combine(op: str, values: Sequence[object]) -> Whole:
    """Apply an operator to the elements of arrays, elements and numbers, broadcast.

    Raises
    ------
    ShapeError
        CYC121 if dtypes do not have the operator, CYC122 if shapes do not conform.
    """
    if op == "power":
        spelled = _simple_power(*values)
        if spelled is not None:
            return spelled
    test = values[0] if op == "where" and isinstance(values[0], (Condition, bool, np.bool_)) else None
    operands = [operand(value) for value in (values if test is None else values[1:])]
    shape = broadcasting.broadcast([one.shape for one in operands])
    operands = [computed_once(one, shape) for one in operands]
    if op == "where" and test is None and operands[0].costly and any(map(_may_fail, operands[1:])):
        operands[0] = settled(operands[0])  # reductions in the branches have it in each of their terms
    dtypes = [number_of(one) if number_of(one) is not None else one.dtype_name for one in operands]
    if test is not None:
        dtypes = ["bool", *dtypes]
    inner, dtype = promoted(op, dtypes)  # type: ignore[arg-type]  # a number where it is not None

    def element_at(index: Sequence[Affine]) -> Element:
        parts = [one.at(broadcasting.along(index, one.shape)) for one in operands]
        if op == "where":
            if test is None:
                condition: Any = converted(parts.pop(0), "bool")
                return chosen(condition, *(typed(part, inner) for part in parts))
            then, other = (typed(part, inner) for part in parts)
            return (
                Choose(test, then, other, here())
                if isinstance(test, Condition)
                else (then if test else other)
            )
        return apply(op, *(converted(part, inner) for part in parts))

    return Expression(shape, dtype, element_at, operands)


def operand(value: object) -> Whole:
    """An array as it is, one of the host as a constant; an element or number as an array without axes."""
    if isinstance(value, Whole):
        check_scalars(value)
        return value
    if (isinstance(value, np.ndarray) and value.ndim) or isinstance(value, (list, tuple)):
        return constant(value)
    return _Scalar(element(value))


def computed_once(value: Whole, shape: Shape) -> Whole:
    """An operand, in a tensor of its own where broadcasting would compute costly elements again and again."""
    if not value.costly or (
        len(value.shape) == len(shape) and all(map(broadcasting.same, value.shape, shape))
    ):
        return value
    return settled(value)


def settled(value: Whole) -> Whole:
    """An array whose elements are there: an expression in a tensor of its own."""
    if not isinstance(value, Expression):
        return value
    from cyclotron.language.recording.statements import new_array

    return new_array(value, value.label)


def _may_fail(value: Whole) -> bool:
    """Whether reductions of an array have operators that have no result for some values."""
    return value.costly and may_fail(value.at([Affine({Index("step", here()): 1}, 0) for _ in value.shape]))


class _Scalar(Whole):
    """An element or a number as an array without axes; of NumPy's numbers their dtype counts."""

    def __init__(self, value: Element) -> None:
        self.value = value
        number = _number(value)
        self.dtype_name = value.dtype or np.result_type(0.0 if number is None else number).name

    @property
    def shape(self) -> Shape:
        return ()

    def at(self, index: Sequence[Affine]) -> Element:
        return self.value


def number_of(value: Whole) -> complex | np.generic | None:
    """The number that an operand is, as NumPy promotes it: Python's adopt the dtype of others.

    None for arrays and elements.
    """
    if not isinstance(value, _Scalar):
        return None
    return _number(value.value)


def _simple_power(base: object, exponent: object) -> Whole | None:
    """Powers that NumPy computes otherwise: the square, the root and the reciprocal."""
    if not isinstance(base, Whole) or isinstance(exponent, (bool, np.generic)):
        return None
    if not isinstance(exponent, (int, float)):
        return None
    floating = base.dtype.kind in "fc"
    if base.dtype_name == "bool":
        if exponent == 2 and isinstance(exponent, int):
            raise unsupported("power", "bool", "int8")
        return None
    if exponent == 2 and (floating or isinstance(exponent, int)):
        return combine("multiply", (base, base))
    if exponent == 0.5:
        return combine("sqrt", (base,))
    if exponent == -1 and floating:
        return combine("divide", (1, base))
    if exponent == 1 and (floating or isinstance(exponent, int)):
        return base.copy()
    return None
