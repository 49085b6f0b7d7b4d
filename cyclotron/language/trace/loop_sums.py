"""Sums, as which loops are recorded that only add to local variables (`for k in range(n): acc += e`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cyclotron.language.trace.assign import computed
from cyclotron.language.values import broadcasting
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import LazyArray, SymbolicArray, operand
from cyclotron.language.values.broadcasting import Shape
from cyclotron.language.values.dispatch import PartialArray
from cyclotron.language.values.nodes import Apply, Constant, Element, Reduce, accesses, onward
from cyclotron.language.values.operations import add, element, where
from cyclotron.language.values.region import is_empty
from cyclotron.language.values.scalar_type import promote
from cyclotron.language.values.scalars import converted
from cyclotron.language.values.source_span import shape_error, trace_error
from cyclotron.language.values.tensor import SymbolicTensor

_NUMBERS = (Element, int, float, complex, np.generic)


def multiplied(start: Any, product: Any) -> Any:
    """``il.multiplied(s, il.prod(...))``: a product from a start on, in whatever order of whole numbers.

    Raises
    ------
    TraceError
        CYC112 of others: Python multiplies the start by the first term, the result by the next, and so on.
    """
    result = start * product
    kind = np.dtype(getattr(result, "dtype", type(result))).kind
    if kind in "fc" and not (isinstance(start, int) and start == 1):
        raise trace_error(
            "CYC112",
            "a product of floating numbers has a start, by which it is multiplied first",
            help="write a loop, `p = start`, and `p *= ...` in it",
        )
    return result


def loop_sum(
    value: Any,
    total: Any,
    *,
    name: str,
    negative: bool = False,
    renews: Any = False,
    beside: Callable[[], Sequence[Any]] = tuple,
) -> Any:
    """``r = il.added(r, il.sum(...), name="r")``: what a loop of `r += e` makes of a number or an array.

    One of `r = r + e`, which `renews` the name, makes another array; None: in one of two branches. `beside`
    makes the values and sums of the other names that the loop adds to.

    Raises
    ------
    TraceError
        CYC113 if `e`, or what is beside it, reads the array: it may change between the iterations; CYC111 if
        one of two branches changes it, and the other renews the name.
    ShapeError
        CYC122 if data tell whether arrays are added to a number.
    """
    if isinstance(total, int):  # of no arrays
        return value
    if isinstance(total, LazyArray) and total.terms_by_data and total.shape:
        _check_shape(name, operand(value).shape, total.shape)
    is_array = isinstance(value, SymbolicArray) and not isinstance(value, LazyArray)
    is_array = is_array and not (isinstance(value, SymbolicTensor) and value.is_number)
    if is_array and renews is None:
        message = f"`{name}` is another array after one branch, and changed in place in the other"
        raise trace_error("CYC111", message, help=f"write `{name} += ...` in both")
    if renews or not is_array:
        if _changes_nothing(total, value):
            return value
        total = _as_added(total, value, negative)
        made = _in_order(value - total if negative else add(value, total, starts=True))
        return computed(made, name=name)
    view = value.whole()
    assert view is not None
    sign = "-=" if negative else "+="
    if any(_reads(one, view.tensor) for one in (total, *beside())):
        raise trace_error(
            "CYC113",
            f"a loop adds to `{name}`, which is a part of `{view.tensor.name}`, and reads that array too",
            help=f"write `{name}[...] {sign} ...` in the loop, which changes the array in each iteration",
        )
    return value.accumulated(total, negative=negative, is_loop=True)


def _reads(value: Any, tensor: SymbolicTensor) -> bool:
    """Return whether a number or an array is made of elements of a tensor."""
    if not isinstance(value, (SymbolicArray, Element)):
        return False
    array = operand(value)
    return any(access.tensor is tensor for access in accesses(array.at([Affine({}, 0)] * array.ndim)))


def _check_shape(name: str, before: Shape, after: Shape) -> None:
    """Check that what data may add, or not, leaves the shape as it is."""
    if len(before) < len(after) or not all(
        broadcasting.same(one, other)
        for one, other in zip(before, broadcasting.broadcast([before, after]), strict=True)
    ):
        raise shape_error(
            "CYC122",
            f"`{name}` has shape {broadcasting.text(before)} before the loop, and an array of shape"
            f" {broadcasting.text(after)} is added where data tell",
            help=f"make it an array of that shape before the loop, e.g. `{name} = cy.full_like(x, {name})`",
        )


def _changes_nothing(total: Any, value: Any) -> bool:
    """Return whether a sum has no terms, and 0 would make another number of the value."""
    part = total
    while isinstance(part, Apply) and len(part.operands) == 1:
        part = part.operands[0]
    if not isinstance(part, Reduce) or not all(map(is_empty, part.region)) or not isinstance(value, _NUMBERS):
        return False
    first = element(value)
    dtype, _ = promote("add", first.type, total.type)
    return dtype != first.dtype or (isinstance(first, Constant) and repr(first.value) == "-0.0")


def _in_order(result: Any) -> Any:
    if isinstance(result, LazyArray):
        return LazyArray(
            result.shape, result.dtype_name, lambda at: onward(result.at(at)), (result,), label=result.label
        )
    return onward(result) if isinstance(result, Element) else result


def _truths(term: Element) -> Element | None:
    """The truth value that a sum counts: NumPy's, added to another one, is a truth value again."""
    if term.counts and isinstance(term, Apply):
        return term.operands[0]
    if not isinstance(term, Apply) or term.op != "where":
        return None
    test, then, _ = term.operands
    inner = _truths(then)
    return None if inner is None else where(test, inner, False)


def _as_added(total: Any, value: Any, negative: bool) -> Any:
    """A sum in the dtype in which Python adds its terms to the value, one by one."""
    if isinstance(total, LazyArray) and total.summed is not None and total.term_type is not None:
        dtype, _ = promote("add", operand(value).type, total.term_type)
        return total if dtype == total.dtype_name else total.summed(dtype)
    if not isinstance(total, Reduce):
        return total
    if not isinstance(value, (*_NUMBERS, SymbolicArray)):
        return total
    first = operand(value) if isinstance(value, SymbolicArray) else element(value)
    truths = _truths(total.body)
    may_be_minus_zero = repr(first.value) == "-0.0" if isinstance(first, Constant) else first.type.kind == "f"
    if truths is not None and first.type.dtype == "bool" and not (first.type.weak and truths.type.weak):
        return Reduce("sum", total.index, total.region, truths, total.span)
    dtype, _ = promote("add", first.type, total.type if truths is None else truths.type)
    total = total if total.type.weak or dtype == total.dtype else _summed_in(total, dtype)
    return _without_zeros(total) if may_be_minus_zero and not negative else total


def _without_zeros(total: Reduce) -> Reduce:
    """A sum to which terms that data leave out add -0.0, which changes no number, instead of 0."""
    body = total.body
    if isinstance(body, Reduce):
        body = _without_zeros(body)
    elif isinstance(body, Apply):
        chosen = body.operands[0] if body.op == f"to_{body.dtype}" else body
        if isinstance(chosen, Apply) and chosen.op == "where":
            test, then, other = chosen.operands
            if isinstance(other, Constant) and not other.value:
                body = where(test, converted(then, body.dtype), -0.0)
    return Reduce(total.kind, total.index, total.region, body, total.span)


def _summed_in(total: Reduce, dtype: str) -> Reduce:
    body = total.body
    body = _summed_in(body, dtype) if isinstance(body, Reduce) else converted(body, dtype)
    return Reduce(total.kind, total.index, total.region, body, total.span)


def changed(value: Any, *, name: str) -> Any:
    """``il.changed(u, name="u")[...] += e``: an array that a loop changes in place.

    Raises
    ------
    TraceError
        CYC111 if it is a number.
    """
    if isinstance(value, (SymbolicArray, PartialArray)):
        return value
    raise trace_error(
        "CYC111",
        f"`{name}` is no array before the loop, which changes it by arrays",
        help=f"make it an array before the loop, e.g. `{name} = cy.full_like(x, {name})`",
    )
