"""Symbolic elements: what `A[i, k]` and the operators on it are while a kernel is traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.errors import ShapeError, Span, TraceError
from cyclotron.language.expressions.affine import (
    Affine,
    Condition,
    Extremum,
    Index,
    Region,
    Rounded,
    tested,
)
from cyclotron.language.expressions.arithmetic import Arithmetic, Array, Part
from cyclotron.language.expressions.operators import DTYPES, OPERATORS, evaluate, named_dtype, result_dtype
from cyclotron.language.expressions.position import here
from cyclotron.language.expressions.refusals import Refusals, inverted, not_an_operator

if TYPE_CHECKING:
    from cyclotron.language.arrays.tensors import SymbolicTensor


class Element(Refusals, Arithmetic):
    """An expression for one element (a scalar or a tile) of a tensor; operators build larger ones."""

    span: Span
    text = ""  # how a number that indices make is written, as far as that is short

    @property
    def operands(self) -> tuple[Element, ...]:
        """The expressions that this one is made of."""
        return ()

    @property
    def dtype(self) -> str | None:
        """NumPy's name of the dtype; None for constants, which adopt their neighbour's."""
        return None

    @property
    def blocked(self) -> bool:
        """Whether the element is a tile."""
        return False

    @property
    def is_conditional(self) -> bool:
        """Whether the expression has a choice by a condition on indices in it."""
        return False

    @property
    def is_index(self) -> bool:
        """Whether it is a number without dtype that indices make."""
        return False

    @property
    def is_typed(self) -> bool:
        """Whether it is a number of NumPy's types, or made of some: neighbours do not decide its dtype."""
        return False

    @property
    def T(self) -> Element:  # noqa: N802 (NumPy's name)
        """The transposed tile."""
        if not self.blocked:
            return self
        if isinstance(self, Apply) and self.op == "transpose":
            return self.operands[0]
        return Apply("transpose", (self,), here())

    def operate(self, op: str, *values: object) -> Any:
        """Apply an operator to values of which this element is one."""
        return _SPELLED_HERE[op](*values) if op in _SPELLED_HERE else apply(op, *values)

    def astype(self, dtype: DTypeLike) -> Element:
        """The values in another dtype."""
        return cast(self, dtype)

    def sum(self, axis: int | None = None, keepdims: bool = False) -> Element:
        """The sum of each row (``axis=-1, keepdims=True``) or column (``axis=0``) of a tile."""
        return _fold("sum", self, axis, keepdims)

    def max(self, axis: int | None = None, keepdims: bool = False) -> Element:
        """The maximum of each row (``axis=-1, keepdims=True``) or column (``axis=0``) of a tile."""
        return _fold("max", self, axis, keepdims)

    def min(self, axis: int | None = None, keepdims: bool = False) -> Element:
        """The minimum of each row (``axis=-1, keepdims=True``) or column (``axis=0``) of a tile."""
        return _fold("min", self, axis, keepdims)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Element:
        from cyclotron.language.arrays.numpy_functions import ufunc as of_ufunc

        known = of_ufunc(ufunc)
        if known is None or method != "__call__" or options:
            raise not_an_operator(f"`np.{ufunc.__name__}`")
        result: Element = known(*inputs)
        return result

    def __array_function__(
        self, function: Callable[..., Any], _types: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Element:
        if function is np.linalg.cholesky and len(args) == 1 and not kwargs:
            return cholesky(args[0])
        if function is np.transpose and len(args) == 1 and not kwargs and isinstance(args[0], Element):
            return args[0].T
        if function in (np.sum, np.max, np.min) and len(args) == 1 and isinstance(args[0], Element):
            return _fold(function.__name__.removeprefix("a"), args[0], **kwargs)
        if function is np.where and len(args) == 3 and not kwargs:
            from cyclotron.language.expressions.dtypes import selected

            return selected(*args)
        if function in (np.real, np.imag, np.copy) and len(args) == 1:
            return apply(function.__name__, *args)
        raise not_an_operator(f"`np.{function.__name__}`")


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Element):
    """A number; one of NumPy's types promotes its neighbours as `typed`, the dtype, says."""

    value: complex
    span: Span
    typed: str | None = None

    @property
    def is_typed(self) -> bool:
        return self.typed is not None


@dataclass(frozen=True, eq=False, repr=False)
class Access(Element):
    """One element of a tensor at affine subscripts.

    Where the kernel reads it, `made` statements had been recorded, with `depth` loops open; `made` is None
    for what the recording reads by itself.
    """

    tensor: SymbolicTensor
    index: tuple[Affine, ...]
    span: Span
    made: int | None = None
    depth: int = 0

    @property
    def dtype(self) -> str:
        return self.tensor.dtype_name

    @property
    def blocked(self) -> bool:
        return self.tensor.blocked

    def grown(self, value: object, *, negative: bool) -> Increment:
        """The element less or plus a value: an accumulation where it is assigned."""
        return Increment(self, element(value), negative)

    def __repr__(self) -> str:
        return f"{self.tensor.name}[{', '.join(map(str, self.index))}]"


class Compound(Element):
    """An expression made of others; what it inherits from them is found once, as they may be shared."""

    def __init__(self, operands: Sequence[Element], span: Span) -> None:
        self._operands = tuple(operands)
        self.span = span
        self._dtype = next((o.dtype for o in self._operands if o.dtype is not None), None)
        self._blocked = any(operand.blocked for operand in self._operands)
        self._is_conditional = any(operand.is_conditional for operand in self._operands)
        self._is_index = any(operand.is_index for operand in self._operands)
        self._is_typed = any(operand.is_typed for operand in self._operands)

    @property
    def operands(self) -> tuple[Element, ...]:
        return self._operands

    @property
    def dtype(self) -> str | None:
        return self._dtype

    @property
    def blocked(self) -> bool:
        return self._blocked

    @property
    def is_conditional(self) -> bool:
        return self._is_conditional

    @property
    def is_index(self) -> bool:
        return self._is_index and self.dtype is None

    @property
    def is_typed(self) -> bool:
        return self._is_typed and self.dtype is None


class Apply(Compound):
    """An operator of the registry applied to elements."""

    def __init__(self, op: str, operands: Sequence[Element], span: Span, flags: Sequence[str] = ()) -> None:
        super().__init__(operands, span)
        self.op = op
        self.flags = tuple(flags)
        self._dtype = result_dtype(op, [operand.dtype for operand in self._operands])


class Reduce(Compound):
    """A fold of `body` over the values of `index` in `region`."""

    def __init__(self, kind: str, index: Index, region: Region, body: Element, span: Span) -> None:
        super().__init__((body,), span)
        self.kind = kind
        self.index = index
        self.region = region
        self.body = body


class Choose(Compound):
    """`then` where the condition on indices holds, else `other`; split into two equations when assigned."""

    def __init__(self, condition: Condition, then: Element, other: Element, span: Span) -> None:
        super().__init__((then, other), span)
        self.condition = condition
        self.then = then
        self.other = other
        self._is_conditional = True


@dataclass(frozen=True)
class Increment:
    """The value of an augmented assignment: `target` grows or shrinks by `value`."""

    target: Access
    value: Element
    negative: bool

    def element(self) -> Element:
        """The new value."""
        return apply("subtract" if self.negative else "add", self.target, self.value)


def element(value: object) -> Element:
    """Return an element as it is and a Python or NumPy number as a constant; anything else is an error."""
    if isinstance(value, Element):
        return value
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0 and value.dtype.kind in "biufc":
        return Constant(value.item(), here(), value.dtype.name)
    if isinstance(value, (bool, int, float, complex)):
        return Constant(value, here())
    if isinstance(value, (Affine, Extremum, Rounded)):
        if isinstance(value, Affine) and not value.terms:
            return Constant(value.constant, here())
        from cyclotron.language.expressions.index_numbers import number

        return number(value)
    if isinstance(value, Condition):
        from cyclotron.language.expressions.index_numbers import truth_number

        return truth_number(value)
    if isinstance(value, (Array, np.ndarray)):
        from cyclotron.language.arrays.elementwise import operand
        from cyclotron.language.arrays.whole import only_element

        return only_element(operand(value) if isinstance(value, np.ndarray) else value)
    if isinstance(value, Part):
        raise value.refused()
    raise TraceError(
        f"a value of type `{type(value).__name__}` is used where an element of a tensor is needed",
        code="CYC105",
        span=here(),
        help="use elements of tensors, Python numbers and operators on them",
    )


def apply(op: str, *values: object, flags: Sequence[str] = ()) -> Element:
    """Apply an operator of the registry by name."""
    from cyclotron.language.expressions.dtypes import checked
    from cyclotron.language.expressions.index_numbers import computed, is_of_indices

    array = array_of(values)
    if array is not None:
        return array.combined(op, values)  # type: ignore[return-value]  # an array where operands are
    span = here()
    operands = [element(value) for value in values]
    if is_of_indices(op, operands):
        return computed(op, operands, span, flags)
    return applied(op, checked(op, operands, span), span, flags)


def array_of(values: Sequence[object]) -> Array | Part | None:
    """The first of some values that is an array, also one of the host; None of elements and numbers."""
    for value in values:
        if isinstance(value, Part):
            return value
    for value in values:
        if isinstance(value, Array):
            return value
        if isinstance(value, np.ndarray) and value.ndim:
            from cyclotron.language.arrays.elementwise import operand

            return operand(value)
    return None


def rebuild(value: Element, operands: Sequence[Element]) -> Element:
    """The same operator, reduction or choice on other operands; the same object where they are the same."""
    if all(new is old for new, old in zip(operands, value.operands, strict=True)):
        return value
    if isinstance(value, Reduce):
        return Reduce(value.kind, value.index, value.region, operands[0], value.span)
    if isinstance(value, Choose):
        return Choose(value.condition, operands[0], operands[1], value.span)
    assert isinstance(value, Apply)
    return applied(value.op, operands, value.span, value.flags)


def applied(op: str, operands: Sequence[Element], span: Span, flags: Sequence[str]) -> Element:
    """An operator on operands; on constants its value."""
    constants = [operand.value for operand in operands if isinstance(operand, Constant)]
    if len(constants) == len(operands):
        return Constant(evaluate(op, constants), span)
    return Apply(op, operands, span, flags)


def add(left: object, right: object) -> Element:
    """The sum; the zero with which Python's ``sum`` starts is dropped."""
    if array_of((left, right)) is not None:
        return apply("add", left, right)
    from cyclotron.language.expressions.dtypes import keeps_dtype

    a, b = element(left), element(right)
    for zero, other in ((a, b), (b, a)):
        if isinstance(zero, Constant) and zero.value == 0 and keeps_dtype(zero, other):
            return other
    return apply("add", a, b)


def power(base: object, exponent: object) -> Element:
    """A power; the square is a product, as in NumPy, but of whole numbers by floating ones."""
    if array_of((base, exponent)) is not None:
        return apply("power", base, exponent)
    value = element(base)
    whole = type(exponent) is int or value.dtype is None or np.dtype(value.dtype).kind in "fc"
    if type(exponent) in (int, float) and whole:
        if exponent == 1:
            return value
        if exponent == 2:
            return apply("multiply", value, value)
    return apply("power", value, exponent)


def invert(value: object) -> Element:
    """The inverse of the bits; a truth value's negation, but of those that are Python's."""
    if isinstance(value, Reduce) and value.dtype == "bool":
        raise inverted("what `any` or `all` gives")
    return apply("bit_not", value)


def matmul(left: object, right: object) -> Element:
    """The matrix product; on scalars the product. Transposed operands become flags."""
    if array_of((left, right)) is not None:
        from cyclotron.language.arrays.products import matmul as of_arrays

        return of_arrays(left, right)  # type: ignore[return-value]
    a, b = element(left), element(right)
    for operand in (a, b):
        if isinstance(operand, Constant):
            raise TraceError(
                "`@` has a number as an operand", code="CYC105", span=here(), help="use `*` to scale a tile"
            )
    if not (a.blocked and b.blocked):
        return apply("multiply", a, b)
    a, transposed_a = strip_transpose(a)
    b, transposed_b = strip_transpose(b)
    if transposed_b and not transposed_a and _same_access(a, b):
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
        return Choose(test, *_alike(element(then), element(other)), here())
    if not isinstance(test, Element):
        return element(then if test else other)
    from cyclotron.language.expressions.partial import chosen

    if test.is_index:
        test = cast(test, "bool")
    return chosen(test, element(then), element(other))


def _alike(one: Element, other: Element) -> tuple[Element, Element]:
    """Values in the dtype that NumPy promotes theirs to; numbers without one as they are."""
    from cyclotron.language.expressions.dtypes import adopted, one_dtype
    from cyclotron.language.expressions.promotion import converted, promoted

    known = one.dtype or other.dtype
    if known and (one.is_index or other.is_index or one.is_typed or other.is_typed):
        given = [one_dtype(value) for value in (one, other)]
        dtype = known if one.blocked or other.blocked else promoted("where", ["bool", *given])[1]
        first, second = (adopted(converted(v, dtype) if v.dtype else v, dtype) for v in (one, other))
        return first, second
    if one.dtype in (None, other.dtype) or other.dtype is None or one.blocked or other.blocked:
        return one, other
    dtype = promoted("where", ["bool", one.dtype, other.dtype])[1]
    return converted(one, dtype), converted(other, dtype)


def cast(value: object, dtype: DTypeLike) -> Element:
    """The value in another dtype."""
    if isinstance(value, Array):
        return value.astype(dtype)  # type: ignore[attr-defined, no-any-return]
    name = named_dtype(dtype)
    operand = element(value)
    if f"to_{name}" not in OPERATORS:
        raise ShapeError(
            f"a value is converted to dtype {name}",
            code="CYC120",
            span=here(),
            help=f"use {', '.join(DTYPES[:-1])} or {DTYPES[-1]}",
        )
    if operand.dtype == name:
        return operand
    return apply(f"to_{name}", operand)


def strip_transpose(value: Element) -> tuple[Element, bool]:
    """Split a transposed element into its operand and True."""
    if isinstance(value, Apply) and value.op == "transpose":
        return value.operands[0], True
    return value, False


def _same_access(a: Element, b: Element) -> bool:
    return (
        isinstance(a, Access)
        and isinstance(b, Access)
        and a.tensor is b.tensor
        and all(x.same(y) for x, y in zip(a.index, b.index, strict=True))
    )


def _fold(kind: str, value: Element, axis: int | None = None, keepdims: bool = False) -> Element:
    if axis not in (-1, 1, 0) or not keepdims:
        raise TraceError(
            f"`{kind}` of a tile is supported over rows and columns only",
            code="CYC105",
            span=here(),
            help="write `axis=-1, keepdims=True`, or `axis=0, keepdims=True`",
        )
    return apply(f"{'row' if axis else 'column'}_{kind}", value) if value.blocked else value


_SPELLED: Mapping[np.ufunc, Callable[..., Element]] = {
    np.add: add,
    np.power: power,
    np.square: lambda a: power(a, 2),
    np.reciprocal: lambda a: apply("divide", 1, a),
    np.matmul: matmul,
    np.positive: lambda a: element(a) if array_of((a,)) is None else +a,
}
_SPELLED_HERE: Mapping[str, Callable[..., Element]] = {
    "add": add,
    "power": power,
    "matmul": matmul,
    "bit_not": invert,
}
_MATRIX = ("matmul", "syrk", "inv_triangular", "cholesky")  # here NumPy's ufunc is what they are on scalars
UFUNCS: Mapping[np.ufunc, Callable[..., Element]] = {
    **{
        entry.numpy: partial(apply, op)
        for op, entry in OPERATORS.items()
        if isinstance(entry.numpy, np.ufunc) and op not in _MATRIX
    },
    **_SPELLED,
}
