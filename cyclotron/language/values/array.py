"""Whole arrays while a kernel is traced: views of tensors, and expressions that are not computed yet.

A view means the elements of its tensor, now and later, as in NumPy. An expression is a new array: the
statement that assigns it computes it, element by element (`cyclotron.language.trace.assign`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.language.values import broadcasting, dispatch
from cyclotron.language.values.affine import EVERYWHERE, Affine, Index, Region
from cyclotron.language.values.axes import axes_of
from cyclotron.language.values.broadcasting import Shape
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.context import active_recorder
from cyclotron.language.values.dispatch import Array, Method, Term, in_place
from cyclotron.language.values.guarded import guarded_where, may_fail
from cyclotron.language.values.host_arrays import constant
from cyclotron.language.values.nodes import Access, Element, IndexValue, Tensor
from cyclotron.language.values.numpy_functions import called, called_method, check_options, method, refused
from cyclotron.language.values.numpy_functions import ufunc as of_ufunc
from cyclotron.language.values.operations import apply, cast, element, positive
from cyclotron.language.values.operators import named_dtype, result_dtype
from cyclotron.language.values.powers import simple_power
from cyclotron.language.values.refusals import DATA_HELP, refuse_of_arrays, refused_in_place, refusing
from cyclotron.language.values.scalar_type import ScalarType, promote
from cyclotron.language.values.scalars import (
    choose_by_indices,
    compares_two_signs,
    converted,
    explicit_cast,
    within_dtype,
)
from cyclotron.language.values.source_span import here, shape_error, trace_error
from cyclotron.language.values.subscripts import (
    Pick,
    check_inside,
    count,
    has_bounds_of_data,
    has_places,
    in_cases,
    keys_of,
    subscripted,
)
from cyclotron.support.dtypes import kind_of
from cyclotron.support.errors import Span

ElementAt = Callable[[Sequence[Affine]], Element]
READ_ONLY = frozenset({"T", "shape", "dtype", "real", "imag", "ndim", "size"})
MOST_OPERATIONS = 10_000  # of an element of an expression: operands are evaluated wherever they occur


class SymbolicArray(Array):
    """A whole array: its shape, its dtype and what its elements are."""

    name: str = "the array"
    costly = False  # whether an element takes more than a few operators
    fixed = ""  # what it is, if nobody can write it
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

    def read_tensors(self) -> tuple[Tensor, ...]:
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
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        return self.dtype.itemsize

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        return np.dtype(self.dtype_name)

    @property
    def type(self) -> ScalarType:
        """The type of the elements."""
        return ScalarType(self.dtype_name)

    @property
    def T(self) -> SymbolicArray:  # noqa: N802 (NumPy's name)
        """The array with its axes in reverse."""
        return self.transpose()

    def transpose(self, *axes: Any) -> SymbolicArray:
        """The array with its axes in another order, by default in reverse."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        if not order or order == (None,):
            order = tuple(reversed(range(self.ndim)))
        if len(order) != self.ndim:
            raise shape_error(
                "CYC122",
                f"`transpose` has {count(len(order), 'axis', 'axes')} of an array that has {self.ndim}",
                help="name every axis once, e.g. `A.transpose(1, 0)`",
            )
        axes = axes_of(tuple(order), self.ndim, "transpose")
        picks = [Pick(Affine({}, 0), 1, axes.index(axis)) for axis in range(self.ndim)]
        return self.taken(picks, tuple(self.shape[axis] for axis in axes))

    def taken(self, picks: Sequence[Pick], shape: Shape, fixed: str = "") -> SymbolicArray:
        """The elements that picks take of each axis: of a view another view.

        Parameters
        ----------
        picks : sequence of Pick
            What is taken of each axis; two that go along one axis of the result take a diagonal.
        shape : tuple of int or Affine
            The shape of the result.
        fixed : str
            What a view is that NumPy does not let anybody write.
        """
        part = LazyArray(shape, self.dtype_name, lambda index: self.at(picked(picks, index)), (self,))
        part.fixed = fixed
        return part.viewing(self)

    @property
    def real(self) -> SymbolicArray:
        """The real parts: of real arrays the array itself, of complex ones a view."""
        return self._part("real") if kind_of(self.dtype) == "c" else self

    @property
    def imag(self) -> SymbolicArray:
        """The imaginary parts: of complex arrays a view, of real ones new zeros."""
        return self._part("imag")

    def _part(self, part: str) -> SymbolicArray:
        view = self.whole() if kind_of(self.dtype) == "c" else None
        if view is None:
            new = combine(part, (self,))
            if kind_of(self.dtype) != "c" and isinstance(new, LazyArray):
                new.fixed = "the .imag of a real array"
            return new
        return View(
            view.tensor, view.picks, view.shape, here(), part=part, fixed=f"the .{part} of a complex array"
        )

    def conj(self) -> SymbolicArray:
        """The complex conjugates in a new array; of real arrays the array itself."""
        return combine("conj", (self,)) if kind_of(self.dtype) == "c" else self

    conjugate = conj

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return broadcasting.whole_numbers(self.shape[:1], f"`{self.name}`")[0]

    def __getitem__(self, key: object) -> Any:
        if has_places(key):
            return dispatch.call("gathered", self, key)
        cases = in_cases(key)
        if cases:
            return by_cases(self, cases)
        picks, shape = subscripted(self.name, self.shape, key)
        self.check_inside(picks)
        return self.selected(key, picks, shape)

    def selected(self, key: object, picks: Sequence[Pick], shape: Shape) -> Any:
        """Take the part that a subscript picks."""
        return self.taken(picks, shape)

    def check_inside(self, picks: Sequence[Pick]) -> None:
        """Raise `LegalityError` (CYC203) where a subscript goes beyond the elements."""
        pairs = zip(picks, self.shape, strict=True)
        check_inside(self.name, [(pick.start, extent) for pick, extent in pairs if pick.axis is None])

    def operate(self, op: str, *values: object) -> Any:
        """Apply an operator to values of which this is one."""
        if op == "matmul":
            return dispatch.call("matmul", *values)
        return self.combined(op, values)

    def combined(self, op: str, values: tuple[object, ...]) -> SymbolicArray:
        """Apply an operator to the elements of values of which this is one, broadcast."""
        return combine(op, values)

    def only_element(self) -> Element:
        """The element of an array without axes.

        Raises
        ------
        ShapeError
            CYC122 if it has axes.
        """
        if self.shape:
            raise shape_error(
                "CYC122",
                f"an array of shape {broadcasting.text(self.shape)} is used where one element is needed",
                help="give one subscript for each axis, or assign the array to a slice",
            )
        return self.at(())

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> SymbolicArray:
        """A copy in another dtype; without `copy` the array itself where it has the dtype."""
        name = named_dtype(dtype)
        if not copy and name == self.dtype_name:
            return self
        return LazyArray(self.shape, name, lambda index: cast(self.at(index), name), (self,))

    def __pos__(self) -> SymbolicArray:
        positive(self)
        return self.expression()

    def copy(self) -> SymbolicArray:
        """A new array of the elements, which also functions that the kernel calls may change."""
        copied = self.expression()
        return copied if active_recorder().open_parts or not self.shape else materialized(copied)

    def expression(self) -> LazyArray:
        """Its elements, where no array holds them yet."""
        return LazyArray(self.shape, self.dtype_name, self.at, (self,), label="copy")

    def fill(self, value: object) -> None:
        """Assign one value to all elements."""
        self[...] = value

    def dot(self, other: object) -> Any:
        """The product with a vector or matrix."""
        return dispatch.call("dot", self, other)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Any:
        if method != "__call__":
            return called_method(ufunc, method, inputs, options)
        known = of_ufunc(ufunc)
        if known is None:
            raise refused(f"np.{ufunc.__name__}")
        given = [
            name
            for name, value in options.items()
            if value is not None and not (name == "where" and value is True)
        ]
        check_options(f"np.{ufunc.__name__}", given)
        return known(*inputs)

    def __array_function__(
        self, function: Callable[..., Any], _types: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        return called(function, args, kwargs)

    # Operators and conversions of Python that whole arrays do not have.

    __floor__, __ceil__ = map(dispatch.whole, ("floor", "ceil"))
    __round__ = refuse_of_arrays("`round`", "write `cy.round(x)`")

    def __pow__(self, exponent: object) -> Any:
        if self.shape and self.dtype_name == "bool" and type(exponent) is int and exponent == 2:
            return super().__pow__(np.int8(2))  # the operator's square; np.power has int64
        return super().__pow__(exponent)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = method(name)
        if known is not None:
            return functools.partial(known, self)
        raise refused(f"{self.name}.{name}" if self.name.isidentifier() else f".{name}")

    def __setattr__(self, name: str, value: object) -> None:
        if name in READ_ONLY:
            raise trace_error(
                "CYC107",
                f"`.{name}` of an array is assigned",
                help="assign to elements, e.g. `x[...] = y` or `x.T[...] = y`; arrays keep shape and dtype",
            )
        object.__setattr__(self, name, value)

    __bool__ = refusing("CYC104", "a condition depends on the data of an array", DATA_HELP)
    __float__ = __int__ = __complex__ = __index__ = __array__ = refusing(
        "CYC107",
        "an array is converted to what Python computes with, and it has no values yet",
        "use the operators of arrays, cy.sum and the like, of several `cy.stack([x, y])`; make"
        " arrays that functions fill by `cy.zeros`; run other code in `with cy.host():`",
    )

    __contains__ = refuse_of_arrays("`in`", "write `cy.any(x == value)`")

    __iter__ = refusing(
        "CYC107",
        "an array is taken apart by iteration",
        "write `for i in range(len(x)): ...` with x[i], or cy.sum, cy.max, cy.sort and the like for"
        " Python's sum, max and sorted",
    )


def by_cases(array: Any, cases: Sequence[tuple[Region, Any]]) -> Any:
    """The elements that subscripts take in each of their cases."""
    rest = [EVERYWHERE for _ in cases[2:]] + [region for region, _ in cases[-1:]]  # cases tell where they are
    parts: list[tuple[Condition, Any]] = []
    for (region, key), left in zip(cases, [*rest, EVERYWHERE], strict=False):
        with active_recorder().assuming(Condition(region)):
            parts.append((Condition(region, left), array[key]))
    *others, (_, last) = parts

    def chosen(of: Callable[[Any], Element]) -> Element:
        result = of(last)
        for where, part in reversed(others):
            result = choose_by_indices(where, of(part), result)
        return result

    if isinstance(last, Element):
        return chosen(lambda part: part)
    arrays = tuple(part for _, part in parts)
    kind = type(last) if isinstance(last, LazyArray) else LazyArray  # with its operators in place
    return kind(last.shape, last.dtype_name, lambda index: chosen(lambda part: part.at(index)), arrays)


def assigned_by_cases(array: Any, key: object, value: object) -> bool:
    """Assign to the elements that subscripts take in each of their cases; False where they have none."""
    cases = in_cases(key)
    if cases and isinstance(value, LazyArray):
        value = materialized(value)  # as it is before any case
    for region, one in cases:
        with dispatch.call("where", Condition(region)):
            array[one] = value
    return bool(cases)


def update_in_place(op: str) -> Method:
    """Return the method of an operator that changes an array in place."""
    return lambda self, other: self._in_place(op, other)


@in_place(update_in_place)
class View(SymbolicArray):
    """Elements of a tensor, or parts of them: what slices, `.T` and integers take of it, in each of its axes.

    Parameters
    ----------
    tensor : Tensor
        The storage: what is assigned to it shows in the view, and what is assigned to the view in it.
    picks : sequence of Pick
        The elements of each of its axes.
    shape : tuple of int or Affine
        The shape of the view.
    span : Span
        Where it is made.
    part : {"", "real", "imag"}
        Which part of complex elements.
    fixed : str
        What it is, if nobody can write it.
    """

    def __init__(
        self,
        tensor: Tensor,
        picks: Sequence[Pick],
        shape: Shape,
        span: Span,
        *,
        part: str = "",
        fixed: str = "",
    ) -> None:
        self.tensor = tensor
        self.picks = tuple(picks)
        self.span = span
        self.name = tensor.name
        self.dtype_name = result_dtype(part, tensor.dtype_name) if part else tensor.dtype_name
        self.part = part
        self.fixed = fixed
        self._shape = shape

    @property
    def shape(self) -> Shape:
        return self._shape

    def whole(self) -> View:
        return self

    def read_tensors(self) -> tuple[Tensor, ...]:
        return (self.tensor,)

    def at(self, index: Sequence[Affine]) -> Element:
        access = self.tensor.read(picked(self.picks, index), self.span)
        return apply(self.part, access) if self.part else access

    def is_same(self, other: object) -> bool:
        """Return whether both are the same elements in the same order."""
        return (
            isinstance(other, View)
            and other.tensor is self.tensor
            and other.part == self.part
            and all(
                a.axis == b.axis and a.step == b.step and a.start.same(b.start)
                for a, b in zip(self.picks, other.picks, strict=True)
            )
            and len(self.shape) == len(other.shape)
            and all(map(broadcasting.same, self.shape, other.shape))
        )

    def taken(self, picks: Sequence[Pick], shape: Shape, fixed: str = "") -> View:
        inner = [
            pick
            if pick.axis is None
            else Pick(
                pick.start.plus(picks[pick.axis].start.times(pick.step)),
                pick.step * picks[pick.axis].step,
                picks[pick.axis].axis,
            )
            for pick in self.picks
        ]
        return View(self.tensor, inner, shape, here(), part=self.part, fixed=fixed or self.fixed)

    def check_inside(self, picks: Sequence[Pick]) -> None:
        parts = [None if self._is_whole(axis) else extent for axis, extent in enumerate(self.shape)]
        pairs = zip(picks, parts, strict=True)
        found = [(pick.start, extent) for pick, extent in pairs if pick.axis is None and extent is not None]
        check_inside(self.name, found)

    def _is_whole(self, axis: int) -> bool:
        """Return whether an axis is one of the tensor, whose ends the compiler knows."""
        own = [n for n, pick in enumerate(self.picks) if pick.axis == axis]
        if len(own) != 1 or not broadcasting.same(self.shape[axis], self.tensor.shape[own[0]]):
            return False
        return self.picks[own[0]].step == 1 and self.picks[own[0]].start.same(Affine({}, 0))

    def check_writable(self) -> None:
        """Raise `TraceError` (CYC107) for a view that nobody can write."""
        own = self.tensor.fixed
        if self.fixed or own:
            raise trace_error(
                "CYC107",
                f"{self.fixed or own}, `{self.name}`, is assigned",
                help="make it an array that can be written, by `.copy()`"
                if own
                else f"assign to `{self.name}` itself; or make the view an array of its own, by `.copy()`",
            )

    def selected(self, key: object, picks: Sequence[Pick], shape: Shape) -> View | Element:
        view = self.taken(picks, shape)
        is_array = view.shape or any(one is Ellipsis for one in keys_of(key))  # as NumPy's
        return view if is_array else view.at(())

    def __setitem__(self, key: object, value: object) -> None:
        self.check_writable()
        if has_places(key):
            dispatch.call("scattered", self, key, value)
            return
        if assigned_by_cases(self, key, value):
            return
        if has_bounds_of_data(key):
            dispatch.call("assign_by_bounds", self, key, value)
            return
        part = self[key]
        if isinstance(part, Access):
            assign_element(part.tensor, part.index, value)
        elif not part.is_same(value.whole() if isinstance(value, SymbolicArray) else None):
            self.tensor.owner.assign_view(part, value)

    def accumulated(self, value: object, *, negative: bool, is_loop: bool = False) -> View:
        """Add a value in place, or subtract it; `is_loop`: the sum of what a loop adds."""
        self.tensor.owner.accumulate_view(self, value, negative=negative, is_loop=is_loop)
        return self

    def _in_place(self, op: str, value: object) -> View:
        if op in ("add", "subtract"):
            return self.accumulated(_term(value), negative=op == "subtract")
        self.tensor.owner.update_view(self, op, value)
        return self


@dataclass(frozen=True)
class Chosen:
    """The two arrays of which a condition chooses one.

    Attributes
    ----------
    read : tuple of frozenset of Tensor
        The tensors that are read where it holds, and where it does not.
    sources : tuple of (Tensor or None)
        The tensors of which the two are all or a part; None is a new array.
    condition : object or None
        That whose branches are recorded, where they are.
    """

    read: tuple[frozenset[Tensor], ...]
    sources: tuple[Tensor | None, ...]
    condition: object | None = None


def _update_of_expression(op: str) -> Method:
    """Return the method of an operator in place, by which numbers, as in Python, become other ones."""
    refused = refused_in_place(op)
    return lambda self, other: refused(self, other) if self.shape or self.fixed else NotImplemented


@in_place(_update_of_expression)
class LazyArray(SymbolicArray):
    """A new array that is not computed yet.

    Parameters
    ----------
    shape : tuple of int or Affine
        Its shape.
    dtype : str
        NumPy's name of the dtype.
    element_at : callable
        The element at an index.
    operands : sequence of SymbolicArray
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
        operands: Sequence[SymbolicArray],
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
        self._recorded_statements = len(active_recorder().statements)
        self.chosen: Chosen | None = None  # the arrays one of which it is in Python
        self.viewed: Tensor | None = None  # that of which it is a view in Python
        self.summed: Callable[[str], LazyArray] | None = None  # of a loop's sum: it, of terms in a dtype
        self.term_type: ScalarType | None = None  # of a loop's sum: that of its terms, in Python
        self.terms_by_data = False  # of a loop's sum: whether data choose its terms
        self._is_used = False
        self._held: SymbolicArray | None = None  # in a tensor, once several expressions have it
        self.operations = 1 + sum(operand.operations for operand in operands)
        if self.operations > MOST_OPERATIONS:
            raise trace_error(
                "CYC107",
                f"an expression takes {self.operations:,} operations for each element, and at most"
                f" {MOST_OPERATIONS:,} are computed at once",
                help="what a helper function makes is computed anew wherever it is used: give the value a"
                " name in the kernel, e.g. `u = step(u)` for each step",
            )

    @property
    def shape(self) -> Shape:
        return self._shape

    def used(self) -> None:
        """Note that an expression has it as an operand; where a second one has, costly elements are held."""
        # Neither of a number, which may be in a test, nor in a term of a sum: there no array can be made.
        held = self._held is None and self.costly and self._shape and not active_recorder().open_terms
        if self._is_used and held:
            self._held = materialized(self)
        self._is_used = True

    def viewing(self, array: SymbolicArray) -> LazyArray:
        """The same elements, which in Python are a view of those of an array."""
        self.viewed, self.chosen = held_tensor(array), array.chosen if isinstance(array, LazyArray) else None
        return self

    def at(self, index: Sequence[Affine]) -> Element:
        if self._held is not None:
            return self._held.at(index)
        for tensor in self._read:
            if tensor.assigned > self._recorded_statements:
                raise trace_error(
                    "CYC107",
                    f"`{tensor.name}` is assigned between an expression of it and the use of the expression",
                    help=f"give the expression a name of its own in the kernel before `{tensor.name}` is"
                    " assigned, e.g. `y = (...)`, or use cy.copy",
                )
        return self._element_at(index)

    __setitem__ = refusing(
        "CYC107",
        "a part of an expression is assigned, and no array holds it yet",
        "give the expression a name of its own in the kernel first, e.g. `y = (...)`",
    )


def _term(value: object) -> object:
    """Return the value that is added in place, which the intermediate language may have marked as a term."""
    return value.value if isinstance(value, Term) else value


def picked(picks: Sequence[Pick], index: Sequence[Affine]) -> tuple[Affine, ...]:
    """The subscripts that picks make of an index."""
    return tuple(pick.at(index) for pick in picks)


def check_scalars(value: SymbolicArray) -> None:
    """Raise `TraceError` (CYC107) for an array of tiles, which has no whole-array statements."""
    for tensor in value.read_tensors():
        if tensor.blocked:
            raise trace_error(
                "CYC107",
                f"`{tensor.name}` is used as a whole array, and its elements are tiles",
                help=f"write loops over its tiles, e.g. `{tensor.example()}`",
            )


def combine(op: str, values: Sequence[object]) -> SymbolicArray:
    """Apply an operator to the elements of arrays, elements and numbers, broadcast.

    Raises
    ------
    ShapeError
        CYC121 if dtypes do not have the operator, CYC122 if shapes do not conform.
    """
    if op == "power":
        spelled: SymbolicArray | None = simple_power(*values)
        if spelled is not None:
            return spelled
    op, values = within_dtype(op, values)
    test = values[0] if op == "where" and isinstance(values[0], (Condition, bool, np.bool_)) else None
    operands = [operand(value) for value in (values if test is None else values[1:])]
    shape = broadcasting.broadcast([one.shape for one in operands])
    operands = [computed_once(one, shape) for one in operands]
    if not shape and sum(one.costly for one in operands) > 1:  # in one equation, totals wait for each other
        operands = [materialized(one) if one.costly else one for one in operands]
    if op == "where" and test is None and operands[0].costly and any(map(_may_fail, operands[1:])):
        operands[0] = materialized(operands[0])  # reductions in the branches have it in each of their terms
    types = [one.type for one in operands]
    if op == "bit_and" and all(one.dtype == "bool" for one in types):
        op = "logical_and"
    inner, result = promote(op, *(types if test is None else [ScalarType("bool"), *types]))
    exact = compares_two_signs(op, types)

    def element_at(index: Sequence[Affine]) -> Element:
        parts = [one.at(broadcasting.along(index, one.shape)) for one in operands]
        if op == "where":
            if test is None:
                condition: Any = converted(parts.pop(0), "bool")
                return guarded_where(condition, *(explicit_cast(part, inner) for part in parts))
            then, other = (explicit_cast(part, inner) for part in parts)
            if isinstance(test, Condition):
                return choose_by_indices(test, then, other)
            return then if test else other
        return apply(op, *(parts if exact else (converted(part, inner) for part in parts)))

    return LazyArray(shape, result.dtype, element_at, operands)


def operand(value: object) -> SymbolicArray:
    """An array as it is, one of the host as a constant; an element or number as an array without axes."""
    if isinstance(value, SymbolicArray):
        check_scalars(value)
        return value
    if (isinstance(value, np.ndarray) and value.ndim) or isinstance(value, (list, tuple)):
        array: SymbolicArray = constant(value)
        return array
    return _Scalar(element(value))


def held_tensor(value: SymbolicArray) -> Tensor | None:
    """The tensor of which an array is all or a part; None for new arrays."""
    if isinstance(value, LazyArray):
        return value.viewed
    view = value.whole()
    return None if view is None else view.tensor


def computed_once(value: SymbolicArray, shape: Shape) -> SymbolicArray:
    """An operand, in a tensor of its own where broadcasting would compute costly elements again and again."""
    if isinstance(value, LazyArray):
        value.used()
    if not value.costly or (
        len(value.shape) == len(shape) and all(map(broadcasting.same, value.shape, shape))
    ):
        return value
    return materialized(value)


def assign_element(tensor: Tensor, index: tuple[Affine, ...], value: object) -> None:
    """Assign to an element of a tensor, of which the loops around may take elements where data tell."""
    searched = [(axis, index[axis], loops) for axis, loops in sorted(tensor.searched_in.items())]
    places = [n for n, at, loops in searched if at.divisor == 1 and not loops.isdisjoint(at.terms)]
    if places:
        dispatch.call("put_where_searched", tensor, index, places, value)
    else:
        tensor.owner.assign(tensor, index, value)


def materialized(value: SymbolicArray) -> SymbolicArray:
    """An array whose elements are there: an expression in a tensor of its own."""
    if not isinstance(value, LazyArray):
        return value
    array: SymbolicArray = active_recorder().new_array(value, value.label)
    return array


def _may_fail(value: SymbolicArray) -> bool:
    """Return whether reductions of an array have operators that have no result for some values."""
    return value.costly and may_fail(value.at([Affine({Index("step", here()): 1}, 0) for _ in value.shape]))


class _Scalar(SymbolicArray):
    """An element or a number as an array without axes."""

    def __init__(self, value: Element) -> None:
        self.value = value
        self.dtype_name = value.dtype

    @property
    def type(self) -> ScalarType:
        return self.value.type

    @property
    def shape(self) -> Shape:
        return ()

    def at(self, index: Sequence[Affine]) -> Element:
        return self.value


def flat_indices(shape: Shape, axes: Sequence[int]) -> SymbolicArray:
    """For each element of a shape its place along axes, counted with the last one fastest."""
    sizes = tuple(shape[axis] for axis in axes)

    def element_at(index: Sequence[Affine]) -> Element:
        return flat_index([index[axis] for axis in axes], sizes)

    return LazyArray(shape, "int64", element_at, ())


def flat_index(index: Sequence[Affine], shape: Shape) -> Element:
    """The place of an index in a shape, counted with the last axis fastest."""
    form = index[0] if index else Affine({}, 0)
    for at, size in zip(index[1:], broadcasting.whole_numbers(shape[1:], "the axes"), strict=True):
        form = form.times(size).plus(at)
    return IndexValue(form, ScalarType("int64"), here())
