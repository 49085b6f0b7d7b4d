"""Coarse arrays laid out as the fine ones that they are computed with: element k at position 2 * k.

Where a computed array is read at another stride than it is written (`coarse[1:-1] = fine[2:-2:2]`, as
multigrid methods do), its elements would move by distances that grow with their number. So the positions of
an array and of the loops over it are stretched until all subscripts in which they meet count alike: loops
over a coarse array take every second position of the fine one, or every fourth, and what crosses between them
moves by the same distance everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction

from cyclotron.language.lower.fill_unassigned import axis_names
from cyclotron.language.trace.statement import Statement
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Affine, Constraint, Index, Region
from cyclotron.language.values.broadcasting import box
from cyclotron.language.values.nodes import (
    Access,
    Element,
    IndexValue,
    Reduce,
    Tensor,
    rebuild,
    substitute_indices,
    transform,
    walk,
)

Axis = tuple[Tensor, int]
Node = Index | Axis
Subscript = tuple[Axis, Affine]
Equations = list[Statement]


def stretched(trace: Trace, equations: Equations, *, in_order: bool) -> tuple[Trace, Equations]:
    """Lay out coarse arrays as the fine ones that they are computed with.

    Parameters
    ----------
    trace : Trace
        The recording.
    equations : list of Statement
        Its equations, without conditional expressions.
    in_order : bool
        Whether they run one after the other, so that each reading has to find the last write before it.

    Returns
    -------
    Trace, list of Statement
        The same, where nothing is read at another stride than it is written, or no layout serves all that is
        read; else with larger tensors, whose elements lie at multiples of a number.
    """
    scales: dict[Node, int] = {}
    links: dict[Node, list[tuple[Node, Fraction]]] | None = None
    for axis in _mixed_axes(equations, in_order):
        if links is None:
            links = _links(equations)
        if axis not in scales:
            scales.update(_scales(axis, links))
    scales = {node: scale for node, scale in scales.items() if scale > 1}
    if not scales:
        return trace, equations
    # Loops that one equation sums over and others run over count as each needs them.
    equations = [replace(equation, value=_with_own_indices(equation.value, scales)) for equation in equations]
    if not _serves(scales, equations):
        return trace, equations
    return _Layout(trace, scales).run(equations)


def _written(equation: Statement) -> Iterator[Subscript]:
    return (((equation.target, d), form) for d, form in enumerate(equation.index))


def _read(equation: Statement) -> Iterator[Subscript]:
    for part in walk(equation.value):
        if isinstance(part, Access):
            yield from (((part.tensor, d), form) for d, form in enumerate(part.index))


def _mixed_axes(equations: Equations, in_order: bool) -> list[Axis]:
    """The axes of computed arrays that are read at larger steps than written; in order, of several steps."""
    written: dict[Axis, set[Fraction]] = {}
    read: dict[Axis, set[Fraction]] = {}
    for equation in equations:
        for steps, subscripts in ((written, _written(equation)), (read, _read(equation))):
            for axis, form in subscripts:
                found = {Fraction(abs(form.terms.get(loop, 0)), form.divisor) for loop in equation.loops} - {
                    0
                }
                steps.setdefault(axis, set()).update(found)
    # What is written at larger steps than read becomes an equation for each remainder.
    return [
        axis
        for axis, steps in written.items()
        for all_steps in (steps | read.get(axis, steps),)
        if steps and (len(all_steps) > 1 if in_order else max(all_steps) > min(steps))
    ]


def _links(equations: Equations) -> dict[Node, list[tuple[Node, Fraction]]]:
    """For each loop and axis of a computed array those that it counts together with, and how much faster."""
    computed = {equation.target for equation in equations}
    links: dict[Node, list[tuple[Node, Fraction]]] = {}
    for equation in equations:
        for axis, form in (*_written(equation), *_read(equation)):
            for loop in equation.loops if axis[0] in computed else ():
                step = Fraction(abs(form.terms.get(loop, 0)), form.divisor)
                if step:
                    links.setdefault(axis, []).append((loop, step))
                    links.setdefault(loop, []).append((axis, 1 / step))
    return links


def _scales(start: Node, links: dict[Node, list[tuple[Node, Fraction]]]) -> dict[Node, int]:
    """The steps in which loops and axes that count together do so; all 1 where they do not agree."""
    found = {start: Fraction(1)}
    pending = [start]
    agree = True
    while pending:
        node = pending.pop()
        for other, ratio in links[node]:
            scale = found[node] * ratio
            if other not in found:
                found[other] = scale
                pending.append(other)
            agree = agree and found[other] == scale
    if not agree:
        return dict.fromkeys(found, 1)
    whole = math.lcm(*(scale.denominator for scale in found.values()))
    divisor = math.gcd(*(int(scale * whole) for scale in found.values()))
    return {node: int(scale * whole) // divisor for node, scale in found.items()}


def _with_own_indices(value: Element, scales: dict[Node, int]) -> Element:
    """An expression whose reductions have other indices than the loops that are stretched."""

    def changed(part: Element, operands: list[Element]) -> Element:
        if not isinstance(part, Reduce) or part.index not in scales:
            return rebuild(part, operands)
        own = Index(part.index.name, part.index.span)
        values = {part.index: Affine({own: 1}, 0)}
        region = tuple(tuple(c.substitute(values) for c in conjunction) for conjunction in part.region)
        return Reduce(part.kind, own, region, substitute_indices(operands[0], values), part.span, part.type)

    return transform(value, changed)


def _serves(scales: dict[Node, int], equations: Equations) -> bool:
    """Return whether inputs are read and indices are numbers without divisions, or quotients need it."""
    computed = {equation.target for equation in equations}
    forms, quotients = [], False
    for equation in equations:
        indices = [part.form for part in walk(equation.value) if isinstance(part, IndexValue)]
        if any(factor % scales.get(index, 1) for form in indices for index, factor in form.terms.items()):
            return False
        for (tensor, _), form in _read(equation):
            if tensor not in computed:
                forms.append(form)
            quotients = quotients or (tensor in computed and form.divisor > 1)
    return quotients or not any(
        factor % (scales.get(index, 1) * form.divisor)
        for form in forms
        for index, factor in form.terms.items()
        if index in scales
    )


class _Layout:
    """Equations over stretched positions."""

    def __init__(self, trace: Trace, scales: dict[Node, int]) -> None:
        self._trace = trace
        self._scales = scales
        self._tensors: dict[Tensor, Tensor] = {}
        self._positions: dict[Index, Affine] = {}  # of loops: their scale times the old index
        self._origins: dict[Axis, int] = {}  # the positions of the first elements
        self._loops: dict[Index, Index] = {}

    def run(self, equations: Equations) -> tuple[Trace, Equations]:
        for tensor, _ in (node for node in self._scales if isinstance(node, tuple)):
            if tensor not in self._tensors:
                self._tensors[tensor] = self._larger(tensor)
        result = [self._equation(equation) for equation in equations]
        last = 1 + max((equation.text[0] for equation in equations if equation.text), default=0)
        outputs = [tensor for tensor in self._trace.outputs.values() if tensor in self._tensors]
        result += [self._result(tensor, result, last + n) for n, tensor in enumerate(outputs)]
        tensors = [*self._trace.tensors, *self._tensors.values()]
        return replace(self._trace, tensors=tensors), result

    def _larger(self, tensor: Tensor) -> Tensor:
        """A tensor with a position for each element of the finest array."""
        larger = copy(tensor)
        larger.scalars = tuple(
            self._scale((tensor, d)) * (size - 1) + 1 if size else 0 for d, size in enumerate(tensor.scalars)
        )
        taken = {one.unique_name for one in (*self._trace.tensors, *self._tensors.values())}
        names = (f"{tensor.unique_name}_{k}" for k in range(1, len(taken) + 2))
        larger.unique_name = next(name for name in names if name not in taken)
        return larger

    def _scale(self, node: Node) -> int:
        return self._scales.get(node, 1)

    def _result(self, tensor: Tensor, equations: Equations, last: int) -> Statement:
        """The elements of an output, made where they lie: an index of positions and one of their own."""
        larger = self._tensors[tensor]
        own = [equation for equation in equations if equation.target is larger]
        places = tuple(Index(name, tensor.span) for name in axis_names(larger, own))
        counts = tuple(Index(f"{place.name}_out", tensor.span) for place in places)
        region = box(list(zip(counts, tensor.scalars, strict=True)))
        at = tuple(Affine({place: 1}, 0) for place in places)
        index = tuple(Affine({count: 1}, 0) for count in counts)
        region += tuple(
            Constraint(place.plus(position.times(-1)), True)
            for place, position in zip(at, self._index(tensor, index), strict=True)
        )
        loops = (*places, *counts)
        value = Access(larger, at, tensor.span)
        text = (last, *[0] * len(loops))
        return Statement(tensor, index, loops, (region,), value, tensor.span, loops, None, text=text)

    def _equation(self, equation: Statement) -> Statement:
        for loop in equation.loops:
            if self._scale(loop) > 1 and loop not in self._loops:
                self._move(loop, equation)
        self._settle(equation)
        positions = {self._loops.get(loop, loop): self._scale(loop) for loop in equation.loops}
        steps = tuple(
            Constraint(self._positions[loop], modulus=self._scale(loop))
            for loop in equation.loops
            if loop in self._loops
        )
        return replace(
            equation,
            target=self._tensors.get(equation.target, equation.target),
            index=self._index(equation.target, equation.index),
            loops=tuple(positions),
            region=tuple((*part, *steps) for part in self._region(equation.region)),
            value=self._value(equation.value),
            inside=tuple(self._loops.get(loop, loop) for loop in equation.inside),
        )

    def _move(self, loop: Index, equation: Statement) -> None:
        """Let a loop run over positions: those of what the equation assigns, or else amid what it reads."""
        places = [
            sorted(
                self._origins[axis] + form.constant * self._scale(axis)
                for axis, form in subscripts
                if loop in form.terms and axis in self._origins and form.divisor == 1
            )
            for subscripts in (_written(equation), _read(equation))
        ]
        at = next((found[(len(found) - 1) // 2] for found in places if found), 0)
        new = self._loops[loop] = Index(loop.name, loop.span)
        self._positions[loop] = Affine({new: 1}, -at)

    def _settle(self, equation: Statement) -> None:
        """Note where the elements lie that an equation assigns, unless others did so before."""
        for axis, form in _written(equation):
            for loop in form.terms:
                start = self._positions[loop].constant if loop in self._positions else 0
                self._origins.setdefault(axis, -start - form.constant * self._scale(axis))

    def _times(self, form: Affine, factor: int) -> Affine:
        """A multiple of a form, over positions."""
        result = Affine({}, form.constant * factor)
        for index, step in form.terms.items():
            position = self._positions.get(index, Affine({index: 1}, 0))
            result = result.plus(position.times(step * factor).over(self._scale(index)))
        return result.over(form.divisor)

    def _index(self, tensor: Tensor, index: Sequence[Affine]) -> tuple[Affine, ...]:
        return tuple(self._times(form, self._scale((tensor, d))) for d, form in enumerate(index))

    def _region(self, region: Region) -> Region:
        return tuple(tuple(self._constraint(c) for c in part) for part in region)

    def _constraint(self, constraint: Constraint) -> Constraint:
        factor = math.lcm(*_divisors(constraint.form, self._scales))
        form = self._times(constraint.form, factor)
        return replace(constraint, form=form, modulus=constraint.modulus * factor)

    def _value(self, value: Element) -> Element:
        def changed(part: Element, operands: list[Element]) -> Element:
            if isinstance(part, Access):
                tensor = self._tensors.get(part.tensor, part.tensor)
                return replace(part, tensor=tensor, index=self._index(part.tensor, part.index))
            if isinstance(part, IndexValue):
                return IndexValue(self._times(part.form, 1), part.type, part.span)
            if isinstance(part, Reduce):
                region = self._region(part.region)
                return Reduce(part.kind, part.index, region, operands[0], part.span, part.type)
            return rebuild(part, operands)

        return transform(value, changed)


def _divisors(form: Affine, scales: dict[Node, int]) -> Iterable[int]:
    """By each index a number of which the form is a multiple of one over positions."""
    for index, step in form.terms.items():
        scale = scales.get(index, 1)
        yield scale // math.gcd(scale, step)
