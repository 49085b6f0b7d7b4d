"""The intermediate language: what `f.il()` prints, and what one can write by hand.

A program is a function under `@il.program` that runs once on symbolic tensors; `cyclotron.language.il` has
all that it may call.

Examples
--------
>>> @cy.kernel
... def double(x):
...     y = cy.empty_like(x)
...     for i in range(len(x)):
...         y[i] = 2 * x[i]
...     return y
>>> print(double.il())
from cyclotron import il
<BLANKLINE>
@il.program
def double(x):
    y = il.empty_like(x, name='y')
    with il.loop('i', len(x)) as i:
        y[i] = 2 * x[i]
    return il.outputs(y=y)
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cyclotron.kernel import Kernel
from cyclotron.language import il as language

__all__ = [*language.__all__, "program"]


def program(function: Callable[..., Any]) -> Kernel[..., Any]:
    """Make a kernel of a function written in the intermediate language."""
    return Kernel(function, is_il=True)


def __getattr__(name: str) -> Any:
    return getattr(language, name)


def __dir__() -> list[str]:
    return sorted(__all__)
