"""`cy.debug`: values inside kernels, printed.

Examples
--------
>>> @cy.kernel
... def f(x):
...     y = cy.zeros_like(x)
...     for i in range(len(x)):
...         y[i] = 2 * x[i]
...         cy.debug.print("y[{}] = {}", i, y[i])
...     return y
>>> f(np.array([1.0, 2.0])).tolist()
y[0] = 2.0
y[1] = 4.0
[2.0, 4.0]
"""

from __future__ import annotations

import builtins
from typing import Any

from cyclotron.language.trace import prints
from cyclotron.language.trace.trace import traced
from cyclotron.language.values.numpy_warnings import LOOK

__all__ = ["print"]


def __dir__() -> list[str]:
    return __all__


def print(text: str, *values: Any) -> None:
    """Print a line with values of the kernel, at each point of the loops around the call.

    The values are outputs of the program, which a run prints when it ends and drops: in the order of Python,
    on each backend, at most 1,000 lines. Recording them takes memory and time, and may change how the program
    is placed.

    Parameters
    ----------
    text : str
        With a pair of braces for each value, as of `str.format`.
    *values : element, index, number or array
        What stands for the braces; arrays outside of loops only.

    Returns
    -------
    None

    Raises
    ------
    TraceError
        If an array is printed in a loop (CYC105).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     s = cy.sum(x)
    ...     cy.debug.print("the sum is {}", s)
    ...     return x / s
    >>> f(np.array([1.0, 3.0])).tolist()
    the sum is 4.0
    [0.25, 0.75]
    """
    if traced():
        prints.record(text, values)
    elif LOOK.get() is None:
        builtins.print(text.format(*values))
