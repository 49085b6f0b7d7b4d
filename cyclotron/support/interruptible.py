"""Calls of LAPACK that Ctrl-C leaves at once."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

_LARGE = 1 << 16  # elements; of fewer a factorisation takes some hundredths of a second
_SECONDS_BETWEEN_LOOKS = 0.01


def interruptibly(function: Callable[..., Any], *operands: Any) -> Any:
    """Return what a function makes of arrays; of large ones on a thread that no interrupt waits for.

    The thread goes on alone then, and its result is dropped; the process ends after it.

    Examples
    --------
    >>> interruptibly(np.linalg.inv, np.array([[2.0]])).tolist()
    [[0.5]]
    """
    size = max((operand.size for operand in operands if isinstance(operand, np.ndarray)), default=0)
    if size < _LARGE or threading.current_thread() is not threading.main_thread():
        return function(*operands)
    results: list[Any] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()  # NumPy's errstate

    def work() -> None:
        try:
            results.append(context.run(function, *operands))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        thread.join(_SECONDS_BETWEEN_LOOKS)
    for error in errors:
        raise error
    return results[0]
