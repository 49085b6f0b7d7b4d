"""Tests of data that indices leave out, as one value for all iterations.

A choice by indices makes two equations. Of what ends a loop they are one too many: its flag would have a
value of each, and a loop ends by one that it has in all of its iterations. So the condition is computed as a
number, and the data are read in the iterations too in which it does not matter what they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from cyclotron.language.trace.conditions import Parted, as_element, truth
from cyclotron.language.trace.trace import active_trace
from cyclotron.language.values.affine import EVERYWHERE, Affine, Constraint, Region, intersection
from cyclotron.language.values.array import held_tensor, operand
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.guarded import while_running
from cyclotron.language.values.nodes import Access, Choose, Element, IndexValue, Reduce, Tensor, accesses
from cyclotron.language.values.operations import apply
from cyclotron.language.values.ranges import range_of_form
from cyclotron.language.values.region import is_empty
from cyclotron.language.values.scalar_type import ScalarType
from cyclotron.language.values.source_span import here

_MOST_CONSTRAINTS = 16  # that are computed in each iteration


def as_number(region: Region) -> Element | None:
    """A region as a test of numbers that indices make; None of all points or none, or for too many."""
    if not region or not all(region) or sum(map(len, region)) > _MOST_CONSTRAINTS:
        return None
    if any(one.form.divisor != 1 for part in region for one in part):
        return None
    parts = [reduce(lambda a, b: apply("logical_and", a, b), map(_holds, part)) for part in region]
    return reduce(lambda a, b: apply("logical_or", a, b), parts)


def _holds(constraint: Constraint) -> Element:
    form = constraint.form
    value: Element = IndexValue(form, ScalarType("int64", True, range_of_form(form)), here())
    if constraint.modulus:
        value = apply("remainder", value, constraint.modulus)
    exact = constraint.equality or constraint.modulus
    return apply("equal" if exact else "greater_equal", value, 0)


def in_all_iterations(test: Element) -> Element:
    """Return a test that is made for some indices only as one for all, where what it reads is there."""
    if not isinstance(test, Parted) or not readable(test.then):
        return test
    made = as_number(test.condition.region)
    if made is None:
        return test
    data = while_running(test.then, made)
    if test.elsewhere:
        return apply("logical_or", apply("logical_not", made), data)
    return apply("logical_and", made, data)


def as_data(test: object) -> Element | Condition | bool:
    """``il.as_data(t % 10 == 9 and m < tol)``: a test of what a branch computes before it ends the loop.

    What is computed at distances, in one iteration of several, is so in all of them.
    """
    value = truth(test)
    condition = value.condition if isinstance(value, Parted) else value
    if isinstance(condition, Condition) and any(c.modulus for part in condition.region for c in part):
        assert not isinstance(value, bool)
        return _of_all(value)
    return value


def readable(value: Element) -> bool:
    """Return whether all that an expression reads is there at all points of the open loops."""
    return _readable(value, active_trace().region())


def _readable(value: Element, region: Region) -> bool:
    if isinstance(value, Access):
        return all(
            _within(form, size, region) for form, size in zip(value.index, value.tensor.shape, strict=False)
        )
    if isinstance(value, Reduce):
        return _readable(value.body, intersection(region, value.region))
    if isinstance(value, Choose):
        elsewhere = value.condition.negated().region
        both = (value.then, value.condition.region), (value.other, elsewhere)
        return all(_readable(part, intersection(region, where)) for part, where in both)
    return all(_readable(part, region) for part in value.operands)


def _within(form: Affine, size: int, region: Region) -> bool:
    beyond = form.times(-1).plus(Affine({}, -1)), form.plus(Affine({}, -size))
    return all(is_empty(part) for one in beyond for part in intersection(region, ((Constraint(one),),)))


def for_all_iterations(test: Element | Condition, held: Sequence[object]) -> tuple[Element, int]:
    """A test with the conditions on indices around it in it, and how many scopes these are.

    They are none where something that is read is not there without them.

    Parameters
    ----------
    test : Element or Condition
        When a statement does something.
    held : sequence
        What it reads but for the test.
    """
    trace = active_trace()
    made = _of_all(test)
    first = len(trace.scopes)
    while trace.scopes[first - 1].index is None and trace.scopes[first - 1].running is None:
        first -= 1
    left = trace.scopes[first:]
    around = as_number(reduce(intersection, (scope.region for scope in left), EVERYWHERE))
    if around is None:
        return made, 0
    del trace.scopes[first:]
    try:
        new = trace.tensors[min(scope.tensors for scope in left) :]
        if not _is_there(made, new) or not all(_is_held(one, new) for one in held):
            return made, 0
        made = _of_all(test)
        return apply("logical_and", around, while_running(made, around)), len(left)
    finally:
        trace.scopes += left


def _of_all(test: Element | Condition) -> Element:
    """A test as one value for all iterations, if it can be."""
    if isinstance(test, Condition):
        made = as_number(test.region)
        return as_element(test) if made is None else made
    return in_all_iterations(test)


def _is_held(held: object, new: Sequence[Tensor]) -> bool:
    value = operand(held)
    tensor = held_tensor(value)
    if tensor is not None:
        return not any(one is tensor for one in new)
    return not value.ndim and _is_there(value.at(()), new)


def _is_there(value: Element, new: Sequence[Tensor]) -> bool:
    """Return whether all that an expression reads is there in all iterations, and no new tensor."""
    return readable(value) and not any(one is access.tensor for access in accesses(value) for one in new)
