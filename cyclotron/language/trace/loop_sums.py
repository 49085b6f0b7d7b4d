"""What loops that only add to local variables (`for k in range(n): acc += e`) record: sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cyclotron.errors import TraceError
from cyclotron.language.arrays.elementwise import operand
from cyclotron.language.arrays.whole import Expression, Whole
from cyclotron.language.expressions.affine import Affine
from cyclotron.language.expressions.arithmetic import Part
from cyclotron.language.expressions.dtypes import number_of
from cyclotron.language.expressions.elements import Element, Reduce, element
from cyclotron.language.expressions.position import here
from cyclotron.language.expressions.promotion import converted, promoted
from cyclotron.language.recording.trace import accesses

if TYPE_CHECKING:
    pass


def added(value: Any, total: Any, *, name: str, negative: bool = False) -> Any:
    """``r = il.added(r, il.sum(...), name="r")``: what a loop of `r += e` makes of a number or an array.

    Raises
    ------
    TraceError
        CYC113 if `e` reads the array: it may change between the iterations.
    """
    if not isinstance(value, Whole) or isinstance(value, Expression):
        total = _as_added(total, value)
        return value - total if negative else value + total
    view = value.whole()
    assert view is not None
    array = operand(total)
    for access in accesses(array.at([Affine({}, 0)] * array.ndim)):
        if access.tensor is view.tensor:
            sign = "-=" if negative else "+="
            raise TraceError(
                f"a loop adds elements of `{view.tensor.name}` to `{name}`, which is a part of it",
                code="CYC113",
                span=here(),
                help=f"write `{name}[...] {sign} ...` in the loop, which changes the array in each iteration",
            )
    return value.grown(total, negative=negative)


def _as_added(total: Any, value: Any) -> Any:
    """A sum in the dtype in which Python adds its terms to the value, one by one."""
    if not isinstance(total, Reduce) or total.dtype is None:
        return total
    if not isinstance(value, (Element, int, float, complex, np.generic)):
        return total
    first = element(value)
    number = number_of(first)
    given = first.dtype if number is None else number
    assert given is not None
    dtype, _ = promoted("add", [given, total.dtype])
    return total if dtype == total.dtype else _summed_in(total, dtype)


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
    if isinstance(value, (Whole, Part)):
        return value
    raise TraceError(
        f"`{name}` is no array before the loop, which changes it by arrays",
        code="CYC111",
        span=here(),
        help=f"make it an array before the loop, e.g. `{name} = cy.full_like(x, {name})`",
    )
