"""Output of the data of kernels, `cy.debug.print`: outputs of a program, in the order of the text."""

from __future__ import annotations

import json
from typing import NamedTuple

from cyclotron.language.trace.trace import active_trace
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import materialized, operand
from cyclotron.language.values.broadcasting import whole_numbers
from cyclotron.language.values.nodes import Access, Constant
from cyclotron.language.values.operations import apply
from cyclotron.language.values.region import extent
from cyclotron.language.values.source_span import here, trace_error

_PREFIX = "printed_"


class Printed(NamedTuple):
    """An output that is a part of what a call prints.

    Attributes
    ----------
    text : str
        With a pair of braces for each value, as of `str.format`.
    orders : list of int
        The places in the text of the loops around the call, outermost first, and of the call.
    first : list of int
        The least index of each loop, where the first axes of the output begin.
    part : int
        Which value it is; -1 for the truth values that tell where the call was reached.
    """

    text: str
    orders: list[int]
    first: list[int]
    part: int


def printed_by(name: str) -> Printed | None:
    """Return what the output of a name is of what a kernel prints; None of other outputs."""
    if not name.startswith(_PREFIX):
        return None
    return Printed(*json.loads(bytes.fromhex(name.removeprefix(_PREFIX))))


def record(text: str, values: tuple[object, ...]) -> None:
    """Keep the values that a call prints at each point of the loops around it, as outputs."""
    trace = active_trace()
    found = [extent(trace.region(), index) for index in trace.indices()]
    if any(one is None for one in found):
        return  # it is never reached
    bounds = [one for one in found if one is not None]
    orders = [*(scope.order for scope in trace.scopes if scope.index), trace.held]
    forms = [Affine({i: 1}, -low) for i, (low, _) in zip(trace.indices(), bounds, strict=True)]
    sizes = tuple(high - low + 1 for low, high in bounds)
    runs = trace.guard()  # in a loop that may have ended, or a branch that data choose
    for part, value in enumerate((True, *values), -1):
        whole = materialized(operand(value))
        shape = whole_numbers(whole.shape, "what is printed")
        if shape and sizes:
            raise trace_error(
                "CYC105",
                f"an array of shape {shape} is printed in a loop",
                help="print its elements, `cy.debug.print('{} {}', i, x[i])`, or the array after the loop",
            )
        key = Printed(text, orders, [low for low, _ in bounds], part)
        name = _PREFIX + json.dumps(key, separators=(",", ":")).encode().hex()
        words = "what is printed"
        kept = trace.declare(name, sizes + shape, None, whole.dtype_name, 0, anywhere=True, variable=words)
        if shape:
            kept[...] = whole
        else:
            told = whole.at(())
            if runs is not None:  # zeros show that a loop needs none of its iterations after its end
                told = apply("where", Access(runs, (), here()), told, Constant(kept.start, here()))
            trace.assign(kept, tuple(forms), told)
        trace.prints.append(kept)
