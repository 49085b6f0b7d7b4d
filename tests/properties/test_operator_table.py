"""All operators and functions of elements are NumPy's on all dtypes and pairs, but for DEVIATIONS."""

from __future__ import annotations

import numpy as np
import operator_table
import pytest
from numpy_values import NARROW

pytestmark = pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="numbers have no dtype")


@pytest.mark.timeout(600)
def test_operators_of_narrow_types_are_those_of_numpy() -> None:
    cells = operator_table.table(NARROW)
    assert len(cells) > 5_000
    differ = [f"{c.operator} of {c.dtypes}: {c.differs}" for c in cells if c.differs and not c.is_on_purpose]
    assert not differ, f"{len(differ)} cells\n" + "\n".join(differ[:40])


@pytest.mark.timeout(600)
@pytest.mark.skipif(not operator_table.ADDED, reason="ml_dtypes is not installed")
def test_operators_of_added_floats_are_those_of_numpy() -> None:
    cells = operator_table.table(operator_table.ADDED)
    assert len(cells) > 2_500
    differ = [f"{c.operator} of {c.dtypes}: {c.differs}" for c in cells if c.differs and not c.is_on_purpose]
    assert not differ, f"{len(differ)} cells\n" + "\n".join(differ[:40])


@pytest.mark.timeout(600)
def test_operators_are_those_of_numpy() -> None:
    cells = operator_table.table()
    assert len(cells) > 10_000
    differ = [f"{c.operator} of {c.dtypes}: {c.differs}" for c in cells if c.differs and not c.is_on_purpose]
    assert not differ, f"{len(differ)} cells\n" + "\n".join(differ[:40])
    others = [*operator_table.table(NARROW), *operator_table.table(operator_table.ADDED)]
    seen = {cell.deviation for cell in [*cells, *others] if cell.differs}
    known = {one for one in operator_table.DEVIATIONS if operator_table.ADDED or "float8" not in one.dtypes}
    assert seen >= {*known, *operator_table.OPEN}, "some deviations are none any more: take them out"
