"""Names that a loop assigns anew (`u = u + c * v`): each iteration starts with what the one before left.

An array gets one of its own for that, a number a scalar. Where the first iterations make numbers of other
types of it than it was before the loop (`change = 1.0`, then a float32), they are recorded apart from the
others, as Python runs them; this is known when the kernel has been recorded once, and then it is again.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import numpy as np

from cyclotron.language.trace.assign import array, new_array, new_part
from cyclotron.language.trace.statement import Scope
from cyclotron.language.trace.trace import Trace, active_trace
from cyclotron.language.values import broadcasting
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import LazyArray, SymbolicArray, View, held_tensor, operand
from cyclotron.language.values.condition import Extremum, Piecewise
from cyclotron.language.values.nodes import Access, Element, Tensor, retyped
from cyclotron.language.values.operations import element
from cyclotron.language.values.region import is_empty
from cyclotron.language.values.scalar_type import ScalarType
from cyclotron.language.values.source_span import shape_error, trace_error
from cyclotron.language.values.tensor import SymbolicTensor
from cyclotron.support.dtypes import kind_of
from cyclotron.support.errors import ShapeError

_PYTHONS = frozenset({"bool", "int64", "float64", "complex128"})
_MOST_APART = 4  # iterations
_OF_HOST = (str, bool, int, float, complex, np.generic)
NUMBERS = (bool, int, float, complex, np.generic, Element, Affine, Extremum, Piecewise)


def is_provisional(trace: Trace) -> bool:
    """Return whether loops turned out to make other types of numbers than they were recorded with."""
    return bool(trace.types_found or trace.settling or _has_met_narrower(trace))


def anew(trace: Trace) -> Trace:
    """A recording that starts with what another has found of the types of numbers."""
    types = {} if _has_met_narrower(trace) else trace.types_after | trace.types_found
    settled = trace.settled | trace.settling
    return Trace(trace.kernel, types_after=types, settled=settled, mixed=trace.mixed)


def unsettled(trace: Trace) -> ShapeError:
    """The refusal of a number of which each recording makes another type than the one before."""
    (span, name, _), types = next(iter(trace.types_after.items()))
    return ShapeError(
        f"whether an iteration changes the type of `{name}` depends on indices or data",
        code="CYC120",
        span=span,
        help=f"start with a number of that type, e.g. `{name} = np.{types[-1].dtype}(0)`",
    )


def _has_met_narrower(trace: Trace) -> bool:
    """Return whether numbers that were taken for NumPy's met dtypes that Python's adopt."""
    return any(_adopts(kind, trace.mixed) for kind in trace.as_numpys)


def _adopts(kind: str, dtypes: set[str]) -> bool:
    """Return whether Python's numbers of a kind adopt one of some dtypes that is narrower than theirs."""
    return any(kind in "bi" or kind_of(dtype) in "fc" for dtype in dtypes - _PYTHONS)


class CarriedNumber:
    """A number that a loop carries: ``s_kept[()]`` is what it is now.

    Attributes
    ----------
    name : str
        Its name in the kernel's text.
    types : list of ScalarType
        What each of the first iterations makes of it, where that is another type; the last one stays.
    type : ScalarType
        Its type now.
    iterations : int
        How many have been recorded apart before what is recorded.
    """

    def __init__(self, trace: Trace, value: Any, name: str) -> None:
        self.name = name
        self._value = value
        self._place = trace.place_of(name)
        self._trace = trace
        first = element(value).type
        dtypes = trace.mixed.union(tensor.dtype_name for tensor in trace.tensors)
        self._adopts = _adopts(first.kind, dtypes)
        is_settled = self._place in trace.settled and not self._adopts
        if is_settled:
            trace.as_numpys.add(first.kind)
        start, *self.types = (
            ScalarType(one.dtype, one.weak and not is_settled)
            for one in (first, *trace.types_after.get(self._place, ()))
        )
        self.type = start
        self.iterations = 0
        self._is_kept = not self.types
        self._scalars: list[SymbolicTensor] = []
        self._copied = (0, 0, 0)  # the copy, of what, when
        for dtype, alike in groupby(one.dtype for one in self.types):
            made = trace.declare(name, (), None, dtype, 0, anywhere=True, variable=name)
            self._scalars += [made for _ in alike]
        if not self.types:
            self._scalars.append(new_array(operand(value).expression(), name))
        self._tensors = {*self._scalars}
        self._begins_nonzero = isinstance(value, (int, float, complex)) and value != 0
        self._note_nonzero()

    def __getitem__(self, key: tuple[()]) -> Any:
        if not self._is_kept:
            return self._value
        return retyped(self._scalars[self._at(self.iterations - 1)].at(()), self.type)

    @property
    def scalar(self) -> SymbolicTensor:
        """The tensor that keeps it after the iteration that is recorded."""
        return self._scalars[self._at(self.iterations)]

    def _at(self, iteration: int) -> int:
        return max(0, min(iteration, len(self._scalars) - 1))

    def _note_nonzero(self) -> None:
        if self._begins_nonzero:
            self._trace.nonzero |= self._tensors

    def copy(self) -> CarriedNumber | _Snapshot:
        """The number as it is now, in a scalar of its own."""
        if not self._is_kept:
            return self
        held = new_array(operand(self[()]).expression(), self.name)
        source = self._scalars[self._at(self.iterations - 1)]
        self._copied = id(held), id(source), source.assigned
        self._tensors.add(held)
        self._note_nonzero()
        return _Snapshot(retyped(held.at(()), self.type))

    def starts_apart(self) -> None:
        """Note that a first iteration is recorded apart: there what the host knows is what it is."""
        self._is_kept = self._is_kept and not isinstance(self._value, _OF_HOST)

    def holds(self, held: Any) -> None:
        """Note what it is at the end of an iteration, which the host may know."""
        self._value = held

    def has(self, held: Any) -> bool:
        """Return whether its scalar has a value already: the last copy's, since which it has not changed."""
        now = id(self.scalar), self.scalar.assigned
        return isinstance(held, Access) and self._copied == (id(held.tensor), *now)

    def goes_on(self) -> None:
        """Note that an iteration has been recorded apart."""
        self.iterations += 1
        if self.types:
            self.type = self.types[self._at(self.iterations - 1)]
        self._is_kept = bool(self.types) or not isinstance(self._value, _OF_HOST)

    def ends_apart(self) -> None:
        """Note that the other iterations are recorded together."""
        self._is_kept = True

    def takes(self, value: SymbolicArray, *, notes: bool, leaves: bool) -> bool:
        """Return whether it can be what an iteration makes of it; if not, note what type that is.

        Only what loops find first is noted (`notes`): it may be why others seem to change. Where a loop is
        left (`leaves`) no later iteration may change the type.

        Raises
        ------
        ShapeError
            CYC120 if iterations make different types of it, or data tell which it has; CYC122 of arrays.
        """
        found = ScalarType(value.type.dtype, value.type.weak)
        later = self.types[self._at(self.iterations) :] or [self.type]
        if value.shape:
            check_same(self.name, self.scalar, value)
        if all(self._is_same(one, found) for one in (later if leaves else later[:1])):
            return True
        # Without narrower dtypes than Python's it matters only to divisions by 0 when it becomes NumPy's.
        is_settling = later[0].weak and later[0].dtype == found.dtype and not self._adopts
        if is_settling and self._trace.divided.isdisjoint(self._tensors):
            self._trace.settling |= {self._place} if notes else set()
            return False
        if (leaves and self.types) or self.iterations >= _MOST_APART:
            raise changed_type(self.name, later[-1] if leaves else later[0], found)
        if notes:
            known = [*self.types, *[self.type] * self.iterations][: self.iterations]
            self._trace.types_found[self._place] = (*known, found)
        return False

    def _is_same(self, one: ScalarType, other: ScalarType) -> bool:
        same_weak = one.weak == other.weak or not (self._adopts or one.weak)
        return one.dtype == other.dtype and same_weak


class _Snapshot:
    """The value of a name as it was."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __getitem__(self, key: tuple[()]) -> Any:
        return self._value


class _InPlace(_Snapshot):
    """An array that a loop changes only in place, by `y += ...`, under a name that might hold a number."""

    def copy(self) -> _InPlace:
        """The array itself: what changes it stands still where the loop has ended."""
        return self


class LastValue:
    """The last value of a name that only a loop assigns, after it: `t_kept[()]`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.last: tuple[Any, ScalarType | None] | None = None  # with the type of a number

    def __getitem__(self, key: tuple[()]) -> Any:
        if self.last is None:
            raise trace_error(
                "CYC111",
                f"`{self.name}` is assigned in a loop and read after it",
                help="it is not certain that an iteration gives it a number or an array: assign"
                f" `{self.name}` before the loop too, or use it in the loop",
            )
        value, number = self.last
        return value if number is None else retyped(value.at(()), number)

    def place(self, held: Any, loop: Scope) -> SymbolicTensor | None:
        """The place for the value of the last iteration; None where that stays, or is not certain."""
        if all(map(is_empty, loop.region)):
            return None
        made = active_trace().tensors[loop.tensors :]
        stands = held is None or isinstance(held, _OF_HOST) or any(held is one for one in made)
        self.last = (held, None) if stands and _runs(loop) else None
        if stands or not _runs(loop) or not isinstance(held, (SymbolicArray, *NUMBERS)):
            return None
        value = operand(held)
        return self.declared(value, broadcasting.whole_numbers(value.shape, f"`{self.name}`"), None)

    def declared(self, value: SymbolicArray, shape: tuple[int, ...], fill: int | None) -> SymbolicTensor:
        """A tensor like a value, as the place for the last one."""
        tensor = active_trace().declare(
            self.name, shape, None, value.dtype_name, fill, anywhere=True, variable=self.name
        )
        tensor.is_number = not shape
        self.last = (tensor, None if shape else ScalarType(value.type.dtype, value.type.weak))
        return tensor


def changed_type(name: str, before: ScalarType, after: ScalarType) -> Exception:
    """The refusal of a number whose type depends on how often a loop runs."""
    texts = [f"a number of Python, {one.dtype}" if one.weak else one.dtype for one in (before, after)]
    lasting = before if after.weak else after
    return shape_error(
        "CYC120",
        f"`{name}` is {texts[0]} after an iteration and {texts[1]} after another",
        help=f"start with a number of that type, e.g. `{name} = np.{lasting.dtype}(0)`",
    )


def loop_carried(value: Any, *, name: str, is_number: bool = False, in_place: bool = False) -> Any:
    """``u_kept = il.kept(u, name="u")``: a place for what a name holds from one iteration to the next.

    Parameters
    ----------
    value : array or number
        What it holds before the loop.
    name : str
        The name.
    is_number : bool
        Whether it may be a number.
    in_place : bool
        Whether the loop assigns it by operators in place only, which change arrays.

    Raises
    ------
    TraceError
        CYC111 if the name holds no array, nor a number where it may be one.
    """
    trace = active_trace()
    is_scalar = (isinstance(value, LazyArray) and not value.shape) or (
        isinstance(value, SymbolicTensor) and value.is_number
    )
    if in_place and isinstance(value, View | SymbolicTensor) and not is_scalar:
        return _InPlace(value)
    first = len(trace.statements)
    if is_number and is_scalar:
        value = element(value)
    if is_number and isinstance(value, NUMBERS):
        number = CarriedNumber(trace, value, name)
        if not number.types:
            trace.bind({number.scalar: name}, {number.scalar: (None,)}, first)
        return number
    of_host = isinstance(value, np.ndarray) and not in_place  # one that changes may have other names
    if not (of_host or isinstance(value, (SymbolicArray, Element))):
        raise trace_error(
            "CYC111",
            f"`{name}` carries its value from one iteration to the next",
            help="write a reduction, e.g. `sum(... for k in range(...))`; or make it an array before the"
            f" loop, of the dtype that it gets, e.g. `{name} = cy.full((), {name}, dtype=...)`",
        )
    held = operand(value)
    tensor, part = new_part(held.expression(), name)
    tensor.is_number = is_scalar
    trace.bind({tensor: name}, {tensor: (held_tensor(held),)}, first)
    return part


def as_it_was(kept: Any, *, name: str) -> Any:
    """``s = il.as_it_was(s_kept, name="s")``: a number that stays; an array, which stands still as it is."""
    return (
        kept if isinstance(kept, View | SymbolicTensor) and kept.ndim else array(kept.copy(), name=name)[()]
    )


def update_carried(**pairs: Any) -> None:
    """``il.keep(u=(u_kept, u))``: the values with which the next iteration starts, all at once.

    Raises
    ------
    ShapeError
        CYC122 if a name gets an array of another shape, CYC120 if of another dtype.
    """
    loop = [scope for scope in active_trace().scopes if scope.index is not None][-1]
    keep_values(with_places(pairs), certain=loop.index if loop.running is None and _runs(loop) else None)


def with_places(pairs: Mapping[str, tuple[Any, Any]]) -> dict[str, tuple[Any, Any]]:
    """The names and what keeps them, with the places of last values; without those that need none."""
    loop = [scope for scope in active_trace().scopes if scope.index is not None][-1]
    places = {
        one: (place.place(held, loop) if isinstance(place, LastValue) else place, held)
        for one, (place, held) in pairs.items()
    }
    return {one: (place, held) for one, (place, held) in places.items() if place is not None}


def keep_values(pairs: Mapping[str, tuple[Any, Any]], **options: Any) -> None:
    """Assign to what names are kept in what the names hold, all at once; `Binding` has options."""
    is_first = not is_provisional(active_trace())
    values: dict[str, SymbolicArray] = {}
    places: dict[str, View | SymbolicTensor] = {}
    stand: dict[str, bool] = {}
    for one, (place, held) in pairs.items():
        if isinstance(place, _InPlace):
            continue
        value, stand[one] = operand(held), is_kept(place, held)
        if isinstance(place, CarriedNumber):
            number, leaves = place, bool(options.get("leaves"))
            if not number.takes(value, notes=is_first, leaves=leaves):
                continue
            place = number.scalar
            if not leaves:
                number.holds(held)
        else:
            check_same(one, place, value)
        values[one], places[one] = value, place
    trace = active_trace()
    first = len(trace.statements)
    names = {_tensor(target): one for one, target in places.items()}
    sources = {tensor: (held_tensor(values[one]),) for tensor, one in names.items()}
    changed = [one for one in places if not stand[one]]
    if len(changed) > 1:  # what one name keeps may be what another one had
        values |= {one: new_part(values[one].expression(), f"{one}_next", one)[1] for one in changed}
    for one in changed:
        places[one][...] = values[one]
    if places:
        trace.bind(names, sources, first, **options)


def _tensor(place: View | SymbolicTensor) -> Tensor:
    return place.tensor if isinstance(place, View) else place


def check_same(one: str, target: View | SymbolicTensor, value: SymbolicArray) -> None:
    """Check that a name holds after an iteration an array like the one before the loop."""
    same = len(value.shape) == target.ndim and all(map(broadcasting.same, value.shape, target.shape))
    if same and value.dtype_name == target.dtype_name:
        return
    shapes = broadcasting.text(target.shape), broadcasting.text(value.shape)
    was, becomes = (f"shape {s}" for s in shapes) if not same else (target.dtype_name, value.dtype_name)
    raise shape_error(
        "CYC120" if same else "CYC122",
        f"`{one}` has {was} before the loop and {becomes} after an iteration",
        help="give what changes a name of its own, or assign to a slice"
        if target.ndim
        else f"start with a number of that type, e.g. `{one} = 0.0` instead of 0",
        notes=[(target.span, "the loop is here")],
    )


def is_kept(target: Any, value: Any) -> bool:
    """Return whether a name holds what keeps it already."""
    if isinstance(target, CarriedNumber):
        return target.has(value) or is_kept(target.scalar, value)
    if isinstance(target, View) and isinstance(value, View):
        return target.is_same(value)
    return value is target or (isinstance(value, Access) and value.tensor is target and not target.ndim)


def _runs(loop: Scope) -> bool:
    """Return whether a loop has iterations, wherever it stands."""
    forms = [c.form for conjunction in loop.region for c in conjunction]
    alone = all(index is loop.index for form in forms for index in form.terms)
    return alone and not all(map(is_empty, loop.region))
