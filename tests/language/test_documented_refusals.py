"""The table in docs/language.md of what NumPy runs and kernels refuse: each row is so."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

TEXT = (Path(__file__).parents[2] / "docs" / "language.md").read_text()
ROWS = re.findall(r"^\| (CYC\d{3}) \|", TEXT, re.MULTILINE)


@cy.kernel(max_steps=8)
def dtype_of_data(x):
    s = 1.0
    while s > x[0]:
        x -= 1
        s = cy.max(x)
    return x * s


def shape_of_data(x):
    y = x * 1
    if x[0] > 5:
        y = x[1:] * 1
    return y


def branch_not_taken(x):
    y = x > 0
    if x[0] > 5:
        y = -y
    return y


def chosen_terms(x):
    return x * max(x[k] for k in range(4) if x[k] > 0)


def chosen_array(x):
    y = x * 2
    z = y if x[0] > 0 else x
    y[0] = 7
    return z, y


def from_the_end(x):
    for i in range(4):
        x[i] += x[i - 1]
    return x


CASES: dict[str, Callable[..., Any]] = {
    "CYC120": dtype_of_data,
    "CYC122": shape_of_data,
    "CYC121": branch_not_taken,
    "CYC104": chosen_terms,
    "CYC111": chosen_array,
    "CYC203": from_the_end,
}


def test_the_table_has_these_rows() -> None:
    assert list(CASES) == ROWS


@pytest.mark.parametrize("code", CASES)
def test_numpy_runs_it_and_a_kernel_does_not(code: str) -> None:
    function = CASES[code]
    kernel = function if isinstance(function, cy.Kernel) else cy.kernel(function)
    x = np.array([3, 1, 4, 2], dtype="float32")
    if code != "CYC120":
        function(x.copy())
    with pytest.raises(cy.CyclotronError) as refused:
        kernel.compile(x)
    assert refused.value.code == code
