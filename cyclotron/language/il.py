"""The intermediate language: what `f.il()` prints, and what one can write by hand.

A program is a function under `@il.program` that runs once on symbolic tensors. `with il.loop(...)` and
`with il.where(...)` open domains, assignments to elements are equations, `il.sum` and others are reductions::

    @il.program
    def matmul(A, B):
        C = il.empty((A.shape[0], B.shape[1]), name="C")
        with il.loop("i", A.shape[0]) as i:
            with il.loop("j", B.shape[1]) as j:
                C[i, j] = il.sum("k", 0, A.shape[1], lambda k: A[i, k] * B[k, j])
        return il.outputs(C=C)

Its names stay while those of the modules behind them change, since users have files of what `f.il()` printed.
"""

# ruff: noqa: F401 - what is imported is the language
from __future__ import annotations

from cyclotron.language.functions.creation import (
    empty,
    empty_like,
    full,
    full_like,
    made_by_numpy,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from cyclotron.language.functions.einsum import einsum
from cyclotron.language.functions.grids import c_, converted_by_numpy, own, r_, row
from cyclotron.language.functions.indexing import change_at, updated
from cyclotron.language.syntax.annotations import typed
from cyclotron.language.trace.assign import array, computed, shared
from cyclotron.language.trace.branches import branches, unconditional
from cyclotron.language.trace.conditions import every, no, not_, some
from cyclotron.language.trace.conversions import (
    converted,
    host_items,
    is_instance,
    is_scalar,
    known,
    of_numpy,
    steady,
)
from cyclotron.language.trace.early_exit import bound_reached as unfinished
from cyclotron.language.trace.early_exit import break_if as stop
from cyclotron.language.trace.early_exit import counted
from cyclotron.language.trace.early_exit import loop_flag as running
from cyclotron.language.trace.last_values import later
from cyclotron.language.trace.loop_carried import as_it_was
from cyclotron.language.trace.loop_carried import loop_carried as kept
from cyclotron.language.trace.loop_carried import update_carried as keep
from cyclotron.language.trace.loop_extremes import loop_extreme as extreme
from cyclotron.language.trace.loop_parts import loop_parts as parts
from cyclotron.language.trace.loop_sums import changed, multiplied
from cyclotron.language.trace.loop_sums import loop_sum as added
from cyclotron.language.trace.loops import (
    bound,
    going_on,
    host_range,
    host_step,
    items,
    loop,
    otherwise,
    places,
    rows,
    unrolled,
    where,
)
from cyclotron.language.trace.tests_by_number import as_data
from cyclotron.language.trace.values import (
    absolute,
    all,
    all_of,
    and_,
    any,
    any_of,
    arctan2,
    choose,
    cos,
    cosh,
    exp,
    expm1,
    hypot,
    is_finite,
    is_nan,
    log,
    log1p,
    max,
    maximum,
    min,
    minimum,
    one_of,
    or_,
    outputs,
    power,
    prod,
    select,
    sin,
    sinh,
    sqrt,
    sum,
    tanh,
    term,
)
from cyclotron.language.trace.with_blocks import fuse
from cyclotron.language.values.host_functions import outer as captured

__all__ = [name for name in dir() if not name.startswith("_") and name != "annotations"]
