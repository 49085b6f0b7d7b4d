"""Reductions over one residue class (`if k % 2 == 0`): their index counts the values of the class."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from cyclotron.language.expressions.affine import Affine, Constraint, Index, Region
from cyclotron.language.expressions.elements import Access, Apply, Choose, Constant, Element, Reduce, rebuild
from cyclotron.language.expressions.index_numbers import IndexValue


def has_residue(region: Region, index: Index) -> bool:
    """Whether a region has a constraint on a residue of a form with that index."""
    return any(c.modulus and index in c.form.terms for conjunction in region for c in conjunction)


def along(value: Reduce) -> Reduce:
    """A reduction over one residue class of its index, as one over an index that counts its values."""
    while len(value.region) == 1:
        constraint = next((c for c in value.region[0] if c.modulus and value.index in c.form.terms), None)
        new = Index(value.index.name, value.index.span)
        form = None if constraint is None else _solved(constraint, value.index, new)
        if form is None:
            break
        values = {value.index: form}
        region = (tuple(c.substitute(values) for c in value.region[0] if c is not constraint),)
        value = Reduce(value.kind, new, region, substitute(value.body, values), value.span)
    return value


def substitute(value: Element, values: dict[Index, Affine]) -> Element:
    """Replace indices by affine forms in an expression; what is shared stays shared."""
    return changed(value, lambda form: form.substitute(values))


def changed(value: Element, change: Callable[[Affine], Affine]) -> Element:
    """Replace every form in an expression; what is shared stays shared."""
    return _Change(change).of(value)


class _Change:
    def __init__(self, change: Callable[[Affine], Affine]) -> None:
        self._change = change
        self._known: dict[int, tuple[Element, Element]] = {}  # with the original, so that its id stays its

    def of(self, value: Element) -> Element:
        if id(value) not in self._known:
            self._known[id(value)] = (value, self._new(value))
        return self._known[id(value)][1]

    def _new(self, value: Element) -> Element:
        if isinstance(value, Constant):
            return value
        if isinstance(value, IndexValue):
            return IndexValue(self._change(value.form), value.dtype, value.span)
        if isinstance(value, Access):
            return replace(value, index=tuple(self._change(form) for form in value.index))
        operands = [self.of(operand) for operand in value.operands]
        if isinstance(value, Reduce):
            return Reduce(value.kind, value.index, self._region(value.region), operands[0], value.span)
        if isinstance(value, Choose):
            condition = type(value.condition)(self._region(value.condition.region))
            return Choose(condition, operands[0], operands[1], value.span)
        assert isinstance(value, Apply)
        return rebuild(value, operands)

    def _region(self, region: Region) -> Region:
        return tuple(tuple(replace(c, form=self._change(c.form)) for c in part) for part in region)


def _reduced(constraint: Constraint) -> Constraint | None:
    """The constraint with the least modulus and coefficients; None where it never holds."""
    modulus = constraint.modulus
    terms = {index: factor % modulus for index, factor in constraint.form.terms.items()}
    divisor = math.gcd(modulus, *terms.values())
    if constraint.form.constant % divisor:
        return None
    form = Affine(terms, constraint.form.constant % modulus)
    reduced = Affine({i: f // divisor for i, f in form.terms.items()}, form.constant // divisor)
    return Constraint(reduced, modulus=modulus // divisor)


def _solved(constraint: Constraint, index: Index, new: Index) -> Affine | None:
    """An index as a multiple of a new one plus other indices; None where it is not that."""
    simple = _reduced(constraint)
    if simple is None:
        return None
    modulus, factor = simple.modulus, simple.form.terms.get(index, 0)
    if not factor or math.gcd(factor, modulus) != 1:
        return None
    inverse = pow(factor, -1, modulus)
    # Of the equal forms the one whose new index is not negative where the others are not.
    terms = {i: -(inverse * f % modulus) for i, f in simple.form.terms.items() if i is not index}
    return Affine({**terms, new: modulus}, -inverse * simple.form.constant % modulus)
