"""The tables of what of Python and NumPy is accepted hold, row by row."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import cyclotron as cy

PAGE = Path(__file__).resolve().parents[2] / "docs/python-and-numpy.md"
ROWS = re.findall(r"^\| `(.*)` \| (as NumPy|CYC\d{3}) \|$", PAGE.read_text(), re.MULTILINE)
X = np.array([0.5, 1.0, 2.0, 3.5])
ARGUMENTS = X, np.arange(16.0).reshape(4, 4), X > 1, np.array([2, 0, 3, 1])


def kernel(text, folder):
    body = text.replace("; ", "\n    ") if "return " in text else f"return {text}"
    path = folder / "kernel.py"
    path.write_text(
        f"import numpy as np\n\nimport cyclotron as cy\n\n\n@cy.kernel\ndef f(x, A, t, n):\n    {body}\n"
    )
    return runpy.run_path(str(path))["f"]


def test_the_tables_were_read():
    assert len(ROWS) >= 45
    assert {outcome for _, outcome in ROWS} > {"as NumPy", "CYC105"}


@pytest.mark.parametrize(("text", "outcome"), ROWS, ids=[text for text, _ in ROWS])
def test_row(text, outcome, tmp_path):
    f = kernel(text, tmp_path)
    if outcome == "as NumPy":
        result = cy.run(f.compile(*ARGUMENTS), backend="sim").output
        expected = np.asarray(f.reference(*ARGUMENTS))
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=1e-6)
    else:
        with pytest.raises(cy.CyclotronError) as caught:
            f.compile(*ARGUMENTS)
        assert caught.value.code == outcome
