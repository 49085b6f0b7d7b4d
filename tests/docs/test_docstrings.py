"""`help()` of every public name has a summary, shapes, errors and an example whose results are compared."""

import doctest
import importlib.util
import inspect
import re
import shutil

import numpy as np
import pytest

import cyclotron as cy

MODULES = {name: getattr(cy, name) for name in ("debug", "machines", "random", "schedules", "linalg")}
OWN = {name: getattr(cy, name) for name in cy.__all__}
NAMES = {name: value for name, value in OWN.items() if value is not getattr(np, name, cy)} | {
    f"{module}.{name}": getattr(value, name) for module, value in MODULES.items() for name in value.__all__
}
# They start ranks, or measure messages between them.
MPI = {"distribute", "Distributed", "calibrate", "Calibration", "linalg.plan", "linalg.Plan", "predict"}
PYTORCH = {"from_torch", "Network"}
SECTION = re.compile(r"^(Parameters|Attributes|Returns|Raises|Examples)\n-+$", re.MULTILINE)


def wanted(value):
    """The sections that the docstring of an object needs."""
    if inspect.ismodule(value) or not callable(value):
        return {"Examples"}
    if isinstance(value, type):
        own = issubclass(value, Exception) and value is not cy.CyclotronError
        return {"Examples"} | (set() if own else {"Parameters or Attributes"})
    signature = inspect.signature(value)
    if inspect.isgeneratorfunction(inspect.unwrap(value)):
        return {"Examples"}
    takes = {"Parameters", "Raises"} if signature.parameters else set()
    return {"Returns", "Examples"} | takes


@pytest.mark.parametrize("name", sorted(NAMES))
def test_help(name):
    text = inspect.getdoc(NAMES[name]) or ""
    summary = text.split("\n\n")[0]
    assert summary.endswith((".", ":")), "the summary is a sentence"
    sections = set(SECTION.findall(text))
    if sections & {"Parameters", "Attributes"}:
        sections.add("Parameters or Attributes")
    assert not wanted(NAMES[name]) - sections


@pytest.mark.parametrize("name", [f"mpi-{name}" if name in MPI else name for name in sorted(NAMES)])
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name.startswith("mpi-") and not (
        importlib.util.find_spec("cyclotron._mpi") and shutil.which("mpirun")
    ):
        pytest.skip("MPI is not installed")
    if name in PYTORCH:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    name = name.removeprefix("mpi-")
    text = inspect.getdoc(NAMES[name]) or ""
    examples = doctest.DocTestParser().get_doctest(text, {"cy": cy, "np": np}, name, name, 0)
    assert any(example.want for example in examples.examples), "an example has a result"
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=said.append)
    assert not outcome.failed, "".join(said)
