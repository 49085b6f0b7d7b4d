"""Subscripts that are arrays: elements at places that data tell, and assignments where a mask holds."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from cyclotron.language.functions import elementwise as f
from cyclotron.language.functions.along_axis import check_integers, summed
from cyclotron.language.functions.forms import at_axis, with_axes
from cyclotron.language.functions.joining import stack
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.trace.loops import inner_loop
from cyclotron.language.values import broadcasting, dispatch
from cyclotron.language.values.affine import Affine, Index
from cyclotron.language.values.array import (
    LazyArray,
    SymbolicArray,
    View,
    combine,
    flat_index,
    held_tensor,
    materialized,
    operand,
)
from cyclotron.language.values.broadcasting import text, whole_numbers
from cyclotron.language.values.context import active_recorder
from cyclotron.language.values.dynamic_slices import Ragged, assign_by_mask, read_by_mask
from cyclotron.language.values.nodes import Apply, AxisIndex, Constant, Element, Increment, Tensor
from cyclotron.language.values.operations import apply, element, where
from cyclotron.language.values.scalar_type import ScalarType, check_fit, check_storable, nothing_of, promote
from cyclotron.language.values.scalars import check_numbers
from cyclotron.language.values.source_span import here, trace_error
from cyclotron.language.values.subscripts import is_array, is_place


def _check_changes(array: LazyArray) -> None:
    if array.fixed:
        raise trace_error(
            "CYC107",
            f"{array.fixed} is changed in place",
            help="assign element by element, in a loop over it; or change a copy, e.g. `x = A[n].copy()`",
        )


def _with_term(op: str) -> dispatch.Method:
    """Return the method of ``x[places] += value``: the elements, changed, which are assigned there then."""

    def changed(self: LazyArray, other: Any) -> SymbolicArray:
        _check_changes(self)
        return _changed(self, op, other)

    return changed


def _value(other: Any) -> Any:
    return other.value if isinstance(other, dispatch.Term) else other


def _changed(array: LazyArray, op: str, other: Any) -> SymbolicArray:
    """The elements, changed as NumPy changes arrays in place; one element alone is a number, and no array."""
    made = combine(op, (array, _value(other)))
    if array.shape:
        broadcasting.check_fits(made.shape, array.shape, in_place=f"{dispatch.SIGNS[op]}=")
        check_storable(made.dtype_name, array.dtype_name, in_place=f"{dispatch.SIGNS[op]}=")
    return made


def updated(op: str, taken: Any, value: Any) -> Any:
    """``A[n] = il.updated("multiply", A[n], v)``, of the text's `A[n] *= v`: what is assigned there."""
    if isinstance(taken, _Gathered):
        return _changed(taken, op, value)
    return getattr(operator, dispatch.IN_PLACE[op])(taken, value)


@dispatch.in_place(_with_term)
class _Gathered(LazyArray):
    """The elements at places, a new array that nothing has taken yet."""


class _Picked(_Gathered):
    """The elements at one place: what is added to them leaves the others as they are, in every bit."""

    place: tuple[SymbolicArray, Any]  # the array, and its subscript

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        return self._grown("add", other)

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        return self._grown("subtract", other)

    def _grown(self, op: str, other: Any) -> Any:
        """In the dtype of the array; in another one NumPy's result is rounded where it is assigned."""
        if not isinstance(other, dispatch.Term):  # not the text's `x[n] += value`
            _check_changes(self)
        value, made = _value(other), _changed(self, op, other)
        if made.dtype_name != self.dtype_name:
            return made
        term = value if op == "add" else -operand(value).astype(self.dtype_name)
        grown = _Grown(made.shape, made.dtype_name, made.at, (made,), costly=True, label=made.label)
        grown.place = self.place
        grown.term = materialized(term) if isinstance(term, LazyArray) else term
        return grown


class _Grown(LazyArray):
    """The elements at a place, and what was added to them."""

    place: tuple[SymbolicArray, Any]
    term: Any

    def is_of(self, array: View, key: Any) -> bool:
        """Return whether these are assigned to the place where they were."""
        own, before = self.place
        if not isinstance(own, View) or before is not key:
            return False
        return own.tensor is array.tensor and own.part == array.part and _forms(own) == _forms(array)


def _forms(view: View) -> list[Any]:
    return [(pick.step, pick.axis, pick.start.terms, pick.start.constant) for pick in view.picks]


def gathered(array: SymbolicArray, key: Any) -> Any:
    """The elements at places along axes, as NumPy's advanced indexing; a PE finds them by address.

    Raises
    ------
    TraceError
        CYC107 for uses of masks' elements that tell how many those are, which data decide.
    ShapeError
        CYC122 for indices that do not broadcast, CYC120 for those that are not integers.
    """
    if isinstance(key, SymbolicArray) and key.dtype_name == "bool":
        return read_by_mask(array, _wide(array, key))
    keys = _each_axis(array, key)
    base = array[tuple(slice(None) if _is_data(one) else one for one in keys)]
    places = [n for n, one in enumerate(keys) if _is_data(one) or _is_number(one)]
    axes = [sum(not _is_number(other) for other in keys[:n]) for n in places if _is_data(keys[n])]
    sizes = [whole_numbers(base.shape, f"`{array.name}`")[axis] for axis in axes]
    given = zip(filter(_is_data, keys), sizes, strict=True)
    indices = [_normalized(one, size, array.name) for one, size in given]
    shape = broadcasting.broadcast([one.shape for one in indices])
    together = places == list(range(places[0], places[0] + len(places)))
    first = sum(not _is_number(one) for one in keys[: places[0]]) if together else 0
    view = array.whole()
    if view is not None:
        for axis in (n for n in places if _is_data(keys[n])):
            loops = view.tensor.searched_in.setdefault(_dimension(view, axis), set())
            loops.update(active_recorder().indices())
    base = materialized(base) if base.costly else base
    number = _one_number(indices, sizes, shape)
    others = [size for n, size in enumerate(base.shape) if n not in axes]

    def element_at(index: Sequence[Affine]) -> Element:
        own = index[first : first + len(shape)]
        rest = [*index[:first], *index[first + len(shape) :]]
        chosen = number.at(broadcasting.along(own, number.shape))

        def term(at: Sequence[Affine]) -> Element:
            named, left = dict(zip(axes, at, strict=True)), iter(rest)
            return base.at([named[n] if n in named else next(left) for n in range(base.ndim)])

        return summed(tuple(sizes), base.dtype_name, chosen, term)

    whole = (*others[:first], *shape, *others[first:])
    kind = _Gathered if shape else _Picked
    taken = kind(whole, base.dtype_name, element_at, (base, number), costly=True, label="taken")
    if isinstance(taken, _Picked):
        taken.place = array, key
    if not whole or shape or any(np.ndim(one) for one in keys if is_array(one)):
        return taken
    taken.fixed = f"a part of `{array.name}` at a place that data tell"  # a view in NumPy
    return taken.viewing(array)


def scattered(array: View, key: Any, value: Any) -> None:
    """Assign a value where a mask holds, or values at places along one axis, of several the last one.

    Raises
    ------
    TraceError
        CYC107 for masks with a value for each element that they take, and for places along several axes.
    ShapeError
        CYC120 for indices that are no integers, CYC122 for values that do not conform.
    """
    if is_array(key) and not _is_list_of_data(key) and operand(key).dtype_name == "bool":
        _assign_masked(array, operand(key), value)
        return
    keys = [element(one) if _is_symbolic_number(one) else one for one in _each_axis(array, key)]
    if any(map(is_place, keys)) and not any(map(is_array, keys)):
        grows = isinstance(value, _Grown) and value.is_of(array, key)
        _put(array, keys, [n for n, one in enumerate(keys) if is_place(one)], value, grows)
        return
    places = [n for n, one in enumerate(keys) if is_array(one)]
    if any(one is None for one in keys) or max(np.ndim(keys[n]) for n in places) != 1:
        raise trace_error(
            "CYC107",
            f"`{array.name}` is assigned at places that are an array of several axes, or beside a new axis",
            help="assign at a vector of places, e.g. `x[places] = rows`; or write a loop",
        )
    others = [one for n, one in enumerate(keys) if n != places[0]]
    of_whole = all(isinstance(one, slice) and one == slice(None) for one in others)
    if not of_whole or isinstance(keys[places[0]], SymbolicArray):
        _put_each(array, keys, value)
        return
    along, given = places[0], keys[places[0]]
    if len(given):
        check_integers(np.asarray(given).dtype, array.name)
    check_numbers(value, array.dtype_name)
    values = _as_it_is(operand(value), array)
    last = values.ndim - (array.ndim - along)
    shape = tuple(len(given) if n == along else size for n, size in enumerate(array.shape))
    broadcasting.check_fits(values.shape, shape)
    for number, place in enumerate(given):  # the last one stays
        own = number if last >= 0 and values.shape[last] != 1 else 0
        one = values[at_axis(last, own)] if last >= 0 else values
        whole = isinstance(one, SymbolicArray) and one.shape
        array[at_axis(along, int(place))] = one if whole else element(one)


def change_at(op: str, array: Any, key: Any, value: Any) -> None:
    """``il.change_at("add", y, n, v)``, of the text's `np.add.at(y, n, v)`: one place after the other.

    Raises
    ------
    ShapeError
        CYC122 for what is no array that can be assigned, for masks, and for places of several axes;
        CYC120 for what arrays do not store.
    """
    name = f"np.{op}.at"
    if not isinstance(array, SymbolicArray) or not isinstance(array.whole(), View):
        raise unfit(
            f"`{name}` changes what is no array of the kernel", "make it an array before, e.g. `y = y + 0`"
        )
    array, given = array.whole(), operand(value)
    array.check_writable()
    check_numbers(value, array.dtype_name)
    check_storable(promote(op, array.type, given.type)[1].dtype, array.dtype_name)
    keys = [element(one) if _is_symbolic_number(one) else one for one in _each_axis(array, key)]
    if not any(map(is_array, keys)):
        key, whole = tuple(keys), not any(map(is_place, keys))
        array[key] = combine(op, (array[key], value)) if whole else _changed_by(op, array[key], value)
        return
    keys = [
        operand(np.asarray(one) if isinstance(one, (list, range)) else one) if is_array(one) else one
        for one in keys
    ]
    places = [one for one in keys if isinstance(one, SymbolicArray)]
    if any(one.ndim != 1 or one.dtype_name == "bool" for one in places) or any(one is None for one in keys):
        raise unfit(
            f"the places of `{name}` are no vector of integers",
            "write a loop: `for k in range(len(n)): y[n[k]] += v[k]`; with a mask `y[mask] += v`",
        )
    _put_each(array, keys, value, op)


def _changed_by(op: str, taken: Any, value: Any) -> Any:
    """Elements, changed by an operator; what is added leaves others as they are."""
    if op in dispatch.IN_PLACE:
        return getattr(operator, dispatch.IN_PLACE[op])(
            taken, dispatch.Term(value) if op in ("add", "subtract") else value
        )
    return combine(op, (taken, value))


def _put_each(array: View, keys: Sequence[Any], value: Any, op: str = "") -> None:
    """Assign to what is at each of several places in turn: of several at one place the last stays.

    With an operator it is changed by that instead.
    """
    places = {n: _as_it_is(operand(one), array) for n, one in enumerate(keys) if _is_data(one)}
    (count,) = whole_numbers(broadcasting.broadcast([one.shape for one in places.values()]), "the indices")
    chosen = sorted([*places, *_numbers(keys)])
    part = array[tuple(slice(None) if n in places else one for n, one in enumerate(keys))]
    kept = [n for n in range(len(keys)) if n not in _numbers(keys)]
    others = [size for n, size in zip(kept, part.shape, strict=True) if n not in places]
    together = chosen == [*range(chosen[0], chosen[-1] + 1)]
    first = chosen[0] if together else 0
    check_numbers(value, array.dtype_name)
    given = operand(value)
    broadcasting.check_fits(given.shape, (*others[:first], count, *others[first:]))
    given = _as_it_is(given, array)
    along = first - (len(others) + 1 - given.ndim)
    with inner_loop("place", count) as number:
        each = [
            places[n].at(broadcasting.along([number], places[n].shape)) if n in places else one
            for n, one in enumerate(keys)
        ]
        at = number if along >= 0 and given.shape[along] != 1 else 0
        one = given if along < 0 else given[at_axis(along, at)]
        if op:
            key = tuple(each)
            array[key] = _changed_by(op, array[key], one)
        else:
            _put(array, each, [*places], one, grows=False)


def put_where_searched(tensor: Tensor, index: Sequence[Affine], places: Sequence[int], value: Any) -> None:
    """Assign to an element of an array that the same loop takes elements of at places that data tell.

    Each of those is of the whole array then, so that a PE finds it by address: in equations for the element
    alone, the ones assigned before would be of many tensors.
    """
    assert isinstance(tensor, SymbolicArray)
    whole = tensor.whole()
    assert whole is not None
    _put(whole, index, places, value.element() if isinstance(value, Increment) else value, grows=False)


def _put(array: View, keys: Sequence[Any], places: Sequence[int], value: Any, grows: bool) -> None:
    """Assign to the elements at a place, or add to them: all others stay as they are, in every bit.

    The subscripts of some axes are places, those of the others numbers or slices.
    """
    part = array[tuple(slice(None) if n in places else one for n, one in enumerate(keys))]
    kept = [n for n, one in enumerate(keys) if n in places or not _is_number(one)]
    axes = [kept.index(n) for n in places]
    sizes = [whole_numbers(part.shape, f"`{array.name}`")[axis] for axis in axes]
    others = tuple(size for axis, size in enumerate(part.shape) if axis not in axes)
    indices = [_normalized(keys[n], size, array.name) for n, size in zip(places, sizes, strict=True)]
    check_numbers(value, array.dtype_name)
    given = operand(value.term if grows else value)
    broadcasting.check_fits(given.shape, others)
    is_constant = not given.shape and isinstance(given.at(()), Constant)
    differs = grows or given.dtype_name != part.dtype_name
    if differs and not is_constant:
        check_storable(given.dtype_name, part.dtype_name)
    if not is_constant and (differs or not given.shape):
        given = _computed(given.astype(part.dtype_name))
    new, number = materialized(given), _one_number(indices, sizes, ())
    recorder, loops = active_recorder(), []
    for axis, size in enumerate(part.shape):
        if axis not in axes:
            loops.append(AxisIndex(array.tensor, _dimension(part, axis), here()))
            recorder.open_loop(loops[-1], (broadcasting.box([(loops[-1], size)]),))
    try:
        _put_in(part, axes, loops, number, new, grows)
    finally:
        recorder.close_loops(len(loops))


def _computed(value: SymbolicArray) -> SymbolicArray:
    """A value as one that needs an equation of its own to be held."""
    return LazyArray(value.shape, value.dtype_name, value.at, (value,), label="put")


def _dimension(view: View, axis: int) -> int:
    """The axis of the tensor of which an axis of a view takes elements."""
    return next(n for n, pick in enumerate(view.picks) if pick.axis == axis)


def _put_in(
    part: View,
    axes: Sequence[int],
    loops: Sequence[Index],
    number: SymbolicArray,
    new: SymbolicArray,
    grows: bool,
) -> None:
    """Assign to one element, or add to it, along axes with places; the loops go over the others."""
    rest = iter(others := [Affine({loop: 1}, 0) for loop in loops])
    line = part[tuple(slice(None) if axis in axes else next(rest) for axis in range(part.ndim))]
    sizes = whole_numbers(line.shape, f"`{part.name}`")
    own = new.at(broadcasting.along(others, new.shape))

    def element_at(index: Sequence[Affine]) -> Element:
        found = apply("equal", number.at(()), flat_index(index, sizes))
        if not grows:
            return where(found, own, line.at(index))
        nothing = Constant(nothing_of(line.dtype_name), here())
        # Numbers alone have the dtype of what they are added to.
        return Apply("where", (found, own, nothing), here(), type=ScalarType(line.dtype_name))

    dtype = line.dtype_name if grows else combine("where", (True, own, line)).dtype_name
    term = LazyArray(line.shape, dtype, element_at, (line, number), label="put")
    line[...] = combine("add", (line, term)) if grows else term


def _wide(array: SymbolicArray, mask: SymbolicArray) -> Any:
    """A mask with as many axes as the array."""
    if tuple(mask.shape) != tuple(array.shape[: mask.ndim]):
        raise unfit(
            f"a mask of shape {text(mask.shape)} subscripts an array of shape {text(array.shape)}",
            "the mask has the shape of the array, or of its first axes",
        )
    return with_axes(mask, array.ndim - mask.ndim)


def _assign_masked(array: View, mask: SymbolicArray, value: Any) -> None:
    wide = _wide(array, mask)
    if isinstance(value, Ragged):
        assign_by_mask(array, wide, value)
        return
    chosen = operand(value)
    if chosen.ndim > array.ndim - mask.ndim:
        raise trace_error(
            "CYC107",
            f"`{array.name}` is assigned values by a mask: which goes where depends on data",
            help="give one value, or an array of the whole shape: `x[...] = cy.where(mask, values, x)`",
        )
    check_numbers(value, array.dtype_name)
    check_fit([chosen.type], array.dtype_name)
    array[...] = f.where(wide, chosen.astype(array.dtype_name), array)


def _each_axis(array: SymbolicArray, key: Any) -> list[Any]:
    """The subscripts of all axes, `...` as slices."""
    keys = [*key] if isinstance(key, tuple) else [key]
    rest = array.ndim - sum(one is not None and one is not Ellipsis for one in keys)
    at = next((n for n, one in enumerate(keys) if one is Ellipsis), len(keys))
    return [_places(one) for one in (*keys[:at], *[slice(None)] * rest, *keys[at + 1 :])]


def _is_list_of_data(key: Any) -> bool:
    return isinstance(key, list) and any(isinstance(one, (dispatch.Arithmetic, Affine)) for one in key)


def _places(key: Any) -> Any:
    """A subscript; of a mask of the host the places where it holds; a list of data as an array."""
    if _is_list_of_data(key):
        return materialized(stack([operand(one).astype("int64") for one in key]))
    is_mask = isinstance(key, (np.ndarray, list)) and np.ndim(key) == 1 and np.asarray(key).dtype == np.bool_
    return np.flatnonzero(key) if is_mask else key


def _one_number(
    indices: Sequence[SymbolicArray], sizes: Sequence[int], shape: Sequence[Any]
) -> SymbolicArray:
    """The indices of several axes as one of all their elements, the last axis the fastest."""
    if len(indices) == 1:
        return indices[0]

    def element_at(index: Sequence[Affine]) -> Element:
        each = [one.at(broadcasting.along(index, one.shape)) for one in indices]
        number = each[0]
        for one, size in zip(each[1:], sizes[1:], strict=True):
            number = apply("add", apply("multiply", number, size), one)
        return number

    return materialized(LazyArray(tuple(shape), "int64", element_at, tuple(indices), label="number"))


def _is_symbolic_number(key: Any) -> bool:
    return isinstance(key, SymbolicArray) and not key.shape


def _is_data(key: Any) -> bool:
    return is_array(key) or is_place(key)


def _as_it_is(value: SymbolicArray, changed: View) -> SymbolicArray:
    """A value that stays while an array changes."""
    return materialized(value.copy() if held_tensor(value) is changed.tensor else value)


def _numbers(keys: Sequence[Any]) -> list[int]:
    """The axes at which one element is chosen."""
    return [n for n, one in enumerate(keys) if _is_number(one)]


def _is_number(key: Any) -> bool:
    return not _is_data(key) and key is not None and not isinstance(key, slice)


def _normalized(index: Any, size: int, name: str) -> SymbolicArray:
    """Indices from 0 on."""
    if isinstance(index, Affine):
        return materialized(_computed(operand(index)))
    given = operand(index if isinstance(index, SymbolicArray) or is_place(index) else np.asarray(index))
    if given.dtype_name == "bool":
        raise trace_error(
            "CYC107",
            f"`{name}` is subscripted with a boolean mask: how many elements it takes depends on data",
            help="keep the shape and choose by data, `cy.where(mask, x, 0)`, e.g. in `cy.sum(...)`; count"
            " with `cy.sum(mask)`",
        )
    check_integers(given.dtype, name)
    is_numpys = given.dtype_name == "int64" and not given.type.weak
    wide = given if is_numpys else given.astype("int64")
    return materialized(combine("normalize_index", (wide, size)))


dispatch.implement(gathered=gathered, scattered=scattered, put_where_searched=put_where_searched)
