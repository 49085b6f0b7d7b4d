"""Results as dicts, JSON, tables and data frames."""

import csv
import doctest
import importlib
import io
import json
import math
import sys

import numpy as np
import pytest
from small_kernels import matmul

import cyclotron as cy
from cyclotron.support import data

A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)


@pytest.fixture(scope="module")
def result():
    return cy.run(matmul.compile(A, B), backend="sim")


def test_json_has_what_the_result_has(result, tmp_path):
    text = result.to_json(tmp_path / "r.json", outputs=True)
    assert (tmp_path / "r.json").read_text() == text
    read = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert read["cycles"] == result.cycles
    assert read["stats"]["busy"] == result.stats["busy"].tolist()
    assert np.array_equal(read["outputs"]["C"], A @ B)
    assert cy.Schedule.from_dict(read["schedule"]) == result.program.schedule
    assert cy.Machine.from_dict(read["machine"]) == result.program.machine
    assert "outputs" not in result.to_dict()


def test_what_json_lacks_is_text():
    assert data.plain([math.nan, -math.inf, 1j, np.float32(0.5), (True, None)]) == [
        "NaN",
        "-Infinity",
        [0.0, 1.0],
        0.5,
        [True, None],
    ]


def test_local_runs_have_no_cycles():
    result = cy.run(matmul.compile(A, B), backend="local")
    read = result.to_dict(outputs=True)
    assert "stats" not in read
    assert read["outputs"]["C"] == (A @ B).tolist()
    with pytest.raises(cy.ExecutionError, match="CYC712"):
        result.to_pandas()


def test_a_row_a_pe(result):
    rows = result.stats.by_pe(result.grid, result.program.grid_names)
    assert len(rows) == 8
    assert [(row["i"], row["j"]) for row in rows] == list(np.ndindex(2, 4))
    assert sum(row["busy"] for row in rows) == result.stats["busy"].sum()
    assert rows[5]["words_sent: A along j"] == result.stats["words_sent"]["A along j"][1, 1]
    # Dimensions of one name, or of a statistic's, are numbered.
    assert list(result.stats.by_pe((2, 4), ("i", "i"))[0])[:2] == ["pe0", "pe1"]
    assert list(result.stats.by_pe((2, 4), ("busy", "i"))[0])[:2] == ["pe0", "pe1"]


def test_data_frame(result):
    pandas = pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert (
        frame.pivot(index="i", columns="j", values="busy").to_numpy().tolist()
        == result.stats["busy"].tolist()
    )
    assert np.allclose(frame["utilization"], result.utilization.ravel())


def test_without_pandas(result, monkeypatch):
    sweep = cy.sweep(matmul, A, B, depth=[1, 2])
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(cy.BackendUnavailable, match="pandas is not installed") as caught:
        result.to_pandas()
    assert "to_dict()" in caught.value.help
    with pytest.raises(cy.BackendUnavailable, match="pyarrow is not installed"):
        sweep.to_parquet("sweep.parquet")


def test_sweeps_in_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    sweep = cy.sweep(matmul, A, B, grid=[(2, 4), (1, 1)], depth=[1, 2])
    sweep.to_parquet(tmp_path / "sweep.parquet")
    read = pandas.read_parquet(tmp_path / "sweep.parquet")
    assert list(read.columns) == list(sweep.columns)
    assert read["grid"].tolist() == ["2x4", "2x4", "1x1", "1x1"]
    with pytest.raises(OSError, match="No such file"):
        sweep.to_parquet(tmp_path / "nowhere" / "sweep.parquet")


def test_mappings_and_arrays_as_tables_of_other_programs(tmp_path):
    """Each row has the code of its schedule, which compiles to what the row says."""
    found = cy.map(matmul, A, B, machine=cy.Machine(grid=(2, 4)))
    arrays = cy.systolic_arrays(matmul, A, B, simulate=True)
    for table in (found, arrays):
        rows = list(csv.DictReader(io.StringIO(table.to_csv(tmp_path / "table.csv"))))
        assert (tmp_path / "table.csv").read_text() == table.to_csv()
        assert len(rows) == len(table) > 1
        for row in rows:
            machine = {"machine": cy.Machine(grid=(2, 4))} if table is found else {}
            program = matmul.compile(A, B, schedule=eval(row["schedule"], {"cy": cy}), **machine)
            assert program.cycles == int(row["cycles"])
    assert arrays.records[3]["grid"] == (2, 4)
    assert arrays.records[3]["space"] == "i, j"
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    found.to_parquet(tmp_path / "found.parquet")
    read = pandas.read_parquet(tmp_path / "found.parquet")
    assert read["cycles"].tolist() == found.to_pandas()["cycles"].tolist() == [one.cycles for one in found]


def test_tables(result):
    text = str(result.stats)
    assert f"busy  {'':24}" in text
    assert "A along j" in text
    assert "<table>" in result.stats._repr_html_()
    channels = result.program.channels
    assert str(channels).splitlines()[0].split() == list(channels[0])
    assert channels == result.program.core.channels  # a list of dicts as before
    assert "<script>" not in cy.Machine(grid=(2, 2))._repr_html_()
    table = cy.Machine(grid=(2, 2), link=cy.Link(latency=7)).table()
    assert {"field": "link.latency", "value": 7} in table
    assert str(matmul.compile(A, B, schedule=cy.Schedule()).channels) == "none"


def test_a_failed_save_keeps_what_was_there(result, tmp_path):
    with pytest.raises(OSError, match="No such file"):
        result.to_json(tmp_path / "nowhere" / "r.json")


@pytest.mark.parametrize(
    "name",
    [
        "support.data",
        "support.tables",
        "support.arguments",
        "analysis.stats",
        "machine.machine",
        "repro",
        "cache",
    ],
)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"cyclotron.{name}")
    failed, tried = doctest.testmod(module, extraglobs={"cy": cy, "np": np})
    assert tried > 0
    assert failed == 0
