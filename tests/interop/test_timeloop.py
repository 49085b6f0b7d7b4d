"""Kernels made of Timeloop's problems compute what their projections say."""

import itertools
import json
import math
import sys

import numpy as np
import pytest

import cyclotron as cy


def problem(dimensions, spaces, instance, coefficients=(), name="problem", dash="_"):
    """A problem; `spaces` by name, the last one is written."""
    entries = [{"name": space, "projection": projection} for space, projection in spaces.items()]
    entries[-1][f"read{dash}write"] = True
    shape = {"name": name, "dimensions": dimensions, f"data{dash}spaces": entries}
    shape["coefficients"] = [{"name": key, "default": 1} for key in coefficients]
    return {"problem": {"version": 0.4, "shape": shape, "instance": instance}}


CONVOLUTION = problem(
    ["R", "S", "P", "Q", "C", "K", "N"],
    {
        "Weights": [[["C"]], [["K"]], [["R"]], [["S"]]],
        "Inputs": [[["N"]], [["C"]], [["R", "Wdilation"], ["P", "Wstride"]], [["S"], ["Q", "Hstride"]]],
        "Outputs": [[["N"]], [["K"]], [["Q"]], [["P"]]],
    },
    {"C": 2, "K": 3, "R": 3, "S": 2, "P": 4, "Q": 3, "N": 1, "Wstride": 2, "Wdilation": 3, "W": 99},
    ["Wstride", "Hstride", "Wdilation"],
    "CNN-Layer",
    "-",
)
PROBLEMS = {
    "convolution": CONVOLUTION,
    "product": problem(
        ["M", "N", "K"], {"A": ["M", "K"], "B": ["N", "K"], "Z": ["M", "N"]}, {"M": 3, "N": 4, "K": 5}
    ),
    "three-factors": problem(
        ["I", "J", "K", "L"],
        {"A": ["I", "K", "L"], "B": ["K", "J"], "C": [["L"], ["J"]], "D": ["I", "J"]},
        {"I": 3, "J": 2, "K": 4, "L": 3},
    ),
    "elementwise": problem(["M"], {"A": ["M"], "B": ["M"], "Z": ["M"]}, {"M": 5}),
}


def brute_force(document, inputs):
    """Every point of the problem, with the terms of its projections added up: no code of the package."""
    stated = document["problem"]
    shape, instance = stated["shape"], stated["instance"]
    spaces = shape.get("data_spaces") or shape["data-spaces"]
    coefficients = {c["name"]: instance.get(c["name"], c["default"]) for c in shape["coefficients"]}

    def subscripts(space, point):
        result = []
        for axis in space["projection"]:
            terms = [[axis]] if isinstance(axis, str) else [[t] if isinstance(t, str) else t for t in axis]
            result.append(
                sum(point[term[0]] * math.prod(coefficients[c] for c in term[1:]) for term in terms)
            )
        return tuple(result)

    values = {}
    for indices in itertools.product(*(range(instance[d]) for d in shape["dimensions"])):
        point = dict(zip(shape["dimensions"], indices, strict=True))
        term = math.prod(
            array[subscripts(space, point)] for space, array in zip(spaces, inputs, strict=False)
        )
        at = subscripts(spaces[-1], point)
        values[at] = values.get(at, 0) + term
    result = np.zeros(tuple(map(max, zip(*((i + 1 for i in at) for at in values), strict=True))))
    for at, value in values.items():
        result[at] = value
    return result


@pytest.mark.parametrize("name", PROBLEMS)
def test_values(name):
    layer = cy.from_timeloop(PROBLEMS[name])
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-4, 5, spec.shape).astype(float) for spec in layer.arguments.values()]
    expected = brute_force(PROBLEMS[name], inputs)
    assert layer.output_shape == expected.shape
    assert np.array_equal(layer.kernel.reference(*inputs), expected)
    result = cy.run(layer.compile(machine=cy.Machine(grid=(4, 4))), *inputs, backend="sim")
    assert np.array_equal(result.output, expected)
    assert layer.multiply_adds == math.prod(
        PROBLEMS[name]["problem"]["instance"][d] for d in PROBLEMS[name]["problem"]["shape"]["dimensions"]
    )


def test_schedules_speak_the_names_of_the_problem():
    layer = cy.from_timeloop(CONVOLUTION, dtype="float32")
    schedule = cy.Schedule().space("K", "P").broadcast("Weights", along="P")
    program = layer.compile(schedule=schedule)
    assert program.grid == (3, 4)
    assert program.grid_names == ("K", "P")
    assert {tensor["dtype"] for tensor in program.tensors} == {"float32"}
    assert all(len(line) <= 100 for line in layer.kernel.source.splitlines())


def test_an_error_shows_the_text_of_the_problem():
    layer = cy.from_timeloop(PROBLEMS["product"])
    with pytest.raises(cy.ScheduleError) as caught:
        layer.compile(schedule=cy.Schedule().space("X"))
    assert "M, N, K" in str(caught.value)
    assert cy.from_timeloop(PROBLEMS["product"]).kernel.source == layer.kernel.source


def test_files(tmp_path, monkeypatch, golden_refusal):
    path = tmp_path / "layer.yaml"
    path.write_text(json.dumps(CONVOLUTION))  # which is YAML too
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "yaml", None)
        golden_refusal("yaml-is-missing", cy.BackendUnavailable, "CYC722", lambda: cy.from_timeloop(path))
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    assert cy.from_timeloop(path).kernel.source == cy.from_timeloop(CONVOLUTION).kernel.source
    with pytest.raises(cy.ShapeError):
        cy.from_timeloop(tmp_path / "missing.yaml")
    path.write_text("a: [")
    with pytest.raises(cy.ShapeError, match="is no YAML"):
        cy.from_timeloop(path)


def changed(**of_shape):
    document = json.loads(json.dumps(PROBLEMS["product"]))
    document["problem"]["shape"].update(of_shape)
    return document


def spaces(**of_output):
    entries = changed()["problem"]["shape"]["data_spaces"]
    entries[-1].update(of_output)
    return changed(data_spaces=entries)


REFUSED = {
    "timeloop-extent-that-is-missing": {"problem": {**PROBLEMS["product"]["problem"], "instance": {"M": 3}}},
    "timeloop-shape-by-name": {"problem": {"shape": "cnn-layer", "instance": {}}},
    "timeloop-written-at-sums": spaces(projection=[[["M"], ["N"]]]),
    "timeloop-written-twice": changed(data_spaces=[{"name": "Z", "projection": ["M"], "read_write": True}]),
    "timeloop-unlisted-coefficient": spaces(projection=[[["M", "stride"]], [["N"]]]),
    "timeloop-unlisted-dimension": spaces(projection=["M", "X"]),
    "timeloop-one-name-for-two": changed(dimensions=["M", "N", "K", "A"]),
    "timeloop-keyword": spaces(name="lambda"),
    "timeloop-extent-below-one": {
        "problem": {**PROBLEMS["product"]["problem"], "instance": {"M": 0, "N": 1, "K": 1}}
    },
}
REFUSED["timeloop-one-name-for-two"]["problem"]["instance"]["A"] = 2


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, golden_refusal):
    golden_refusal(name, cy.ShapeError, "CYC742", lambda: cy.from_timeloop(REFUSED[name]))


def test_what_is_no_letter_of_a_name_becomes_an_underscore():
    assert cy.from_timeloop(changed(name="x(): import os #")).name == "x____import_os__"


CONV1D = problem(
    ["R", "P"], {"Weights": ["R"], "Inputs": [[["R"], ["P"]]], "Outputs": ["P"]}, {"R": 3, "P": 16}
)
# The end of what Timeloop's own exercise of a convolution in one dimension reports, on one PE.
STATS = """Total topology energy: 100.85 pJ
Max topology cycles: 48

Summary Stats
-------------
Utilization: {utilization}
Cycles: 48
Energy: 0.00 uJ

{computes} = 48
pJ/Compute
    Total = 2.10
"""


@pytest.mark.parametrize(
    ("utilization", "computes"),
    [("1.00", "MACCs"), ("100.00%", "Computes"), ("1.00", "Algorithmic Computes")],
)
def test_beside_what_timeloop_reports(tmp_path, utilization, computes):
    path = tmp_path / "timeloop-model.stats.txt"
    path.write_text(STATS.format(utilization=utilization, computes=computes) + "\nActual Computes = 12\n")
    layer = cy.from_timeloop(CONV1D, dtype="float32")
    frugal = cy.Machine(energy=cy.energies.horowitz_45nm())
    for schedule, machine in ((cy.Schedule().time("P", "R"), None), (cy.Schedule().space("P"), frugal)):
        program = layer.compile(schedule=schedule, machine=machine)
        result = cy.run(program, backend="sim", functional=False)
        cycles, share, *energy = layer.beside(result, path)
        assert cycles == {"measure": "Cycles", "here": result.cycles, "Timeloop": 48.0}
        assert share == {"measure": "Utilization", "here": result.utilization.mean(), "Timeloop": 1.0}
        assert [(one["here"], one["Timeloop"]) for one in energy] == (
            [(result.energy.total, 100.85)] if machine else []
        )
    # The mapping of the exercise: all of the loops in time.
    assert layer.compile(schedule=cy.Schedule().time("P", "R")).cycles == 48


def test_stats_of_another_problem(tmp_path, golden_refusal, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stats.txt").write_text(STATS.format(utilization="1.00", computes="Computes"))
    (tmp_path / "none.txt").write_text("Cycles: 48")
    layer = cy.from_timeloop(PROBLEMS["product"])
    result = cy.run(layer.compile(), backend="sim", functional=False)
    golden_refusal(
        "timeloop-stats-of-another-problem",
        cy.ShapeError,
        "CYC742",
        lambda: layer.beside(result, "stats.txt"),
    )
    golden_refusal(
        "timeloop-stats-of-nothing", cy.ShapeError, "CYC742", lambda: layer.beside(result, "none.txt")
    )
