"""NumPy as the oracle of kernels: their text, run as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cyclotron as cy


def check_against_numpy(function: Callable[..., Any], *arguments: Any, rtol: float = 0) -> None:
    """Check that a function, as a kernel and in its reference, gives NumPy's dtypes, shapes and values."""
    kernel = cy.kernel(function)
    right = _results(function(*_copies(arguments)))
    for run in (kernel, kernel.reference):
        for found, wanted in zip(_results(run(*_copies(arguments))), right, strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=rtol)


def _copies(arguments: tuple[Any, ...]) -> list[Any]:
    return [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]


def _results(value: Any) -> list[np.ndarray[Any, Any]]:
    return [np.array(one) for one in (value if isinstance(value, tuple) else (value,))]
