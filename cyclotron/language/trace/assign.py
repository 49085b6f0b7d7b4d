"""Whole-array statements as loops over indices: what `y[1:-1] = x[2:] - x[:-2]` records.

The loops run over the positions in the array that is assigned, so that element [i, j] of all arrays of a
kernel lies at index (i, j) of the recurrences; new arrays are positioned as what they are computed from. The
right side is evaluated before anything is assigned: where it reads elements that the statement assigns, a
temporary tensor keeps it in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cyclotron.language.values import broadcasting, dispatch
from cyclotron.language.values.affine import Affine, Constraint, Index, intersection
from cyclotron.language.values.array import LazyArray, SymbolicArray, View, combine, operand
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.context import active_recorder
from cyclotron.language.values.dispatch import SIGNS
from cyclotron.language.values.dynamic_slices import Ragged
from cyclotron.language.values.host_arrays import labelled
from cyclotron.language.values.nodes import (
    Access,
    AxisIndex,
    Element,
    Increment,
    Tensor,
    accesses,
    forms_of,
    map_forms,
)
from cyclotron.language.values.products import matmul
from cyclotron.language.values.region import Conjunction, extent, indices_of, is_empty
from cyclotron.language.values.scalar_type import ScalarType, check_fit, check_storable, promote
from cyclotron.language.values.scalars import check_adopted, choose_by_indices, converted
from cyclotron.language.values.source_span import here, shape_error
from cyclotron.language.values.subscripts import Pick
from cyclotron.language.values.tensor import SymbolicTensor


def assign(target: View, value: object) -> None:
    """Record `target[...] = value`: broadcast, converted to the dtype of the target.

    Raises
    ------
    ShapeError
        CYC122 if the shapes do not conform, CYC120 if the dtype loses more than NumPy lets it, or
        a whole number is too large for it, or it is whole only since the inputs are.
    """
    array = operand(value)
    broadcasting.check_fits(array.shape, target.shape)
    check_storable(array.dtype_name, target.dtype_name)
    check_adopted(array.dtype_name if array.shape else array.at(()), target.tensor)
    check_fit(_numbers_of(value) or [array.type], target.dtype_name)
    _Statement(target, array).record(None)


def _numbers_of(value: object) -> list[ScalarType]:
    """The ends of a list's whole numbers, which NumPy converts to the dtype of the target one by one."""
    numbers = np.asarray(value) if isinstance(value, (list, tuple)) else np.empty(0)
    ends = (int(numbers.min()), int(numbers.max())) if numbers.size and numbers.dtype.kind == "i" else ()
    return [ScalarType("int64", True, (end, end)) for end in ends]


def grow(target: View, value: object, *, negative: bool, is_loop: bool = False) -> None:
    """Record `target += value`, or `target -= value`; of a loop that does so the sum."""
    array = operand(value)
    op = "subtract" if negative else "add"
    broadcasting.check_fits(array.shape, target.shape, in_place=f"{SIGNS[op]}=")
    if _result(op, target, array) != target.dtype_name:
        update(target, op, array)
    else:
        _Statement(target, array).record(negative, is_loop)


def update(target: View, op: str, value: object) -> None:
    """Record `target *= value` and the like."""
    array = operand(value)
    broadcasting.check_fits(array.shape, target.shape, in_place=f"{SIGNS[op]}=")
    check_storable(_result(op, target, array), target.dtype_name, in_place=f"{SIGNS[op]}=")
    assign(target, combine(op, (target, value if op == "power" else array)))


def multiply(target: View, value: object) -> None:
    """Record `target @= value`.

    Raises
    ------
    ShapeError
        CYC122 if the product has another shape than the target, CYC120 as for other operators in place.
    """
    product = matmul(target, value)
    same = len(product.shape) == len(target.shape)
    if not (same and all(map(broadcasting.same, product.shape, target.shape))):
        raise shape_error(
            "CYC122",
            f"`@=` gives an array of shape {broadcasting.text(product.shape)}, and the one that keeps it has"
            f" {broadcasting.text(target.shape)}",
            help="assign the product to a new name, e.g. `C = A @ B`",
        )
    check_storable(product.dtype_name, target.dtype_name, in_place="@=")
    assign(target, product)


def new_array(value: SymbolicArray, name: str, variable: str = "") -> SymbolicTensor:
    """A new tensor that holds an array, positioned as what that is computed from; names as in `declare`."""
    tile = value.tile if isinstance(value, SymbolicTensor) else None
    shape = value.scalars if tile else broadcasting.whole_numbers(value.shape, f"`{name}`")
    return _new_tensor(value, name, shape, tile, variable)[0]


def new_part(
    value: SymbolicArray, name: str, variable: str = ""
) -> tuple[SymbolicTensor, SymbolicTensor | View]:
    """As `new_array`, of any shape: where loops tell that, or the place, it is a part of the new tensor."""
    has_size = all(isinstance(size, int) for size in value.shape)
    around = set(indices_of(active_recorder().region()))
    # Terms of sums come from several places.
    firsts = _firsts(value, around) if around and not (has_size and value.costly) else []
    if has_size and not any(first.terms for first in firsts):
        tensor = new_array(value, name, variable)
        return tensor, tensor
    shape = tuple(_places(first, size)[1] + 1 for first, size in zip(firsts, value.shape, strict=True))
    return _new_tensor(value, name, shape, None, variable, firsts)


def _new_tensor(
    value: SymbolicArray,
    name: str,
    shape: tuple[int, ...],
    tile: Any = None,
    variable: str = "",
    firsts: Sequence[Affine] = (),
) -> tuple[SymbolicTensor, View]:
    tensor: SymbolicTensor = active_recorder().declare(
        name, shape, tile, value.dtype_name, None, anywhere=True, variable=variable
    )
    tensor.origin, tensor.complete = _origin(value, shape), True
    part: View = tensor.whole()
    if firsts:
        picks = [Pick(first, 1, axis) for axis, first in enumerate(firsts)]
        part = View(tensor, picks, value.shape, here(), fixed=getattr(value, "fixed", ""))
    _Statement(part, value).record(None)
    return tensor, part


def _firsts(value: SymbolicArray, around: set[Index]) -> list[Affine]:
    """The places of an array's first elements along each axis, as in most of what its elements come from."""
    steps = [Index("step", here()) for _ in value.shape]
    element = value.at([Affine({step: 1}, 0) for step in steps])
    forms = [form for access in accesses(element) for form in access.index]
    result = []
    for step, size in zip(steps, value.shape, strict=True):
        along = [
            form.plus(Affine({step: -1}, 0)) for form in forms if form.terms.get(step) == form.divisor == 1
        ]
        along = [first for first in along if set(first.terms) <= around and _is_place(first, size)]
        result.append(max(along, key=lambda one: sum(map(one.same, along)), default=Affine({}, 0)))
    return result


def _is_place(first: Affine, size: broadcasting.Size) -> bool:
    """Return whether so many elements may lie from a place on: iterations share none, or take as little."""
    low, high = _places(first, size)
    if low < 0 or not first.terms or high - low <= _places(Affine({}, 0), size)[1]:
        return low >= 0
    again = {index: Affine({Index(index.name, here()): 1}, 0) for index in first.terms}
    place = Affine({Index("place", here()): 1}, 0)
    inside = broadcasting.inside(place.plus(first.times(-1)), size)
    later = Constraint(first.substitute(again).plus(first.times(-1)).plus(Affine({}, -1)))
    return all(
        is_empty((*one, *(constraint.substitute(again) for constraint in one), later))
        for around in active_recorder().region()
        for one in ((*around, *inside),)
    )


def _places(first: Affine, size: broadcasting.Size) -> tuple[int, int]:
    """The first and the last of so many places from one on, in whatever iteration."""
    place = Index("place", here())
    inside = (tuple(broadcasting.inside(Affine({place: 1}, 0).plus(first.times(-1)), size)),)
    return extent(intersection(active_recorder().region(), inside), place) or (0, -1)


def running_totals(value: SymbolicArray, axis: int, op: str = "add") -> SymbolicTensor:
    """A new tensor of the sums, or products, along an axis up to each element, made of the one before it."""
    shape = broadcasting.whole_numbers(value.shape, "the sums")
    recorder = active_recorder()
    tensor: SymbolicTensor = recorder.declare("sums", shape, None, value.dtype_name, None, anywhere=True)
    tensor.origin, tensor.complete = _origin(value, shape), True
    loops = [AxisIndex(tensor, d, here()) for d in range(len(shape))]
    index = tuple(Affine({loop: 1}, -first) for loop, first in zip(loops, tensor.origin, strict=True))
    for loop, form, size in zip(loops, index, shape, strict=True):
        inside = (Constraint(form), Constraint(form.times(-1).plus(Affine({}, size - 1))))
        recorder.open_loop(loop, (inside,))
    try:
        own = value.at(index)
        before = tensor.at((*index[:axis], index[axis].plus(Affine({}, -1)), *index[axis + 1 :]))
        total = choose_by_indices(
            Condition(((Constraint(index[axis], True),),)), own, dispatch.apply(op, before, own)
        )
        recorder.assign(tensor, index, total)
    finally:
        recorder.close_loops(len(loops))
    return tensor


def array(value: Any, *, name: str) -> Any:
    """``y = il.array(a * x + b, name="y")``: compute a new array now; others just get the name."""
    if isinstance(value, LazyArray):
        first = len(active_recorder().statements)
        tensor, part = new_part(value, name)
        tensor.is_number, tensor.fixed = not value.shape and value.viewed is None, value.fixed
        if value.chosen is not None:
            tensor.owner.bind({tensor: name}, {tensor: value.chosen.sources}, first, choice=value.chosen)
        elif value.viewed is not None:
            tensor.owner.bind({tensor: name}, {tensor: (value.viewed,)}, first, is_view=True)
        return part
    if isinstance(value, SymbolicTensor) and value.is_number:
        return array(value.expression(), name=name)
    if isinstance(value, SymbolicTensor) and value.name == "copy":
        value.name = name
    if isinstance(value, Ragged):
        return value.kept(lambda whole: new_array(whole, name))
    if isinstance(value, tuple):
        make: Callable[..., Any] = getattr(value, "_make", tuple)  # of named tuples
        return make(array(one, name=name) for one in value)
    return labelled(value, name)


def shared(value: Any) -> Any:
    """``h(il.shared(v))``: what a name or a list holds; an expression there is no array that h may change."""
    if isinstance(value, LazyArray) and value.shape and not value.fixed:
        value.fixed = "an expression that no name of the caller's holds as an array"
    return value


def computed(value: Any, *, name: str) -> Any:
    """``s += cy.sum(x); s = il.computed(s, name="s")``: compute what became an array now; others stay."""
    return array(value, name=name) if isinstance(value, LazyArray) else value


class _Statement:
    """One assignment of an array to a view, of a shape to which it broadcasts."""

    def __init__(self, target: View, value: SymbolicArray) -> None:
        target.check_writable()
        self.target = target
        self.tensor = target.tensor
        self.trace = target.tensor.owner
        self.span = here()
        steps: list[Index] = [Index("step", self.span) for _ in target.shape]
        at = [Affine({step: 1}, 0) for step in steps]
        shape = value.shape[max(len(value.shape) - len(target.shape), 0) :]
        extra = (Affine({}, 0),) * (len(value.shape) - len(shape))
        element = converted(value.at((*extra, *broadcasting.along(at, shape))), target.dtype_name)
        self._position(steps, element)

    def _position(self, steps: Sequence[Index], element: Element) -> None:
        """Make the positions in the tensor the indices of the loops, instead of the steps of the view."""
        self.loops: list[tuple[Index, Conjunction]] = []
        values: dict[Index, Affine] = {}
        for d, pick in enumerate(self.target.picks):
            if pick.axis is None:
                continue
            step = steps[pick.axis]
            if step in values:  # a diagonal
                continue
            index = AxisIndex(self.tensor, d, self.span)
            position = Affine({index: 1}, 0)
            first = pick.start.plus(Affine({}, self.tensor.origin[d]))
            number = position.plus(first.times(-1))  # the step times `pick.step`
            size = self.target.shape[pick.axis]
            stride = abs(pick.step)
            counted = {step: number.times(pick.step // stride).over(stride)}
            of_step = broadcasting.inside(Affine({step: 1}, 0), size)
            inside = [Constraint(one.form.times(stride).substitute(counted)) for one in of_step]
            diagonal = self._is_diagonal(pick)
            if stride == 1 and not diagonal:
                values[step] = number.times(pick.step)
            elif not diagonal and all(
                form.terms.get(step, 0) % pick.step == 0 and form.divisor == 1 for form in forms_of(element)
            ):
                element = map_forms(element, _restrided(step, pick.step, number))
                inside.append(Constraint(number, modulus=stride))
                values[step] = Affine({index: 0}, 0)  # in no form any more
            else:  # the index counts the elements that are assigned, as others are read at other strides
                values[step] = position
                inside = broadcasting.inside(position, size)
                self.loops.append((index, tuple(inside)))
                continue
            self.loops.append((index, tuple(inside)))
        for step in steps:
            values.setdefault(step, Affine({}, 0))  # an axis that `None` made
        self.element = map_forms(element, lambda form: form.substitute(values))
        self.index = tuple(
            self._subscript(d, pick, values, steps) for d, pick in enumerate(self.target.picks)
        )

    def _is_diagonal(self, pick: Pick) -> bool:
        """Return whether several axes of the tensor go along the axis of a pick."""
        return sum(one.axis == pick.axis for one in self.target.picks) > 1

    def _subscript(self, d: int, pick: Pick, values: dict[Index, Affine], steps: Sequence[Index]) -> Affine:
        if pick.axis is None:
            return Affine({}, 0).plus(pick.start)
        counted = values[steps[pick.axis]]
        if self._is_diagonal(pick) or (abs(pick.step) > 1 and counted.terms):
            return pick.start.plus(counted.times(pick.step))
        index = next(i for i, _ in self.loops if isinstance(i, AxisIndex) and i.axis == d)
        return Affine({index: 1}, -self.tensor.origin[d])

    def record(self, negative: bool | None, is_loop: bool = False) -> None:
        """Record the assignment, or where `negative` is given the addition or subtraction in place."""
        of_tensor = {pick.axis for pick in self.target.picks}
        if any(size == 0 for axis, size in enumerate(self.target.shape) if axis not in of_tensor):
            return  # a new axis without elements
        own = Access(self.tensor, self.index, self.span)
        value: Element | Increment = self.element
        if negative is not None:
            value = Increment(own, self.element, negative, is_loop)
        if not self._overlaps():
            self._loop(self.tensor, value)
            return
        if isinstance(value, Increment):
            value = value.element()
        name, variable = f"{self.tensor.unique_name}_new", self.tensor.name
        shape, dtype = self.tensor.scalars, self.tensor.dtype_name
        temporary = self.trace.declare(name, shape, None, dtype, None, anywhere=True, variable=variable)
        temporary.origin = self.tensor.origin
        self._loop(temporary, value)
        self._loop(self.tensor, Access(temporary, self.index, self.span))

    def _loop(self, tensor: Tensor, value: Element | Increment) -> None:
        for index, inside in self.loops:
            self.trace.open_loop(index, (inside,))
        try:
            self.trace.assign(tensor, self.index, value)
        finally:
            self.trace.close_loops(len(self.loops))

    def _overlaps(self) -> bool:
        """Return whether the right side may read elements that the statement assigns at other points."""
        others = [
            access
            for access in accesses(self.element)
            if access.tensor is self.tensor and not access.names(self.tensor, self.index)
        ]
        if not others:
            return False
        again = {index: Affine({Index(index.name, index.span): 1}, 0) for index, _ in self.loops}
        here = tuple(c for _, inside in self.loops for c in inside)
        there = tuple(c.substitute(again) for c in here)
        for access in others:
            equal = tuple(
                Constraint(read.plus(written.substitute(again).times(-1)), True)
                for read, written in zip(access.index, self.index, strict=True)
            )
            if any(not is_empty((*around, *here, *there, *equal)) for around in self.trace.region()):
                return True
        return False


def _result(op: str, target: View, value: SymbolicArray) -> str:
    """The dtype of an operator on the target and a value."""
    return promote(op, target.type, value.type)[1].dtype


def _origin(value: SymbolicArray, shape: Sequence[int]) -> tuple[int, ...]:
    """Position of element 0 of a new array: that of arrays as long, or amid what its elements come from."""
    steps = [Index("step", here()) for _ in value.shape]
    element = value.at([Affine({step: 1}, 0) for step in steps])
    result = []
    for step, size in zip(steps, shape, strict=True):
        along = [
            (access.tensor, d, form.constant)
            for access in accesses(element)
            for d, form in enumerate(access.index)
            if form.terms == {step: 1} and form.divisor == 1
        ]
        # A neighbour in an array as long is another element of it, not another place for the new one.
        places = sorted(tensor.origin[d] for tensor, d, _ in along if tensor.scalars[d] == size) or sorted(
            offset + tensor.origin[d] for tensor, d, offset in along
        )
        result.append(places[(len(places) - 1) // 2] if places else 0)
    return tuple(result)


def _restrided(step: Index, stride: int, number: Affine) -> Callable[[Affine], Affine]:
    """Replace a step by a number divided by the stride, in forms where it has multiples of that."""

    def change(form: Affine) -> Affine:
        factor = form.terms.get(step, 0)
        if not factor:
            return form
        rest = Affine({index: f for index, f in form.terms.items() if index is not step}, form.constant)
        return rest.plus(number.times(factor // stride))

    return change
