"""Conditional expressions as piecewise equations: one equation for each case, none left inside."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import product

import numpy as np

from cyclotron.language.lower.reduction_range import has_holes, is_bound, is_difficult
from cyclotron.language.lower.strides import along
from cyclotron.language.trace.statement import Statement, unused
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import EVERYWHERE, Affine, Constraint, Index, Region, intersection
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.nodes import Access, Apply, Choose, Constant, Element, Reduce, rebuild
from cyclotron.language.values.region import extent, indices_of, is_empty
from cyclotron.language.values.scalar_type import ScalarType
from cyclotron.language.values.scalars import explicit_cast
from cyclotron.language.values.tiles import tile_shape
from cyclotron.support.errors import TraceError

Case = tuple[Region, Element]
_NEUTRAL = {"sum": 0, "product": 1}


def split(trace: Trace, equation: Statement) -> list[Statement]:
    """Split an equation into one for each case of its conditional expressions.

    Where a case depends on the index of a reduction around it, the terms of the reduction get a tensor of
    their own, which is added to the trace: then they are folded in the order of the text.

    Parameters
    ----------
    trace : Trace
        The recording.
    equation : Statement
        One of its equations.

    Returns
    -------
    list of Statement
        The equations of new tensors, then those of the target; none where no case has a point.
    """
    return _Splitter(trace, equation).run()


class _Splitter:
    def __init__(self, trace: Trace, equation: Statement) -> None:
        self._trace = trace
        self._equation = equation
        self._terms: list[Statement] = []
        self._known: dict[tuple[int, tuple[Index, ...]], tuple[Element, list[Case]]] = {}

    def run(self) -> list[Statement]:
        equation = self._equation
        found = self._cases(equation.value, equation.loops, equation.region)
        if len(found) == 1 and found[0][0] is EVERYWHERE:
            return [*self._terms, replace(equation, value=found[0][1])]
        return [*self._terms, *self._pieces(equation, found)]

    def _pieces(self, equation: Statement, found: list[Case]) -> list[Statement]:
        pieces = []
        for region, value in found:
            whole = tuple(c for c in intersection(equation.region, region) if not is_empty(c))
            if whole:
                pieces.append(replace(equation, region=whole, value=value))
        return pieces

    def _cases(self, value: Element, scope: tuple[Index, ...], region: Region) -> list[Case]:
        """The values without conditional expressions, each with the region of indices where it holds."""
        key = (id(value), scope)
        if key not in self._known:
            self._known[key] = (value, self._find_cases(value, scope, region))
        return self._known[key][1]

    def _find_cases(self, value: Element, scope: tuple[Index, ...], region: Region) -> list[Case]:
        if not value.operands:
            return [(EVERYWHERE, value)]
        if isinstance(value, Choose):
            taken, other = value.condition.region, value.condition.negated().region
            found = [(taken, case) for case in self._cases(value.then, scope, region)]
            found += [(other, case) for case in self._cases(value.other, scope, region)]
            return [(intersection(where, r), _typed(v, value)) for where, (r, v) in found]
        if isinstance(value, Reduce):
            return self._reduction(value, scope, region)
        assert isinstance(value, Apply)
        result: list[Case] = []
        for combination in product(*(self._cases(operand, scope, region) for operand in value.operands)):
            where = reduce(_in_both, (part for part, _ in combination))
            if where:
                result.append((where, rebuild(value, [operand for _, operand in combination])))
        return result

    def _reduction(self, value: Reduce, scope: tuple[Index, ...], region: Region) -> list[Case]:
        value = along(value)
        if has_holes(region, value):
            value = self._filtered(value, region)
        inner = (*scope, value.index)
        terms = intersection(region, value.region)
        found = self._cases(value.body, inner, terms)
        if not any(value.index in indices_of(where) for where, _ in found):
            return [(where, _folded(value, body)) for where, body in found]
        nonzero = [case for case in found if not (isinstance(case[1], Constant) and case[1].value == 0)]
        if value.kind == "sum" and len(nonzero) == 1:
            where, body = nonzero[0]
            restricted = _with(value, intersection(value.region, where), body)
            if not has_holes(region, restricted):
                return [(EVERYWHERE, restricted)]
        return [(EVERYWHERE, _with(value, value.region, self._tensor_of(value, found, inner, terms)))]

    def _filtered(self, value: Reduce, region: Region) -> Reduce:
        """A reduction whose index runs with gaps as one without, with neutral terms in the gaps."""
        if value.kind not in _NEUTRAL:
            if is_difficult(value):
                raise _gaps_of_extremum(value)
            return value  # may still have none
        common = [
            c
            for c in value.region[0]
            if is_bound(c, value.index) and all(any(c is other for other in rest) for rest in value.region)
        ]
        condition = Condition(
            tuple(tuple(c for c in part if not any(c is other for other in common)) for part in value.region)
        )
        low, high = extent(intersection(region, value.region), value.index) or (0, -1)
        common.append(Constraint(Affine({value.index: 1}, -low)))
        common.append(Constraint(Affine({value.index: -1}, high)))
        neutral = Constant(_NEUTRAL[value.kind], value.span)
        return _with(value, (tuple(common),), Choose(condition, value.body, neutral, value.span))

    def _tensor_of(
        self, value: Reduce, found: list[Case], scope: tuple[Index, ...], region: Region
    ) -> Element:
        """A tensor of the terms of a reduction, and its element at the indices in scope."""
        equation = self._equation
        tile = _tile_of(value, found) if equation.target.blocked else None
        extents = [extent(region, index) for index in scope]
        lows = [0 if found is None else found[0] for found in extents]
        shape = tuple(0 if found is None else found[1] - found[0] + 1 for found in extents)
        index = tuple(Affine({v: 1}, -low) for v, low in zip(scope, lows, strict=True))
        tiles = None
        if tile is not None:  # tiles have two axes of their own
            tiles = (*(1 for _ in shape), *tile)
            shape += tile
            index += (Affine({}, 0), Affine({}, 0))
        taken = {tensor.unique_name for tensor in self._trace.tensors}
        name = unused(f"{equation.target.unique_name}_{value.index.name}", taken, "")
        own = {
            "owner": self._trace,
            "dtype": value.dtype,
            "scalars": shape,
            "tile": tiles,
            "span": value.span,
        }
        tensor = equation.target.beside(name, **own)
        self._trace.tensors.append(tensor)
        whole = replace(
            equation,
            target=tensor,
            index=index,
            loops=scope,
            region=region,
            span=value.span,
            inside=(*equation.inside, *scope[len(equation.loops) :]),
            reduced=None,
            folded=False,
        )
        self._terms += self._pieces(whole, found)
        return Access(tensor, index, value.span)


def _in_both(left: Region, right: Region) -> Region:
    """The points in both regions, which share constraints where they come of one condition."""
    if left is EVERYWHERE or right is EVERYWHERE:
        return right if left is EVERYWHERE else left
    parts = (a + tuple(c for c in b if not any(c is other for other in a)) for a in left for b in right)
    return tuple(part for part in parts if not is_empty(part))


def _tile_of(value: Reduce, found: list[Case]) -> tuple[int, int]:
    """The shape of all terms of a reduction of tiles; an error where one is a number or not known."""
    shapes = {tile_shape(term) for _, term in found}
    shape = shapes.pop()
    if shape is not None and not shapes:
        return shape
    name = value.index.name
    raise TraceError(
        f"which tiles the reduction over `{name}` takes depends on a condition on `{name}`, and not all are"
        " known to have one shape",
        code="CYC112",
        span=value.span,
        help=f"write one reduction for each case: `sum(... for {name} in range(...) if ...)`",
    )


def _gaps_of_extremum(value: Reduce) -> TraceError:
    name = value.index.name
    return TraceError(
        f"the {value.kind.removeprefix('first_')} over `{name}` takes some values of a range only",
        code="CYC112",
        span=value.span,
        help="run over the whole range, with a term that does not matter for the others:"
        " `... if condition else ...`",
    )


def _typed(case: Element, choice: Choose) -> Element:
    """A case of a choice; a number of Python's as the number of NumPy's that it is among its neighbours."""
    if not isinstance(case, Constant) or not case.type.weak or choice.type.weak or choice.blocked:
        return case
    return Constant(np.dtype(choice.dtype).type(case.value).item(), case.span, ScalarType(choice.dtype))


def _folded(value: Reduce, body: Element) -> Element:
    """A reduction of other terms; a number that they all are has the dtype that the others gave it."""
    if not isinstance(body, Constant) or value.type.weak:
        return _with(value, value.region, body)
    if body.value == _NEUTRAL.get(value.kind):
        return body
    return _with(value, value.region, explicit_cast(body, value.dtype))


def _with(value: Reduce, region: Region, body: Element) -> Reduce:
    if region is value.region and body is value.body:
        return value
    return Reduce(value.kind, value.index, region, body, value.span)
