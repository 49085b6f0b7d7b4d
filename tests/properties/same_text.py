"""Kernels beside the same text run by NumPy: the oracle of narrow random programs."""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import cyclotron as cy


def indented(lines: Sequence[str]) -> list[str]:
    """The lines, one level further in."""
    return [f"    {line}" for line in lines]


def outcome(text: str, file: str, arguments: Sequence[np.ndarray], *, dtypes: bool = False) -> str:
    """Compare a kernel ``f`` with the same text in NumPy: "same", "refused" or "wraps".

    "Runs on" where results are the same, but a loop goes on to its bound after its end.

    Parameters
    ----------
    text : str
        The text of `f`, which names `cy` only.
    file : str
        A name of its own for the text.
    arguments : sequence of ndarray
        What `f` takes.
    dtypes : bool
        Whether the results have the same dtypes too.
    """
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"cy": np}
    exec(compile(text, file, "exec"), names)
    function = names["f"]
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            expected = function(*(x.copy() for x in arguments))
        except OverflowError:  # wraps around in kernels, as the documentation says
            return "wraps"
        except (IndexError, TypeError, ValueError):  # a place outside, what an array cannot hold
            expected = None
        names["cy"] = cy
        try:
            found = cy.kernel(function)(*(x.copy() for x in arguments))
        except cy.InternalError:
            raise
        except cy.CyclotronError:
            return "refused"
    assert expected is not None, text
    for one, other in zip(found, expected, strict=True):
        assert not dtypes or np.asarray(one).dtype == np.asarray(other).dtype, text
        np.testing.assert_array_equal(one, other, err_msg=f"{text}{arguments}")
    return "runs on" if any("CYC331" in str(one.message) for one in caught) else "same"
