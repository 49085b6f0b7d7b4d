"""Tracebacks of errors end in the user's text; CYCLOTRON_FULL_TRACEBACK=1 shows all frames."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import cyclotron as cy

SCRIPT = """
import numpy as np
import cyclotron as cy

def work():
    return cy.load("no such file")

work()
"""
CELL = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell()
shell.colors = "NoColor"
shell.run_cell({script!r})
"""
PACKAGE = str(Path(cy.__file__).parent)


def output(text: str, full: bool) -> str:
    """The text that Python shows of a script that fails, or of a cell of a notebook."""
    environment = {**os.environ, "CYCLOTRON_FULL_TRACEBACK": "1" if full else ""}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(PACKAGE).parent), os.environ.get("PYTHONPATH", "")])
    # Elsewhere than in the sources, which Python would import instead of an installed package.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-"],
            input=text,
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder,
            check=False,
        )
    return done.stderr + done.stdout


@pytest.fixture(params=["script", "notebook"])
def text(request: pytest.FixtureRequest) -> str:
    """The script, alone and as a cell."""
    if request.param == "script":
        return SCRIPT
    pytest.importorskip("IPython")
    return CELL.format(script=SCRIPT)


def test_frames_of_the_user(text: str) -> None:
    """Those of the script, none of the package, and the error."""
    shown = output(text, full=False)
    assert "in work" in shown
    assert "ProgramError: " in shown
    assert "[CYC601]" in shown
    assert PACKAGE not in shown
    assert "IPython" not in shown


def test_all_frames(text: str) -> None:
    """Where they are asked for."""
    shown = output(text, full=True)
    assert "in work" in shown
    assert PACKAGE in shown
    assert "[CYC601]" in shown


def test_only_own_errors() -> None:
    """Other exceptions are shown as always, with the frames of the package."""
    assert PACKAGE in output("import cyclotron as cy; cy.Layout.tile(None, (1,))", full=False)
