"""NumPy's subscripts of whole arrays: integers, affine forms, slices, `...` and `None`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from cyclotron.language.values.affine import EVERYWHERE, Affine, Constraint, Region, affine, intersection
from cyclotron.language.values.broadcasting import Shape, Size, as_form, size
from cyclotron.language.values.condition import Clipped, Extremum, Piecewise, cases_of, not_affine
from cyclotron.language.values.context import active_recorder
from cyclotron.language.values.dispatch import Arithmetic, Array
from cyclotron.language.values.nodes import Apply
from cyclotron.language.values.region import is_empty
from cyclotron.language.values.source_span import here, trace_error
from cyclotron.support.errors import LegalityError

_OF_BITS = ("bit_and", "bit_or", "bit_xor", "left_shift", "right_shift")
_MOST_CASES = 64  # of a subscript that is affine in cases


@dataclass(frozen=True, eq=False)
class Pick:
    """The elements that subscripts take of one axis: ``start + step * e``, e along an axis of the result.

    Of one element alone `axis` is None.
    """

    start: Affine
    step: int = 1
    axis: int | None = None

    def at(self, index: Sequence[Affine]) -> Affine:
        """The subscript where the result has an index."""
        if self.axis is None:
            return self.start
        return self.start.plus(index[self.axis].times(self.step))


def subscripted(name: str, shape: Shape, key: object) -> tuple[tuple[Pick, ...], Shape]:
    """Return the elements that subscripts take of each axis of an array, and the shape of the result.

    Parameters
    ----------
    name : str
        The array as the user calls it, for messages.
    shape : tuple of int or Affine
        Its shape.
    key : object
        What stands between the brackets.

    Raises
    ------
    TraceError
        CYC107 for subscripts that are arrays, CYC103 for ones that are not affine, CYC108 for too many.
    """
    keys = keys_of(key)
    for one in keys:
        _refuse_data(name, one)
    axes = sum(one is not None and one is not Ellipsis for one in keys)
    if axes > len(shape) or sum(one is Ellipsis for one in keys) > 1:
        raise trace_error(
            "CYC108",
            f"`{name}` has {count(len(shape), 'axis', 'axes')} but {count(axes, 'subscript', 'subscripts')}",
            help="give at most one subscript for each axis, and at most one `...`",
        )
    full = (slice(None),) * (len(shape) - axes)
    at = next((n for n, one in enumerate(keys) if one is Ellipsis), len(keys))
    picks: list[Pick] = []
    result: list[Size] = []
    for one in (*keys[:at], *full, *keys[at + 1 :]):
        if one is None:
            result.append(1)
        elif isinstance(one, slice):
            start, step, extent = _slice(name, one, shape[len(picks)])
            picks.append(Pick(start, step, len(result)))
            result.append(extent)
        else:
            picks.append(Pick(subscript_form(name, one, shape[len(picks)])))
    return tuple(picks), tuple(result)


def check_inside(name: str, places: Sequence[tuple[Affine, Size]]) -> None:
    """Check subscripts of parts of an array, and of expressions: the compiler sees those of whole arrays.

    Raises
    ------
    LegalityError
        CYC203 where one may be below 0, or as large as the axis.
    """
    around = active_recorder().taken()
    for form, extent in places:
        ends = (
            ("is below 0", form.times(-1).plus(Affine({}, -1))),
            ("reaches its end", form.plus(as_form(extent).times(-1))),
        )
        for what, beyond in ends:
            if not beyond.terms and beyond.constant < 0:
                continue
            if any(not is_empty((*part, Constraint(beyond))) for part in around):
                raise LegalityError(
                    f"the subscript `{form}` of a part of `{name}` {what}: that has {extent} elements there",
                    code="CYC203",
                    span=here(),
                    help="shrink the range of the index or shift the subscript",
                )


def keys_of(key: Any) -> tuple[Any, ...]:
    """The subscripts, of one too."""
    return key if isinstance(key, tuple) else (key,)


def in_cases(key: object) -> list[tuple[Region, Any]]:
    """Subscripts by the cases of those that are affine in cases, with the regions of these; else none."""
    keys = keys_of(key)
    if not any(isinstance(one, Piecewise) for one in keys):
        return []
    found: list[tuple[Region, tuple[Any, ...]]] = [(EVERYWHERE, ())]
    around = active_recorder().region()
    for one in keys:
        cases = cases_of(one) if isinstance(one, Piecewise) else [(EVERYWHERE, one)]
        if len(found) * len(cases) > _MOST_CASES:
            raise not_affine(one)
        found = [
            (region, (*before, form))
            for of_others, before in found
            for own, form in cases
            for region in (intersection(of_others, own),)
            if any(not is_empty(part) for part in intersection(around, region))
        ]
    return found


def subscript_form(name: str, key: object, extent: Size) -> Affine:
    """One subscript as an affine form; negative numbers count from the end."""
    if isinstance(key, (Piecewise, Extremum)) or getattr(key, "is_index", False):
        raise not_affine(key)
    form = None if isinstance(key, bool) else affine(key)
    if form is None:
        _refuse_data(name, key)
        raise trace_error(
            "CYC103",
            f"`{name}` is subscripted with a value of type `{type(key).__name__}`, which is not affine",
            help="an index expression is a sum of integer multiples of indices, e.g. `2 * i - j + 1`",
        )
    if not isinstance(key, Affine) and form.constant < 0:
        return form.plus(as_form(extent))
    return form


def _slice(name: str, key: slice, extent: Size) -> tuple[Affine, int, Size]:
    """The first element, the step and the number of elements of a slice."""
    bounds = (key.start, key.stop, key.step)
    if not isinstance(key.step, Affine) and key.step == 0:
        _refuse(f"a slice of `{name}` has the step 0", "steps are whole numbers other than 0, e.g. `x[::-1]`")
    if isinstance(extent, Clipped):
        if key.start is not None or key.stop is not None or key.step not in (None, 1, -1):
            _refuse(f"a part of a slice of `{name}` is taken, which its ends clip", "slice the array itself")
        if key.step != -1:
            return Affine({}, 0), 1, extent
        first, extent = Clipped.between(*extent.backwards())
        return first.times(-1), -1, extent
    if not isinstance(extent, Affine) and not any(isinstance(bound, (Affine, Extremum)) for bound in bounds):
        for bound in (one for one in bounds if one is not None):
            _refuse_data(name, bound)
            if not hasattr(type(bound), "__index__"):
                raise trace_error(
                    "CYC103",
                    f"a slice of `{name}` has the bound or step {bound!r}, a `{type(bound).__name__}`",
                    help="write whole numbers, e.g. `x[: n // 2]` instead of `x[: n / 2]`",
                )
        start, stop, step = key.indices(int(extent))
        return Affine({}, start), step, len(range(start, stop, step))
    step = 1 if key.step is None else key.step
    if isinstance(step, Affine):
        _refuse(f"a slice of `{name}` has the step {step}", "write a step that is no index of a loop")
    end, last = as_form(extent), as_form(extent).plus(Affine({}, -1))
    if step == 1:
        firsts = [Affine({}, 0)] if key.start is None else _bound(name, key.start, extent, end)
        ends = [end] if key.stop is None else _bound(name, key.stop, extent, end, is_stop=True)
        first, places = Clipped.between(firsts, ends)
        return first, 1, size(places) if isinstance(places, Affine) else places
    low, high, most = (Affine({}, 0), end, end) if step > 0 else (last, Affine({}, -1), last)
    (first,) = [low] if key.start is None else _bound(name, key.start, extent, most)
    (stop_form,) = [high] if key.stop is None else _bound(name, key.stop, extent, most)
    return first, step, _steps(name, stop_form.plus(first.times(-1)).times(1 if step > 0 else -1), abs(step))


def _steps(name: str, length: Affine, step: int) -> Size:
    """The number of steps that a length takes, the last one perhaps in part."""
    if any(factor % step for factor in length.terms.values()):
        _refuse(
            f"a slice of `{name}` takes one in {step} of `{length}` elements: how many is not affine",
            "have Python run a short loop, over values, e.g. `for s in (0, 1):`; or write one over the"
            " elements, `for i in range(start, stop, step): ...`",
        )
    terms = {index: factor // step for index, factor in length.terms.items()}
    return size(Affine(terms, -(-length.constant // step)))


def _bound(name: str, bound: Any, extent: Size, most: Affine, *, is_stop: bool = False) -> list[Affine]:
    """The forms, of which it is the largest or as a stop the smallest, of a bound that is not below 0.

    Others than stops are at most `most` wherever the statement runs; as NumPy does, that clips stops.
    """
    around = active_recorder().region()
    given = bound.forms if isinstance(bound, Extremum) else [subscript_form(name, bound, extent)]
    forms = [*given, most] if is_stop and any(_may_be_below(most, form, around) for form in given) else given
    zero, sign = Affine({}, 0), -1 if is_stop else 1
    needed: list[Affine] = []
    for n, form in enumerate(forms):
        others = (*needed, *forms[n + 1 :])
        if not any(not _may_be_below(other.times(sign), form.times(sign), around) for other in others):
            needed.append(form)
    below = all if not is_stop else any
    if below(_may_be_below(form, zero, around) for form in needed) or not (
        is_stop or all(not _may_be_below(most, form, around) for form in needed)
    ):
        _refuse(
            f"the bound `{bound}` of a slice of `{name}` may lie outside of the axis, which has"
            f" {extent} elements",
            "write one between 0 and the size wherever the loops run, e.g. `x[: n - k]` for `x[:-k]`, or"
            " `x[max(0, i - 1) : i + 2]`",
        )
    return needed


def _may_be_below(one: Affine, other: Affine, around: Region) -> bool:
    below = Constraint(other.plus(one.times(-1)).plus(Affine({}, -1)))
    return any(not is_empty((*part, below)) for part in around)


def _refuse_data(name: str, key: Any) -> None:
    """Raise `TraceError` for subscripts that are arrays or data."""
    if isinstance(key, (Array, np.ndarray, list)):
        dtype = getattr(key, "dtype", None)
        if dtype == np.bool_ or (isinstance(key, list) and key and isinstance(key[0], bool)):
            _refuse(
                f"`{name}` is subscripted with a boolean mask: how many elements it takes depends on data",
                "choose by data with `cy.where(mask, a, b)`, e.g. `x[...] = cy.where(mask, value, x)`",
            )
        _refuse(
            f"`{name}` is subscripted with an array (fancy indexing)",
            "take elements with `cy.take_along_axis(x, indices, axis=0)`, whose indices have as many axes"
            if isinstance(key, Array)
            else "use slices with steps, or loops over affine subscripts",
        )
    if isinstance(key, slice):
        if has_bounds_of_data(key) or isinstance(key.step, Arithmetic):
            _refuse(
                f"a bound of a slice of `{name}` depends on data, and so would the shape",
                "assign to such slices, e.g. `x[:, :stop] = y`, and read whole axes, choosing by data:"
                " `cy.where(cy.arange(n) < stop, x, 0)`",
            )
    elif isinstance(key, Arithmetic):
        raise trace_error(
            "CYC103",
            f"`{name}` is subscripted with the data of a tensor, which is not affine",
            help="an index expression is a sum of integer multiples of indices, e.g. `2 * i - j + 1`",
        )


def _refuse(message: str, help: str) -> NoReturn:
    raise trace_error("CYC107", message, help=help)


def count(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many}"


def is_array(key: object) -> bool:
    """Return whether a subscript is an array, of data or of the host."""
    return isinstance(key, (Array, np.ndarray, list, range)) and not (isinstance(key, list) and not key)


def is_place(key: object) -> bool:
    """Return whether a subscript is an element of data, or, alike looked up, bits of indices."""
    if isinstance(key, Apply) and key.is_index:
        return key.op in _OF_BITS
    return isinstance(key, Arithmetic) and not (
        isinstance(key, (Array, Affine, Piecewise, Extremum)) or getattr(key, "is_index", False)
    )


def has_places(key: object) -> bool:
    """Return whether some subscripts are data: arrays or elements."""
    return any(is_array(one) or is_place(one) for one in keys_of(key))


def has_bounds_of_data(key: object, kinds: type | tuple[type, ...] = Arithmetic) -> bool:
    """Return whether slices among subscripts have bounds that are data, or extrema that do not clip them."""
    slices = [one for one in keys_of(key) if isinstance(one, slice)]
    return any(
        isinstance(bound, kinds) and not (one.step in (None, 1) and _clips(bound, is_start))
        for one in slices
        for bound, is_start in ((one.start, True), (one.stop, False))
    )


def _clips(bound: object, is_start: bool) -> bool:
    """Return whether a bound is as a start the largest of forms, as a stop the smallest, and not below 0."""
    if not isinstance(bound, Extremum) or bound.largest != is_start:
        return False
    around = active_recorder().region()
    below = (_may_be_below(form, Affine({}, 0), around) for form in bound.forms)
    return not (all if is_start else any)(below)
