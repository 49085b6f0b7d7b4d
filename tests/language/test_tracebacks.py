"""Tracebacks of errors end in the user's text; CYCLOTRON_FULL_TRACEBACK=1 shows all frames."""

import os
import re
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


HANDLED = """
import logging
import traceback
import cyclotron as cy

def work():
    return cy.load("no such file")

try:
    try:
        work()
    except cy.CyclotronError as error:
        raise KeyError("of the user") from error
except KeyError:
    {show}
"""
SCRIPTS = {
    "script": SCRIPT,
    "print_exc": HANDLED.format(show="traceback.print_exc()"),
    "format_exc": HANDLED.format(show="print(traceback.format_exc())"),
    "logging": HANDLED.format(show="logging.exception('it failed')"),
}


@pytest.fixture(params=[*SCRIPTS, "notebook"])
def text(request: pytest.FixtureRequest) -> str:
    """The script, alone and as a cell, and those that handle the error and show it."""
    if request.param in SCRIPTS:
        return SCRIPTS[request.param]
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
    """Those of the package too, on request."""
    shown = output(text, full=True)
    assert "in work" in shown
    assert PACKAGE in shown
    assert "[CYC601]" in shown


@pytest.mark.parametrize(
    "call",
    [
        "cy.Machine(grid=(0,))",  # a dataclass, whose `__init__` is generated text
        "cy.Schedule().space(3)",  # by `dataclasses.replace`
        "dataclasses.replace(cy.Link(), latency=-1)",
        "f(1.0)",  # its text is asked for through `functools`
        "f()",
        "cy.blocked([[1.0]], 'x')",
        "in_thread(cy.Layout, -1)",
    ],
)
def test_nothing_between_the_call_and_the_error(call: str) -> None:
    """Neither frames of Python's own modules nor of text that they generate; those of the user stay."""
    script = f"""
import dataclasses
import threading
import cyclotron as cy

@cy.kernel
def f(x):
    return x

def in_thread(function, *args):
    thread = threading.Thread(target=lambda: function(*args))
    thread.start()
    thread.join()

@dataclasses.dataclass
class OfUser:
    value: int

    def __post_init__(self):
        {call}

OfUser(1)
"""
    frames = re.findall(r"File (.*), line \d+, in (\S+)", output(script, full=False))
    user = [(file, function) for file, function in frames if "threading.py" not in file]
    called = ("<lambda>",) if "in_thread" in call else ("<module>", "__init__", "__post_init__")
    assert user == [('"<string>"' if name == "__init__" else '"<stdin>"', name) for name in called]


def test_only_own_errors() -> None:
    """Other exceptions are shown as always, with the frames of the package."""
    assert PACKAGE in output("import cyclotron as cy; cy.Layout.tile(None, (1,))", full=False)
