"""Rates that all machines share, so that plans do not depend on the machine of the test."""

from __future__ import annotations

import pytest

from cyclotron.explore import calibration

RATES = {
    "matmul": {16: 4e9, 64: 20e9, 256: 32e9},
    "solve_triangular": {16: 1e9, 64: 6e9, 256: 20e9},
    "cholesky": {16: 0.5e9, 64: 3e9, 256: 12e9},
}


@pytest.fixture(autouse=True)
def _calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {dtype: calibration.Calibration(dtype, 2, RATES, 5e-6, 1e-10) for dtype in calibration.DTYPES}
    monkeypatch.setattr(calibration, "_known", known)
