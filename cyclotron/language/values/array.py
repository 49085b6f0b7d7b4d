"""Whole arrays while a kernel is traced: views of tensors, and expressions that are not computed yet.

A view means the elements of its tensor, now and later, as in NumPy. An expression is a new array: the
statement that assigns it computes it, element by element (`cyclotron.language.recording.statements`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.errors import ShapeError, Span, TraceError
from cyclotron.language.arrays import broadcasting
from cyclotron.language.arrays.array_refusals import ArrayRefusals, refused_in_place
from cyclotron.language.arrays.broadcasting import Shape
from cyclotron.language.arrays.subscripts import Pick, count, subscripted
from cyclotron.language.expressions.affine import Affine
from cyclotron.language.expressions.arithmetic import Array, Term
from cyclotron.language.expressions.elements import Access, Element, cast
from cyclotron.language.expressions.operators import named_dtype
from cyclotron.language.expressions.position import here

if TYPE_CHECKING:
    from cyclotron.language.arrays.tensors import SymbolicTensor
    from cyclotron.language.recording.aliases import Chosen

ElementAt = Callable[[Sequence[Affine]], Element]
MOST_OPERATIONS = 10_000  # of an element of an expression: operands are evaluated wherever they occur


def _folded(kind: str, about: str) -> Callable[..., Any]:
    """The method that is a reduction."""

    def method(
        self: Whole, axis: Any = None, *options: object, keepdims: bool = False, **named: object
    ) -> Whole:
        from cyclotron.language.arrays.numpy_functions import check_options
        from cyclotron.language.functions.folds import fold

        dtype = named.pop("dtype", None)
        if dtype is not None and kind in ("sum", "mean"):
            return fold(kind, self.astype(dtype), axis, keepdims).astype(dtype)  # type: ignore[arg-type]
        named["dtype"] = dtype
        given = [name for name, value in named.items() if value is not None]
        unnamed = "out" if kind in ("max", "min", "any", "all") else "dtype"  # as NumPy's methods
        check_options(f".{kind}", [unnamed, *given] if any(v is not None for v in options) else given)
        return fold(kind, self, axis, keepdims)

    method.__name__ = method.__qualname__ = kind
    method.__doc__ = about
    return method


class Whole(ArrayRefusals, Array):
    """A whole array: its shape, its dtype and what its elements are."""

    name: str = "the array"
    costly = False  # whether an element takes more than a few operators
    operations = 1  # how many accesses and operators an element takes
    __hash__ = object.__hash__

    @property
    def shape(self) -> Shape:
        """Elements along each axis; of slices an affine form of the loops around, where they depend on it."""
        raise NotImplementedError

    def at(self, index: Sequence[Affine]) -> Element:
        """The element at an index, one form for each axis."""
        raise NotImplementedError

    def whole(self) -> View | None:
        """The view that this is, of a tensor; None for expressions."""
        return None

    def read_tensors(self) -> tuple[SymbolicTensor, ...]:
        """The tensors of which this is a view."""
        return ()

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(broadcasting.whole_numbers(self.shape, f"`{self.name}`"))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        return np.dtype(self.dtype_name)

    @property
    def T(self) -> Whole:  # noqa: N802 (NumPy's name)
        """The array with its axes in reverse."""
        return self.transpose()

    def transpose(self, *axes: Any) -> Whole:
        """The array with its axes in another order, by default in reverse."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        if not order or order == (None,):
            order = tuple(reversed(range(self.ndim)))
        if len(order) != self.ndim:
            raise ShapeError(
                f"`transpose` has {count(len(order), 'axis', 'axes')} of an array that has {self.ndim}",
                code="CYC122",
                span=here(),
                help="name every axis once, e.g. `A.transpose(1, 0)`",
            )
        return self._permuted(axes_of(tuple(order), self.ndim, "transpose"))

    def _permuted(self, order: tuple[int, ...]) -> Whole:
        shape = tuple(self.shape[axis] for axis in order)
        return Expression(shape, self.dtype_name, lambda index: self.at(unpermuted(index, order)), (self,))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return broadcasting.whole_numbers(self.shape[:1], f"`{self.name}`")[0]

    def __getitem__(self, key: object) -> Any:
        picks, shape = subscripted(self.name, self.shape, key)
        return Expression(shape, self.dtype_name, lambda index: self.at(picked(picks, index)), (self,))

    def operate(self, op: str, *values: object) -> Any:
        """Apply an operator to values of which this is one."""
        if op == "matmul":
            from cyclotron.language.arrays.products import matmul

            return matmul(*values)
        return self.combined(op, values)

    def combined(self, op: str, values: tuple[object, ...]) -> Whole:
        """Apply an operator to the elements of values of which this is one, broadcast."""
        from cyclotron.language.arrays.elementwise import combine

        return combine(op, values)

    def astype(self, dtype: DTypeLike) -> Whole:
        """A copy in another dtype."""
        name = named_dtype(dtype)
        return Expression(self.shape, name, lambda index: cast(self.at(index), name), (self,))

    def __pos__(self) -> Whole:
        return self.copy()

    def copy(self) -> Whole:
        """A new array of the elements."""
        return Expression(self.shape, self.dtype_name, self.at, (self,))

    def fill(self, value: object) -> None:
        """Assign one value to all elements."""
        self[...] = value

    sum = _folded("sum", "The sum over axes, by default over all.")
    max = _folded("max", "The maximum over axes, by default over all.")
    min = _folded("min", "The minimum over axes, by default over all.")
    any = _folded("any", "Whether some element is not zero, over axes, by default over all.")
    all = _folded("all", "Whether no element is zero, over axes, by default over all.")
    mean = _folded("mean", "The mean over axes, by default over all.")

    def dot(self, other: object) -> Any:
        """The product with a vector or matrix."""
        from cyclotron.language.arrays.products import dot

        return dot(self, other)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Any:
        from cyclotron.language.arrays.numpy_functions import check_options, refused
        from cyclotron.language.arrays.numpy_functions import ufunc as of_ufunc

        known = of_ufunc(ufunc)
        if known is None or method != "__call__":
            raise refused(f"np.{ufunc.__name__}" + (f".{method}" if method != "__call__" else ""))
        check_options(f"np.{ufunc.__name__}", list(options))
        return known(*inputs)

    def __array_function__(
        self, function: Callable[..., Any], _types: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        from cyclotron.language.arrays.numpy_functions import called

        return called(function, args, kwargs)


class View(Whole):
    """Elements of a tensor: what slices, `.T` and integers take of it, in each of its axes."""

    def __init__(self, tensor: SymbolicTensor, picks: Sequence[Pick], shape: Shape, span: Span) -> None:
        self.tensor = tensor
        self.picks = tuple(picks)
        self.span = span
        self.name = tensor.name
        self.dtype_name = tensor.dtype_name
        self._shape = shape

    @property
    def shape(self) -> Shape:
        return self._shape

    def whole(self) -> View:
        return self

    def read_tensors(self) -> tuple[SymbolicTensor, ...]:
        return (self.tensor,)

    def at(self, index: Sequence[Affine]) -> Access:
        return self.tensor.read(picked(self.picks, index), self.span)

    def is_same(self, other: object) -> bool:
        """Whether both are the same elements in the same order."""
        return (
            isinstance(other, View)
            and other.tensor is self.tensor
            and all(
                a.axis == b.axis and a.step == b.step and a.start.same(b.start)
                for a, b in zip(self.picks, other.picks, strict=True)
            )
            and len(self.shape) == len(other.shape)
            and all(map(broadcasting.same, self.shape, other.shape))
        )

    def _permuted(self, order: tuple[int, ...]) -> View:
        shape = tuple(self.shape[axis] for axis in order)
        new = {old: axis for axis, old in enumerate(order)}
        picks = [Pick(p.start, p.step, None if p.axis is None else new[p.axis]) for p in self.picks]
        return View(self.tensor, picks, shape, self.span)

    def __getitem__(self, key: object) -> Any:
        inner, shape = subscripted(self.name, self.shape, key)
        picks = []
        for pick in self.picks:
            if pick.axis is None:
                picks.append(pick)
                continue
            own = inner[pick.axis]
            picks.append(Pick(pick.start.plus(own.start.times(pick.step)), pick.step * own.step, own.axis))
        view = View(self.tensor, picks, shape, here())
        return view if shape else view.at(())

    def __setitem__(self, key: object, value: object) -> None:
        from cyclotron.language.arrays.dynamic_slices import assign_by_bounds, has_bounds_of_data

        if has_bounds_of_data(key):
            assign_by_bounds(self, key, value)
            return
        part = self[key]
        if isinstance(part, Access):
            part.tensor.owner.assign(part.tensor, part.index, value)
        elif not part.is_same(value.whole() if isinstance(value, Whole) else None):
            from cyclotron.language.recording.statements import assign

            assign(part, value)

    def grown(self, value: object, *, negative: bool) -> View:
        """Add a value in place, or subtract it."""
        from cyclotron.language.recording.statements import grow

        grow(self, value, negative=negative)
        return self

    def _in_place(self, op: str, value: object) -> View:
        from cyclotron.language.recording.statements import update

        update(self, op, value)
        return self

    def __iadd__(self, other: object) -> View:
        return self.grown(_term(other), negative=False)

    def __isub__(self, other: object) -> View:
        return self.grown(_term(other), negative=True)

    def __imul__(self, other: object) -> View:
        return self._in_place("multiply", other)

    def __imatmul__(self, other: object) -> View:
        from cyclotron.language.recording.statements import multiply

        multiply(self, other)
        return self

    def __itruediv__(self, other: object) -> View:
        return self._in_place("divide", other)

    def __ifloordiv__(self, other: object) -> View:
        return self._in_place("floor_divide", other)

    def __imod__(self, other: object) -> View:
        return self._in_place("remainder", other)

    def __ipow__(self, other: object) -> View:
        return self._in_place("power", other)

    def __iand__(self, other: object) -> View:
        return self._in_place("bit_and", other)

    def __ior__(self, other: object) -> View:
        return self._in_place("bit_or", other)

    def __ixor__(self, other: object) -> View:
        return self._in_place("bit_xor", other)


class Expression(Whole):
    """A new array that is not computed yet.

    Parameters
    ----------
    shape : tuple of int or Affine
        Its shape.
    dtype : str
        NumPy's name of the dtype.
    element_at : callable
        The element at an index.
    operands : sequence of Whole
        The arrays that `element_at` reads.
    costly : bool
        Whether an element takes more than a few operators: then it is computed once where others repeat it.
    label : str
        What a tensor that holds it is called.
    """

    def __init__(
        self,
        shape: Shape,
        dtype: str,
        element_at: ElementAt,
        operands: Sequence[Whole],
        *,
        costly: bool = False,
        label: str = "value",
    ) -> None:
        self._shape = tuple(shape)
        self.dtype_name = dtype
        self.label = label
        self.costly = costly or any(operand.costly for operand in operands)
        self._element_at = element_at
        self._read = [tensor for operand in operands for tensor in operand.read_tensors()]
        self._made = _recorded()
        self.chosen: Chosen | None = None  # the arrays one of which it is in Python
        self.operations = 1 + sum(operand.operations for operand in operands)
        if self.operations > MOST_OPERATIONS:
            raise TraceError(
                f"an expression takes {self.operations:,} operations for each element, and at most"
                f" {MOST_OPERATIONS:,} are computed at once",
                code="CYC107",
                span=here(),
                help="what a helper function makes is computed anew wherever it is used: give the value a"
                " name in the kernel, e.g. `u = step(u)` for each step",
            )

    @property
    def shape(self) -> Shape:
        return self._shape

    def at(self, index: Sequence[Affine]) -> Element:
        for tensor in self._read:
            if tensor.assigned > self._made:
                raise TraceError(
                    f"`{tensor.name}` is assigned between an expression of it and the use of the expression",
                    code="CYC107",
                    span=here(),
                    help=f"give the expression a name of its own in the kernel before `{tensor.name}` is"
                    " assigned, e.g. `y = (...)`, or use cy.copy",
                )
        return self._element_at(index)

    __iadd__, __isub__, __imul__ = (refused_in_place(sign) for sign in ("+", "-", "*"))
    __itruediv__, __ifloordiv__, __imod__ = (refused_in_place(sign) for sign in ("/", "//", "%"))
    __ipow__, __imatmul__ = refused_in_place("**"), refused_in_place("@")
    __iand__, __ior__, __ixor__ = (refused_in_place(sign) for sign in ("&", "|", "^"))

    def __setitem__(self, key: object, value: object) -> None:
        raise TraceError(
            "a part of an expression is assigned, and no array holds it yet",
            code="CYC107",
            span=here(),
            help="give the expression a name of its own in the kernel first, e.g. `y = (...)`",
        )


def only_element(value: Array) -> Element:
    """The element of an array without axes.

    Raises
    ------
    ShapeError
        CYC122 if it has axes.
    """
    assert isinstance(value, Whole)
    if value.shape:
        raise ShapeError(
            f"an array of shape {broadcasting.text(value.shape)} is used where one element is needed",
            code="CYC122",
            span=here(),
            help="give one subscript for each axis, or assign the array to a slice",
        )
    return value.at(())


def _term(value: object) -> object:
    """What is added in place, which the intermediate language may have marked as a term."""
    return value.value if isinstance(value, Term) else value


def picked(picks: Sequence[Pick], index: Sequence[Affine]) -> tuple[Affine, ...]:
    """The subscripts that picks make of an index."""
    return tuple(pick.at(index) for pick in picks)


def unpermuted(index: Sequence[Affine], order: Sequence[int]) -> tuple[Affine, ...]:
    """The index of an array where the one with its axes in an order has an index."""
    return tuple(index[order.index(axis)] for axis in range(len(order)))


def axes_of(axis: Any, ndim: int, what: str) -> tuple[int, ...]:
    """Axes as numbers from 0; None means all.

    Raises
    ------
    ShapeError
        CYC122 if there is no such axis, or one is given twice.
    """
    given = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [_whole_number(one, what) for one in given]
    for one in axes:
        if not -ndim <= one < ndim or [a % ndim for a in axes].count(one % ndim) > 1:
            raise ShapeError(
                f"`{what}` has the axis {one} of an array that has {ndim}",
                code="CYC122",
                span=here(),
                help=f"name axes between {-ndim} and {ndim - 1}, each once",
            )
    return tuple(one % ndim for one in axes)


def axis_of(axis: Any, ndim: int, what: str) -> int:
    """One axis as a number from 0; raises as `axes_of`."""
    return axes_of((axis,), ndim, what)[0]


def place_of(number: Any, what: str) -> int:
    """A whole number of places that the host knows.

    Raises
    ------
    ShapeError
        CYC122 for other values.
    """
    try:
        return operator.index(number)
    except TypeError:
        raise ShapeError(
            f"`{what}` goes by {number!r} places",
            code="CYC122",
            span=here(),
            help="give a whole number that is known before the program runs",
        ) from None


def _whole_number(axis: Any, what: str) -> int:
    try:
        if isinstance(axis, bool):
            raise TypeError("a truth value is no axis, as in NumPy")
        return operator.index(axis)
    except TypeError:
        raise ShapeError(
            f"`{what}` has the axis {axis!r}, a value of type `{type(axis).__name__}`",
            code="CYC122",
            span=here(),
            help="axes are whole numbers, e.g. `axis=0` or `axis=(0, 1)`",
        ) from None


def _recorded() -> int:
    """How many statements the recording in progress has."""
    from cyclotron.language.recording.trace import active_trace

    return len(active_trace().statements)


def check_scalars(value: Whole) -> None:
    """Raise `TraceError` (CYC107) for an array of tiles, which has no whole-array statements."""
    for tensor in value.read_tensors():
        if tensor.blocked:
            raise TraceError(
                f"`{tensor.name}` is used as a whole array, and its elements are tiles",
                code="CYC107",
                span=here(),
                help=f"write loops over its tiles, e.g. `{tensor.example()}`",
            )
