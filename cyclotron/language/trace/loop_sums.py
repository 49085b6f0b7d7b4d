"""Sums, as which loops are recorded that only add to local variables (`for k in range(n): acc += e`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import LazyArray, SymbolicArray, operand
from cyclotron.language.values.dispatch import PartialArray
from cyclotron.language.values.nodes import Apply, Element, Reduce, accesses, onward
from cyclotron.language.values.operations import element, where
from cyclotron.language.values.scalar_type import promote
from cyclotron.language.values.scalars import converted
from cyclotron.language.values.source_span import trace_error


def loop_sum(value: Any, total: Any, *, name: str, negative: bool = False) -> Any:
    """``r = il.added(r, il.sum(...), name="r")``: what a loop of `r += e` makes of a number or an array.

    Raises
    ------
    TraceError
        CYC113 if `e` reads the array: it may change between the iterations.
    """
    if isinstance(total, int):  # of no arrays
        return value
    if not isinstance(value, SymbolicArray) or isinstance(value, LazyArray):
        total = _as_added(total, value)
        return _in_order(value - total if negative else value + total)
    view = value.whole()
    assert view is not None
    array = operand(total)
    for access in accesses(array.at([Affine({}, 0)] * array.ndim)):
        if access.tensor is view.tensor:
            sign = "-=" if negative else "+="
            raise trace_error(
                "CYC113",
                f"a loop adds elements of `{view.tensor.name}` to `{name}`, which is a part of it",
                help=f"write `{name}[...] {sign} ...` in the loop, which changes the array in each iteration",
            )
    return value.accumulated(total, negative=negative, is_loop=True)


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


def _as_added(total: Any, value: Any) -> Any:
    """A sum in the dtype in which Python adds its terms to the value, one by one."""
    if not isinstance(total, Reduce):
        return total
    if not isinstance(value, (Element, int, float, complex, np.generic)):
        return total
    first = element(value)
    truths = _truths(total.body) if first.dtype == "bool" else None
    if truths is not None and not (first.type.weak and truths.type.weak):
        return Reduce("sum", total.index, total.region, truths, total.span)
    dtype, _ = promote("add", first.type, total.type)
    return total if total.type.weak or dtype == total.dtype else _summed_in(total, dtype)


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
