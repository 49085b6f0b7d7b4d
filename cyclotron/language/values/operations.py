"""Operators on values of any kind: elements, arrays, indices and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.language.values import dispatch, powers
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.condition import Condition, Extremum, Piecewise, tested
from cyclotron.language.values.dispatch import Array, PartialArray
from cyclotron.language.values.guarded import guarded_where
from cyclotron.language.values.host_arrays import constant
from cyclotron.language.values.nodes import Access, Constant, Element, Reduce, accesses, strip_transpose
from cyclotron.language.values.operators import OPERATORS, USUAL_DTYPES, named_dtype
from cyclotron.language.values.refusals import inverted
from cyclotron.language.values.scalar_type import ScalarType, literal, promote
from cyclotron.language.values.scalars import (
    as_python,
    choose_by_indices,
    computed,
    explicit_cast,
    number,
    of_numpy,
    truth_number,
    within_dtype,
)
from cyclotron.language.values.source_span import here, shape_error, trace_error
from cyclotron.support.dtypes import kind_of


def element(value: object) -> Element:
    """Return an element as it is and a number of the host as a constant of its type; else raise an error."""
    if isinstance(value, Element):
        return value
    known = literal(value)
    if known is not None:
        return Constant(known[0], here(), known[1])
    if isinstance(value, (Affine, Extremum, Piecewise)):
        if isinstance(value, Affine) and not (value.terms or value.dtype):
            return Constant(value.constant, here())
        return number(value)
    if isinstance(value, Condition):
        return truth_number(value)
    if isinstance(value, (Array, np.ndarray)):
        array = constant(value) if isinstance(value, np.ndarray) else value
        only: Element = array.only_element()
        return only
    if isinstance(value, PartialArray):
        raise value.refused()
    raise trace_error(
        "CYC105",
        f"a value of type `{type(value).__name__}` is used where an element of a tensor is needed",
        help="ask for None by `is`"
        if value is None
        else "use elements of tensors, Python numbers and operators on them",
    )


def apply(op: str, *values: object, flags: Sequence[str] = ()) -> Element:
    """Apply an operator of the registry by name."""

    array = array_of(values)
    if array is not None:
        return array.combined(op, values)  # type: ignore[return-value]  # an array where operands are
    span = here()
    op, compared = within_dtype(op, values)
    operands = [element(value) for value in compared]
    return computed(op, operands, span, flags)


def of_truths(op: str, *values: object) -> Element:
    """An operator on truth values: those of Python's numbers are not of the numbers in others' dtypes."""

    def truth(value: object) -> object:
        if isinstance(value, (int, float, complex)) and not isinstance(value, np.generic):
            return bool(value)
        return cast(value, "bool") if isinstance(value, Element) and value.type.weak else value

    return apply(op, *map(truth, values))


def array_of(values: Sequence[object]) -> Array | PartialArray | None:
    """The first of some values that is an array, also one of the host; None of elements and numbers."""
    for value in values:
        if isinstance(value, PartialArray):
            return value
    for value in values:
        if isinstance(value, Array):
            return value
        if isinstance(value, np.ndarray) and value.ndim:
            made: Array = constant(value)
            return made
    return None


def add(left: object, right: object, *, starts: bool = False) -> Element:
    """The sum, without a zero that changes nothing: 0.0 changes -0.0, unless it is where a sum `starts`."""
    if array_of((left, right)) is not None:
        return apply("add", left, right)
    a, b = element(left), element(right)
    for zero, other in ((a, b), (b, a)):
        if isinstance(zero, Constant) and zero.value == 0 and _changes_nothing(zero, other, starts):
            return other
    return apply("add", a, b)


def _changes_nothing(zero: Constant, other: Element, starts: bool) -> bool:
    """Return whether what a zero is added to has the type of the sum, and its sign."""
    if other.blocked:
        return True
    known = isinstance(other, Constant) and repr(other.value) == "-0.0"
    negative = repr(zero.value) == "-0.0" and other.type.kind != "c"  # whose imaginary part is 0.0
    same_sign = (starts and not known) or other.type.kind not in "fc" or negative
    made = promote("add", zero.type, other.type)[1]
    return same_sign and (made.dtype, made.weak) == (other.dtype, other.type.weak)


def power(base: object, exponent: object) -> Element:
    """A power; the square is a product, as in NumPy, but of whole numbers by floating ones."""
    if isinstance(exponent, np.ndarray) and not exponent.ndim:
        return power_of_numpy(base, exponent)  # beside which NumPy's scalars are arrays
    if array_of((base, exponent)) is not None:
        return apply("power", base, exponent)
    return _power_of_scalars(base, exponent)


def _power_of_scalars(base: object, exponent: object) -> Element:
    value = element(base)
    kept = type(exponent) is int or value.type.kind in "fc"  # the dtype
    if type(exponent) in (int, float) and kept and value.dtype != "bool":
        if exponent == 1:
            return value
        if exponent == 2:
            return apply("multiply", value, value)
    return apply("power", value, exponent)


def power_of_numpy(base: object, exponent: object) -> Element:
    """The power that NumPy's function gives, of scalars too a root by the exponent 0.5."""
    array = array_of((base,))
    if array is None or not getattr(array, "shape", True):
        value = element(base)
        dtype = None if value.blocked else powers.root_dtype(value.type, exponent)
        if dtype is not None:
            root = cast(value, dtype) if value.dtype != dtype or value.type.weak else value
            return apply("sqrt", root)
    base, exponent = powers.of_numpy(base, exponent)
    return apply("power", base, exponent) if array is not None else _power_of_scalars(base, exponent)


def rounded(op: str, value: object) -> Any:
    """The whole number below or above; whole numbers and truth values as they are, since NumPy 2.1."""
    array: Any = array_of((value,))
    found: Any = element(value) if array is None else array
    if kind_of(found.dtype) not in "biu" or (array is None and found.blocked):
        return apply(op, found)
    dtype = getattr(np, op)(np.empty(0, found.dtype)).dtype
    if kind_of(dtype) not in "biu":
        return apply(op, found.astype(dtype))
    return found.copy() if isinstance(array, Array) else found


def whole_number(value: object, op: str = "") -> Element:
    """Python's whole number below (`floor`) or above (`ceil`) a number, or the next towards 0.

    Raises
    ------
    TraceError
        CYC105 of floating numbers that indices make, and of what Python makes no such number of.
    """
    one = element(value)
    if one.blocked or one.type.kind == "c" or one.dtype == "uint64":
        raise trace_error(
            "CYC105",
            f"a whole number of Python's is made of {'a tile' if one.blocked else one.dtype}, and in kernels"
            " those have 64 bits, with sign",
            help='convert it by `.astype("int64")`',
        )
    if one.type.kind == "f":
        if not accesses(one):
            raise trace_error(
                "CYC105",
                "a floating number that indices make is rounded to a whole one of Python's",
                help="divide by `//`, which gives whole numbers, e.g. `i // 2`, or use `cy.floor`",
            )
        one = cast(of_numpy(apply(op, one) if op else one), "int64")
    return as_python(one, "int64")


def positive(value: Any) -> Any:
    """The number itself, of a truth value of Python the whole number.

    Raises
    ------
    ShapeError
        CYC121 for NumPy's truth values, which refuse it too.
    """
    if value.dtype != "bool":
        return value
    if value.type.weak:
        return as_python(value, "int64")
    raise shape_error(
        "CYC121", "`+` is not defined on bool arrays", help='convert them, e.g. `x.astype("int64")`'
    )


def invert(value: object) -> Element:
    """The inverse of the bits; a truth value's negation, but of those that are Python's."""
    if isinstance(value, Reduce) and value.dtype == "bool":
        raise inverted("what `any` or `all` gives")
    return apply("bit_not", value)


def matmul(left: object, right: object) -> Element:
    """The matrix product; on scalars the product. Transposed operands become flags."""
    if array_of((left, right)) is not None:
        product: Element = dispatch.call("matmul", left, right)
        return product
    a, b = element(left), element(right)
    for operand in (a, b):
        if isinstance(operand, Constant):
            raise trace_error("CYC105", "`@` has a number as an operand", help="use `*` to scale a tile")
    if not (a.blocked and b.blocked):
        return apply("multiply", a, b)
    a, transposed_a = strip_transpose(a)
    b, transposed_b = strip_transpose(b)
    if transposed_b and not transposed_a and _is_same_access(a, b):
        return apply("syrk", a)
    flags = [name for name, on in (("transpose_a", transposed_a), ("transpose_b", transposed_b)) if on]
    return apply("matmul", a, b, flags=flags)


def cholesky(a: object) -> Element:
    """The lower Cholesky factor of a tile."""
    return apply("cholesky", a)


def outer(a: object, b: object) -> Element:
    """The product of a column and another one, transposed."""
    return matmul(a, element(b).T)


def where(test: object, then: object, other: object) -> Element:
    """``then`` where data or a condition on indices holds, else ``other``."""
    test = tested(test)
    array = array_of((test, then, other))
    if array is not None:
        return array.combined("where", (test, then, other))  # type: ignore[return-value]
    if isinstance(test, Condition):
        return choose_by_indices(test, element(then), element(other))
    if not isinstance(test, Element):
        return element(then if test else other)
    if test.type.weak:
        test = cast(test, "bool")
    return guarded_where(test, element(then), element(other))


def where_of_numpy(condition: object, a: object, b: object) -> Element:
    """Choose as NumPy's ``where``: of two numbers, unlike `where`, an array without axes, of their dtype."""
    known = tested(condition)
    if not isinstance(known, (Condition, Element)) and array_of((known, a, b)) is None:
        then, other = element(a), element(b)
        if not (then.blocked or other.blocked):
            dtype, _ = promote("where", ScalarType("bool"), then.type, other.type)
            return of_numpy(explicit_cast(then if known else other, dtype))  # type: ignore[return-value]
    return of_numpy(where(condition, a, b))  # type: ignore[return-value]


def cast(value: object, dtype: DTypeLike) -> Element:
    """The value in another dtype."""
    if isinstance(value, Array):
        return value.astype(dtype)  # type: ignore[attr-defined, no-any-return]
    name = named_dtype(dtype)
    operand = element(value)
    if f"to_{name}" not in OPERATORS:
        raise shape_error(
            "CYC120",
            f"a value is converted to dtype {name}",
            help=f"use {', '.join(USUAL_DTYPES[:-1])} or {USUAL_DTYPES[-1]}",
        )
    return apply(f"to_{name}", operand)


def _is_same_access(a: Element, b: Element) -> bool:
    return isinstance(a, Access) and isinstance(b, Access) and a.names(b.tensor, b.index)


_SPELLED: Mapping[np.ufunc, Callable[..., Element]] = {
    np.add: add,
    np.power: power_of_numpy,
    np.floor: partial(rounded, "floor"),
    np.ceil: partial(rounded, "ceil"),
    np.matmul: matmul,
    np.positive: lambda a: +element(a) if array_of((a,)) is None else +a,
}
_SPELLED_HERE: Mapping[str, Callable[..., Element]] = {
    "add": add,
    "power": power,
    "matmul": matmul,
    "bit_not": invert,
    "positive": positive,
}
OF_TRUTHS = ("logical_and", "logical_or", "logical_xor")
_MATRIX = ("matmul", "syrk", "inv_triangular", "cholesky")  # here NumPy's ufunc is what they are on scalars
UFUNCS: Mapping[np.ufunc, Callable[..., Element]] = {
    **{
        entry.numpy: partial(apply, op)
        for op, entry in OPERATORS.items()
        if isinstance(entry.numpy, np.ufunc) and op not in _MATRIX
    },
    **{getattr(np, op): partial(of_truths, op) for op in OF_TRUTHS},
    **_SPELLED,
}


def _operate_on_elements(op: str, *values: object) -> Element:
    return _SPELLED_HERE[op](*values) if op in _SPELLED_HERE else apply(op, *values)


dispatch.implement(
    apply=apply,
    cast=cast,
    element=element,
    operate_on_elements=_operate_on_elements,
    whole_number=whole_number,
)
