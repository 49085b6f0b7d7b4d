"""The report of what is installed: `show_config` and `python -m cyclotron`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import cyclotron as cy
from cyclotron.support import environment as config


def test_show_config_prints_and_returns_versions(capsys):
    found = cy.show_config()
    printed = capsys.readouterr().out
    assert found["cyclotron"] == cy.__version__
    assert found["threads"] >= 1
    assert "isl" in found["isl"] or found["isl"][0].isdigit()
    for name, value in found.items():
        assert name in printed
        assert ("not found" if value is None else str(value)) in printed


def test_missing_parts_are_none(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(config.importlib.util, "find_spec", lambda _: None)
    found = config.configuration()
    assert found["mpi launcher"] is None
    assert found["mpi"] is None


def test_mpi_library_survives_a_broken_interpreter(monkeypatch):
    monkeypatch.setattr(config.sys, "executable", "/nonexistent/python")
    assert config.mpi_library() is None


def test_doctor_says_what_works():
    run = subprocess.run([sys.executable, "-m", "cyclotron", "doctor"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    for backend in ("numpy", "local", "sim"):
        assert f"{backend:9} works" in run.stdout


def test_doctor_fails_where_a_check_fails(monkeypatch, capsys):
    from cyclotron import doctor

    def broken():
        raise RuntimeError("no luck")

    def missing():
        raise cy.BackendUnavailable("not here", code="CYC722", help="pip install it")

    assert doctor._report("sim", broken) == 1
    assert doctor._report("mpi", missing) == 0
    captured = capsys.readouterr()
    assert "FAILED" in captured.out
    assert "no luck" in captured.err
    assert "pip install it" in captured.out


def test_config_command_and_usage(tmp_path):
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(cy.__file__).parents[1]),
    }
    command = [sys.executable, "-m", "cyclotron"]
    options = {"capture_output": True, "text": True, "cwd": tmp_path, "env": environment}
    run = subprocess.run([*command, "config"], **options)
    assert run.returncode == 0
    assert cy.__version__ in run.stdout
    assert subprocess.run(command, **options).returncode == 2
