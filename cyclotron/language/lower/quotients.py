"""Quotients in subscripts, `e[i // 2]`: elements are spread, and read where what is divided counts them.

In each case of a quotient its subscript is a form divided by a number, `(i - 1) / 2` of odd i. A tensor with
an element for each value of the form holds those of which the quotient is whole, so that subscripts stay
sums of multiples. Where `y[i // 2]` is assigned the quotient gets an index of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from cyclotron.language.trace.statement import Statement
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Affine, Constraint, Index
from cyclotron.language.values.broadcasting import box
from cyclotron.language.values.nodes import Access, Element, Tensor, accesses, rebuild, transform

Equations = list[Statement]


def spread(trace: Trace, equations: Equations, *, computed: bool) -> tuple[Trace, Equations]:
    """Read what quotients subscript out of tensors that hold it spread.

    Parameters
    ----------
    trace : Trace
        The recording.
    equations : list of Statement
        Its equations, without conditional expressions.
    computed : bool
        Whether to do so with tensors that equations assign, too: each of their elements once.

    Returns
    -------
    Trace, list of Statement
        The same, where no subscript is a quotient.
    """
    assigned = {equation.target for equation in equations}
    divided: dict[Tensor, list[Access]] = {}
    for equation in equations:
        for access in accesses(equation.value):
            if any(form.divisor > 1 for form in access.index) and (computed or access.tensor not in assigned):
                divided.setdefault(access.tensor, []).append(access)
    if not divided:
        return trace, equations
    first = min((equation.text[0] for equation in equations if equation.text), default=0) - len(divided)
    wide: dict[Tensor, tuple[Tensor, tuple[int, ...]]] = {}
    copies = []
    for number, (tensor, read) in enumerate(divided.items()):
        axes = zip(*(access.index for access in read), strict=True)
        steps = tuple(math.lcm(*(form.divisor for form in forms)) for forms in axes)
        wide[tensor] = (_larger(trace, tensor, steps, len(wide)), steps)
        copies.append(_copy(tensor, *wide[tensor], read[0], first + number))
    result = [replace(equation, value=_reading(equation.value, wide)) for equation in equations]
    tensors = [*trace.tensors, *(tensor for tensor, _ in wide.values())]
    return replace(trace, tensors=tensors), [*copies, *result]


def counted(equations: Equations, *, reads: bool = False) -> Equations:
    """Give quotients that subscript what is assigned indices of their own: `y[q]`, where `2 * q` is `i - 1`.

    Parameters
    ----------
    equations : list of Statement
        Equations without conditional expressions, so that quotients are whole at all their points.
    reads : bool
        Whether to do so with those of loops that subscript what is read, too.

    Returns
    -------
    list of Statement
        The same, where sums of multiples of indices subscript what is assigned.
    """
    return [_counted(equation, reads) for equation in equations]


def _counted(equation: Statement, reads: bool) -> Statement:
    taken = {loop.name for loop in equation.loops}
    unused = (name for name in ("q", *(f"q{n}" for n in range(2, len(taken) + 9))) if name not in taken)
    counts: list[tuple[Affine, Index]] = []
    forms = [*equation.index]
    if reads:
        read = [form for access in accesses(equation.value) for form in access.index]
        forms += [form for form in read if form.terms.keys() <= {*equation.loops}]
    for form in forms:
        if form.divisor > 1 and not any(form.same(other) for other, _ in counts):
            counts.append((form, Index(next(unused), equation.span)))
    if not counts:
        return equation

    def whole(index: tuple[Affine, ...]) -> tuple[Affine, ...]:
        own = (next((count for one, count in counts if one.same(form)), None) for form in index)
        return tuple(
            form if count is None else Affine({count: 1}, 0) for form, count in zip(index, own, strict=True)
        )

    def changed(part: Element, operands: list[Element]) -> Element:
        return replace(part, index=whole(part.index)) if isinstance(part, Access) else rebuild(part, operands)

    loops = tuple(count for _, count in counts)
    equal = [
        Constraint(form.times(form.divisor).over(1).plus(Affine({count: -form.divisor}, 0)), equality=True)
        for form, count in counts
    ]
    return replace(
        equation,
        index=whole(equation.index),
        loops=(*equation.loops, *loops),
        inside=(*equation.inside, *loops),
        region=tuple((*part, *equal) for part in equation.region),
        value=transform(equation.value, changed),
        text=(*equation.text, *[0] * len(loops)),
    )


def _larger(trace: Trace, tensor: Tensor, steps: Sequence[int], number: int) -> Tensor:
    taken = {one.unique_name for one in trace.tensors}
    names = (f"{tensor.unique_name}_spread{'_' * k}{number or ''}" for k in range(len(taken) + 1))
    scalars = tuple(step * (size - 1) + 1 for step, size in zip(steps, tensor.scalars, strict=True))
    return tensor.beside(next(name for name in names if name not in taken), scalars=scalars)


def _copy(tensor: Tensor, wide: Tensor, steps: Sequence[int], read: Access, place: int) -> Statement:
    """The statement that spreads a tensor, its loops called like those that read it."""
    names: list[str] = []
    for d, form in enumerate(read.index):
        candidates = [*(index.name for index in form.terms), "ijklmnpqrs"[d], f"{tensor.unique_name}_axis{d}"]
        names.append(next(name for name in candidates if name not in names))
    loops = tuple(Index(name, read.span) for name in names)
    at = tuple(Affine({loop: 1}, 0) for loop in loops)
    index = tuple(form.times(step) for form, step in zip(at, steps, strict=True))
    region = (box([(loop, size) for loop, size in zip(loops, tensor.scalars, strict=True)]),)
    value = Access(tensor, at, read.span)
    text = (place, *[0] * len(loops))
    return Statement(wide, index, loops, region, value, read.span, loops, None, text=text)


def _reading(value: Element, wide: dict[Tensor, tuple[Tensor, tuple[int, ...]]]) -> Element:
    def changed(part: Element, operands: list[Element]) -> Element:
        if not isinstance(part, Access):
            return rebuild(part, operands)
        if part.tensor not in wide or all(form.divisor == 1 for form in part.index):
            return part
        tensor, steps = wide[part.tensor]
        index = tuple(form.times(step).over(1) for form, step in zip(part.index, steps, strict=True))
        return replace(part, tensor=tensor, index=index)

    return transform(value, changed)
