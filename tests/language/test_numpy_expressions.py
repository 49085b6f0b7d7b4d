"""The page of NumPy's introductions in kernels is true, row by row."""

import pytest
from numpy_expressions import expressions
from numpy_outcomes import PAGE, row

ROWS = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
EXPRESSIONS = list(expressions())


def test_the_page_has_all_expressions():
    assert len(ROWS) == len(EXPRESSIONS) >= 370


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("one", "written"), [*zip(EXPRESSIONS, ROWS, strict=False)], ids=[one.text for one in EXPRESSIONS]
)
def test_row(one, written):
    assert row(one) == written, "see tests/language/numpy_outcomes.py"
