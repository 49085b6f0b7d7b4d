"""`help()` of every public name has a summary, shapes, errors and an example whose results are compared."""

import doctest
import importlib.util
import inspect
import re
import shutil

import numpy as np
import pytest

import cyclotron as cy

MODULES = {
    name: getattr(cy, name)
    for name in ("cache", "debug", "fabric", "machines", "random", "schedules", "linalg")
}
OWN = {name: getattr(cy, name) for name in cy.__all__}
NAMES = {name: value for name, value in OWN.items() if value is not getattr(np, name, cy)} | {
    f"{module}.{name}": getattr(value, name) for module, value in MODULES.items() for name in value.__all__
}
# They start ranks, or measure messages between them.
MPI = {"distribute", "Distributed", "calibrate", "Calibration", "linalg.plan", "linalg.Plan", "predict"}
PACKAGES = {"from_torch": "torch", "NeuralNetwork": "torch", "from_onnx": "onnx"}
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
    gives = set() if signature.return_annotation in (None, "None") else {"Returns"}
    return gives | {"Examples"} | takes


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
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name], reason=f"{PACKAGES[name]} is not installed")
    name = name.removeprefix("mpi-")
    text = inspect.getdoc(NAMES[name]) or ""
    examples = doctest.DocTestParser().get_doctest(text, {"cy": cy, "np": np}, name, name, 0)
    assert any(example.want for example in examples.examples), "an example has a result"
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=said.append)
    assert not outcome.failed, "".join(said)


def test_no_name_is_left_out():
    assert set(dir(cy)) == {*cy.__all__, "__version__"}
    for module in MODULES.values():
        shown = {name for name in dir(module) if not name.startswith("__")}
        assert shown == set(module.__all__)


def methods(kind):
    """The public methods of a class, and of kernels those that `dir` shows."""
    for name in dir(cy.kernel(methods) if kind is cy.Kernel else kind):
        if name.startswith("_"):
            continue
        value = inspect.getattr_static(kind, name, None)
        function = inspect.unwrap(getattr(value, "__func__", value))
        if inspect.isfunction(function) and function.__module__.startswith("cyclotron"):
            yield name, function


CLASSES = {
    name: value
    for name, value in OWN.items()
    if isinstance(value, type) and not issubclass(value, Exception) and name in NAMES
}
METHODS = {f"{name}.{own}": function for name, kind in CLASSES.items() for own, function in methods(kind)}
# What runs, sweeps and networks give; each method has an example, which goes on from that of its class.
RESULTS = ("Result", "Sweep", "ScaleSimReport", "NeuralNetwork", "Check", "Proof", "Prediction")
OF_RESULTS = [name for name in METHODS if name.partition(".")[0] in RESULTS]


@pytest.mark.parametrize("name", METHODS)
def test_help_of_methods(name):
    text = inspect.getdoc(METHODS[name]) or ""
    assert text.split("\n\n")[0].endswith((".", ":")), "the summary is a sentence"
    takes = [given for given in inspect.signature(METHODS[name]).parameters if given not in ("self", "cls")]
    sections = set(SECTION.findall(text))
    assert not takes or "Parameters" in sections
    if name in OF_RESULTS:
        assert sections >= {"Raises", "Examples"}


@pytest.mark.parametrize("name", OF_RESULTS)
def test_examples_of_results(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    owner = name.partition(".")[0]
    if owner in PACKAGES:
        pytest.importorskip(PACKAGES[owner], reason=f"{PACKAGES[owner]} is not installed")
    text = f"{inspect.getdoc(OWN[owner])}\n\n{inspect.getdoc(METHODS[name])}"
    examples = doctest.DocTestParser().get_doctest(text, {"cy": cy, "np": np}, name, name, 0)
    said: list[str] = []
    assert not doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=said.append).failed, said
