"""Slices whose bounds are data, `x[:, :stop] = y` with an array `stop`, and masks: chosen by place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.language.values import array as arrays
from cyclotron.language.values import dispatch
from cyclotron.language.values.affine import Affine, Index, affine
from cyclotron.language.values.array import SymbolicArray, View, combine, flat_indices, materialized, operand
from cyclotron.language.values.broadcasting import same, text
from cyclotron.language.values.dispatch import SIGNS, Arithmetic, PartialArray, Term, in_place
from cyclotron.language.values.nodes import Element, Tensor, accesses, same_value
from cyclotron.language.values.numpy_functions import ELEMENTWISE, called
from cyclotron.language.values.numpy_functions import ufunc as of_ufunc
from cyclotron.language.values.operations import element, where
from cyclotron.language.values.scalar_type import check_storable, nothing_of
from cyclotron.language.values.source_span import here, shape_error, trace_error
from cyclotron.language.values.subscripts import has_bounds_of_data, keys_of
from cyclotron.support.errors import TraceError

Bound = tuple[int, Any, Any]
_MASK = -1  # for the axis


class OfUnknownShape:
    """A part of an array of which data tell how large it is, traced or in a plain run: it has no elements."""

    @property
    def dtype(self: Any) -> Any:
        """The dtype."""
        return self.whole.dtype

    def __matmul__(self: Any, other: Any) -> Any:
        if not isinstance(other, OfUnknownShape) or self.whole.ndim != 1 or other.whole.ndim != 1:
            raise unknown_shape()
        product = self * other
        return product.sum().astype(product.dtype)

    def __array_function__(self: Any, function: Any, _types: object, args: Any, kwargs: Any) -> Any:
        if function is np.sum:
            return self.sum(*args[1:], **kwargs)
        if function is np.dot and isinstance(args[0], OfUnknownShape) and not kwargs:
            return args[0] @ args[1]
        if function not in ELEMENTWISE:
            raise unknown_shape()
        return self._called(function, args, kwargs)

    def __setitem__(self, key: object, value: object) -> None:
        if key is not Ellipsis or value is not self:  # which an operator in place assigned already
            raise unassignable()

    def __getitem__(self, key: object) -> Any:
        if key is not Ellipsis:
            raise unknown_shape()
        return self

    def refused(self) -> TraceError:
        """The error where it is used as an array."""
        return unknown_shape()

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise unknown_shape()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown_shape()

    __len__ = __iter__ = __bool__ = __array__


@in_place(lambda op: lambda self, value: self.changed(op, value))
class Ragged(OfUnknownShape, PartialArray):
    """Elements of a slice whose bounds are data, or of a mask: for operators, and slices with the same ones.

    Parameters
    ----------
    whole : SymbolicArray
        All elements, those outside of the bounds too.
    bounds : sequence of tuple
        For each such slice its axis, start and stop; of a mask -1, the mask and None.
    """

    def __init__(self, whole: SymbolicArray, bounds: Sequence[Bound]) -> None:
        self.whole = whole
        self.bounds = tuple(bounds)
        self._bound_versions = _versions(self.bounds)

    _called = staticmethod(called)

    def operate(self, op: str, *values: object) -> Ragged:
        """Apply an operator to values of which this is one; others are numbers or have such bounds."""
        if op == "matmul":
            raise unknown_shape()
        for value in values:
            if isinstance(value, Ragged):
                value.check(self.bounds)
            elif isinstance(value, SymbolicArray | np.ndarray) and value.shape:
                raise other_bounds()
        parts = [value.whole if isinstance(value, Ragged) else value for value in values]
        return Ragged(combine(op, parts), self.bounds)

    def astype(self, dtype: DTypeLike) -> Ragged:
        """A copy in another dtype."""
        return Ragged(self.whole.astype(dtype), self.bounds)

    def copy(self) -> Ragged:
        """A copy."""
        return Ragged(self.whole.expression(), self.bounds)

    def kept(self, keep: Callable[[SymbolicArray], SymbolicArray]) -> Ragged:
        """The same with its elements in an array that `keep` makes; what is a slice itself stays one."""
        return self if self.whole.whole() is not None else Ragged(keep(self._filled()), self.bounds)

    def sum(self, *options: object, **named: object) -> Any:
        """The sum of its elements, over all axes."""
        check_of_all(*options, *named.values())
        self.check(self.bounds)
        total = self._filled().sum()
        return total + 0 if self.dtype.kind in "fc" else total  # of no elements 0

    def _filled(self) -> Any:
        """All elements, and outside what changes no sum: of numbers with a sign of zero, the negative one."""
        nothing = nothing_of(self.dtype.name)
        inside, whole = _inside(self.whole.shape, self.bounds), self.whole

        def chosen(at: Sequence[Affine]) -> Element:
            return where(inside.at(at), whole.at(at), nothing)

        return arrays.LazyArray(whole.shape, whole.dtype_name, chosen, (inside, whole))

    def changed(self, op: str, value: object) -> Ragged:
        """Apply an operator in place: what it is a slice of changes too, as of NumPy's views.

        The elements of a mask are a copy in NumPy: nobody but the mask takes what became of those.
        """
        view = self.whole.whole()
        is_mask = self.bounds[0][0] == _MASK
        if view is None and not is_mask:
            raise _unlike(
                "what is computed of a slice whose bounds are data is changed, and no name holds it"
            )
        made = self.operate(op, self, value.value if isinstance(value, Term) else value)
        check_storable(made.whole.dtype_name, self.whole.dtype_name, in_place=f"{SIGNS[op]}=")
        if view is None:
            self._bound_versions = [-1]  # under another name it would be what it was
            return made.astype(self.whole.dtype_name)
        _assign_inside(view, self.bounds, made.whole)
        return self

    __pos__ = copy

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Any:
        known = of_ufunc(ufunc)
        if known is None or method != "__call__" or options or ufunc.signature is not None:
            raise unknown_shape()
        return known(*inputs)

    def check(self, bounds: Sequence[Bound]) -> None:
        """Raise `TraceError` (CYC107) where the bounds are other ones, or were assigned since."""
        check_together(self.bounds, bounds)
        if _versions(self.bounds) != self._bound_versions:
            raise _unlike("the bounds of a slice, or a mask, are assigned before what it read is used")


def unassignable() -> TraceError:
    """The error for parts of such a slice that are assigned."""
    return trace_error(
        "CYC107",
        "a part of a slice whose bounds are data is assigned",
        help="assign to the array itself, e.g. `y[0] = 3`, or to all of the slice: `y[:stop] = 3`",
    )


def unknown_shape() -> TraceError:
    """The error for a shape that data decide."""
    return trace_error(
        "CYC107",
        "how many elements a slice or a mask takes depends on data, and so would the shape",
        help="assign it, or what operators and functions of elements make of it, to a slice with the same"
        " bounds or mask, or take its sum; else choose of the whole axis: `cy.where(mask, x, 0)`",
    )


def check_of_all(*options: object) -> None:
    """Raise `TraceError` (CYC107) where options of a sum ask for more than all elements' sum."""
    if any(option is not None and option is not False for option in options):
        raise unknown_shape()


def other_bounds() -> TraceError:
    """The error for an array beside such a slice."""
    return _unlike("an array of other bounds is an operand of a slice whose bounds are data")


def check_together(bounds: Sequence[Bound], others: Sequence[Bound]) -> None:
    """Raise `TraceError` (CYC107) where slices have different bounds."""
    if len(bounds) != len(others) or not all(
        a[0] == b[0] and _agree(a[1], b[1]) and _agree(a[2], b[2])
        for a, b in zip(bounds, others, strict=True)
    ):
        raise _unlike("slices with different bounds, which are data, are used together")


def _agree(one: Any, other: Any) -> bool:
    """Return whether two bounds are known to be the same."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    if isinstance(one, View):
        return one.is_same(other)
    if isinstance(one, SymbolicArray) and isinstance(other, SymbolicArray):
        at = [Affine({Index("place", here()): 1}, 0) for _ in one.shape]
        alike = len(at) == len(other.shape) and all(map(same, one.shape, other.shape))
        return alike and same_value(one.at(at), other.at(at))
    if isinstance(one, SymbolicArray) or isinstance(other, SymbolicArray):
        return False
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return same_value(element(one), element(other))


def _versions(bounds: Sequence[Bound]) -> list[int]:
    """By the tensors that bounds read, their last assignments."""
    read: list[Tensor] = []
    for bound in (bound for _, *both in bounds for bound in both):
        if isinstance(bound, SymbolicArray):
            read += bound.read_tensors()
        elif isinstance(bound, Element):
            read += [access.tensor for access in accesses(bound)]
    return [tensor.assigned for tensor in read]


def check_bound(dtype: np.dtype[Any]) -> None:
    """Raise `ShapeError` (CYC120) for a bound that is no integer."""
    if dtype.kind not in "iu":
        raise shape_error(
            "CYC120", f"a bound of a slice has dtype {dtype.name}", help="bounds are integers, e.g. int64"
        )


def _unlike(message: str) -> TraceError:
    return trace_error(
        "CYC107",
        message,
        help="give the bounds names, and use the same ones, e.g. `x[:, :stop] = y[:, :stop] + 1`",
    )


def read_by_bounds(array: SymbolicArray, key: object) -> Ragged:
    """Read slices whose bounds are data."""
    return Ragged(array[without_bounds(key, Arithmetic)], bounds_of(key, array.ndim, Arithmetic))


def assign_by_bounds(view: View, key: object, value: object) -> None:
    """Assign what lies inside of slices, whose bounds are data, to those elements.

    Raises
    ------
    ShapeError
        CYC122 for a bound whose shape is not that of the other axes, CYC120 for one that is no integer.
    """
    part = view[without_bounds(key, Arithmetic)]
    bounds = bounds_of(key, view.ndim, Arithmetic)
    if isinstance(value, Ragged):
        value.check(bounds)
        if part.is_same(value.whole):
            return  # as what an operator changed in place, `y[:stop] *= 2`
    _assign_inside(part, bounds, operand(value.whole if isinstance(value, Ragged) else value))


def read_by_mask(array: SymbolicArray, mask: Any) -> Ragged:
    """Read the elements where a mask holds, which has an element for each, or for each of the first axes."""
    return Ragged(array[...].expression(), [(_MASK, mask, None)])


def assign_by_mask(view: View, mask: SymbolicArray, value: Ragged) -> None:
    """Assign elements that a mask has taken to those where it holds."""
    bounds = [(_MASK, mask, None)]
    value.check(bounds)
    check_storable(value.whole.dtype_name, view.dtype_name)
    _assign_inside(view, bounds, value.whole)


def _assign_inside(part: View, bounds: Sequence[Bound], new: SymbolicArray) -> None:
    """Assign what lies inside of bounds."""
    inside = _inside(part.shape, bounds)
    if bounds[0][0] == _MASK:
        inside = materialized(inside)
    part[...] = combine("where", (inside, new.astype(part.dtype_name), part))


def _inside(shape: Sequence[Any], bounds: Sequence[Bound]) -> SymbolicArray:
    """The elements of an array that lie inside of bounds."""
    inside: SymbolicArray | None = None
    for at, start, stop in bounds:
        if at == _MASK:
            return operand(start)
        for bound, op in ((stop, "less"), (start, "greater_equal")):
            if bound is not None:
                test = combine(op, (flat_indices(tuple(shape), (at,)), _expanded(bound, shape, at)))
                inside = test if inside is None else combine("logical_and", (inside, test))
    assert inside is not None
    return inside


def without_bounds(key: object, kinds: type) -> Any:
    """The subscripts with whole axes in place of slices with such bounds."""
    return tuple(slice(None) if has_bounds_of_data(one, kinds) else one for one in keys_of(key))


def _spread(key: object, ndim: int) -> list[object]:
    """Subscripts, one for each axis and each new one."""
    keys = list(key) if isinstance(key, tuple) else [key]
    axes = sum(one is not None and one is not Ellipsis for one in keys)
    at = next((n for n, one in enumerate(keys) if one is Ellipsis), len(keys))
    return [*keys[:at], *[slice(None)] * (ndim - axes), *keys[at + 1 :]]


def bounds_of(key: object, ndim: int, kinds: type) -> list[Bound]:
    """The slices whose bounds are data: the axis of the result, start and stop."""
    kept = [one for one in _spread(key, ndim) if one is None or isinstance(one, slice)]
    for one in kept:
        if one is not None and has_bounds_of_data(one, kinds) and one.step not in (None, 1):
            raise trace_error(
                "CYC107",
                "a slice whose bounds are data has a step",
                help="choose by the place, e.g. `cy.where(cy.arange(n) % 2 == 0, ...)`",
            )
    return [
        (at, one.start, one.stop)
        for at, one in enumerate(kept)
        if isinstance(one, slice) and has_bounds_of_data(one, kinds)
    ]


def _expanded(bound: object, shape: Sequence[Any], axis: int) -> SymbolicArray:
    """A bound as one of all axes, from 0 on."""
    size = shape[axis]
    form = affine(bound)
    if form is not None and not form.terms and form.constant < 0:
        return combine("maximum", (operand(size + form), 0))
    limit = operand(bound)
    check_bound(limit.dtype)
    if form is not None and not form.terms:
        return limit
    others = (*shape[:axis], *shape[axis + 1 :])
    if limit.shape and not (len(limit.shape) == len(others) and all(map(same, limit.shape, others))):
        raise shape_error(
            "CYC122",
            f"a bound of a slice has shape {text(limit.shape)}, and the other axes have {text(others)}",
            help="give one bound, or one for each element of the other axes",
        )
    if limit.dtype == np.uint64:
        limit = combine("minimum", (limit, np.uint64(np.iinfo(np.int64).max)))
    wide = limit.astype("int64")
    limit = materialized(combine("where", (wide < 0, combine("maximum", (wide + size, 0)), wide)))
    return limit[(slice(None),) * axis + (None,)] if limit.shape else limit


dispatch.implement(assign_by_bounds=assign_by_bounds, read_by_bounds=read_by_bounds)
