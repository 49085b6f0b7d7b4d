"""Figures of this machine: their date, the load they were measured under, and when they are renewed."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest

import cyclotron as cy
from cyclotron.explore import calibration

RATES = {name: {64: 1e9} for name in ("matmul", "solve_triangular", "cholesky")}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """A machine whose figures take no time to measure, and how often they were."""
    state = {"times": 0, "load": 1.0}

    def figures(dtype):
        state["times"] += 1
        date = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return {"rates": RATES, "handed": 1e-10, "date": date, "load": state["load"]}

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(calibration, "_figures", figures)
    monkeypatch.setattr(calibration, "_message_times", lambda dtype: (1e-6, 1e-9))
    for name in ("_known", "_differing"):
        monkeypatch.setattr(calibration, name, {})
    monkeypatch.setattr(calibration, "_dropped", set())
    return state


def forget_and_age(monkeypatch, tmp_path, **age):
    """As in another process, after some time."""
    monkeypatch.setattr(calibration, "_known", {})
    (file,) = tmp_path.rglob("calibration-float64-*.json")
    found = json.loads(file.read_text())
    found["date"] = (datetime.now(timezone.utc) - timedelta(**age)).isoformat(timespec="seconds")
    file.write_text(json.dumps(found))


def test_figures_are_dated(measured):
    found = cy.calibrate()
    age = datetime.now(timezone.utc) - datetime.fromisoformat(found.date)
    assert timedelta(seconds=-2) < age < timedelta(minutes=5)
    assert f"measured {found.date}" in str(found)
    assert found.handed(1000) == pytest.approx(8000 * 1e-10)


def test_old_figures_of_an_idle_machine_are_kept(measured, monkeypatch, tmp_path):
    cy.calibrate()
    forget_and_age(monkeypatch, tmp_path, days=400)
    cy.calibrate()
    assert measured["times"] == 1


def test_figures_of_a_busy_machine_are_measured_again(measured, monkeypatch, tmp_path):
    measured["load"] = 3.0
    assert cy.calibrate().load == 3.0
    forget_and_age(monkeypatch, tmp_path, minutes=5)
    cy.calibrate()
    assert measured["times"] == 1  # it would be as busy now
    measured["load"] = 1.0
    forget_and_age(monkeypatch, tmp_path, minutes=15)
    assert cy.calibrate().load == 1.0
    assert measured["times"] == 2


def test_runs_that_differ_from_the_model_drop_old_figures(measured, monkeypatch, tmp_path):
    cy.calibrate()
    forget_and_age(monkeypatch, tmp_path, hours=2)
    first = cy.calibrate()
    for seconds in (0.016, 0.016, 0.012, 0.016, 0.016):  # not three in turn
        assert not calibration.observe("float64", 0.01, seconds)
    assert calibration.observe("float64", 0.01, 0.016)
    assert not list(tmp_path.rglob("calibration-float64-*.json"))
    assert cy.calibrate() is first  # no run of this process waits for new ones
    assert not calibration.observe("float64", 0.01, 0.03)
    assert measured["times"] == 1
    monkeypatch.setattr(calibration, "_known", {})  # the next one's first plan does
    cy.calibrate()
    assert measured["times"] == 2


def test_young_figures_are_kept(measured, tmp_path):
    """It is the model that differs then."""
    cy.calibrate()
    assert not any(calibration.observe("float64", 0.01, 0.03) for _ in range(9))
    assert len(list(tmp_path.rglob("calibration-float64-*.json"))) == 1


def test_faster_runs_count_and_short_ones_do_not(measured, monkeypatch, tmp_path):
    cy.calibrate()
    forget_and_age(monkeypatch, tmp_path, hours=2)
    for _ in range(9):
        assert not calibration.observe("float64", 1e-4, 1e-3)
        assert not calibration.observe("int64", 1.0, 9.0)
    assert [calibration.observe("float64", 0.1, 0.06) for _ in range(3)] == [False, False, True]


def test_damaged_files_are_measured_again(measured, monkeypatch, tmp_path):
    cy.calibrate()
    (file,) = tmp_path.rglob("calibration-float64-*.json")
    file.write_text(file.read_text().replace('"date": "', '"date": "x'))
    monkeypatch.setattr(calibration, "_known", {})
    cy.calibrate()
    assert measured["times"] == 2


@pytest.mark.parametrize("waits", [3, 8, 1000])
def test_messages_take_time_however_busy_the_cores_are(monkeypatch, waits):
    """Hops that took less than none are measured again, while they seem to."""
    runs = []

    def timed(program, *, backend, deal):
        apart = deal.grid[0] == 2
        runs.append(apart)
        rank = {"seconds": 1e-4 if apart else 2e-4 if len(runs) < waits else 1e-5}
        return SimpleNamespace(profile=[rank])

    monkeypatch.setattr(calibration, "run", timed)
    monkeypatch.setattr(calibration.mpi, "current", lambda: SimpleNamespace(ranks=2))
    latency, _ = calibration._message_times("float32")
    assert latency > 0
    assert len(runs) <= 2 * 2 * calibration._MOST_RUNS
