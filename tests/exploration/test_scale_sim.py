"""SCALE-Sim's cycle counts from simulations: its formulas, its own report, and what the folds compute."""

import csv
import io

import numpy as np
import pytest

import cyclotron as cy
from cyclotron.explore.scale_sim_topology import Layer, read_topology

DATAFLOWS = ("os", "ws", "is")
ARRAYS = [(1, 1), (1, 4), (5, 1), (3, 3), (4, 7), (16, 8)]

# What SCALE-Sim 3.0.0 writes to COMPUTE_REPORT.csv: M, N, K, rows, columns, dataflow; total cycles, overall
# utilisation, mapping efficiency and compute utilisation, in percent.
REPORTED = [
    (5, 4, 3, 4, 4, "os", 17, 22.058823529411764, 62.5, 20.833333333333332),
    (5, 4, 3, 4, 4, "ws", 14, 26.785714285714285, 75.0, 20.833333333333336),
    (5, 4, 3, 4, 4, "is", 27, 13.88888888888889, 46.875, 11.029411764705884),
    (10, 9, 17, 4, 8, "os", 161, 29.6972049689441, 46.875, 29.51388888888889),
    (10, 9, 17, 4, 8, "ws", 239, 20.005230125523013, 47.8125, 15.42338709677419),
    (10, 9, 17, 4, 8, "is", 229, 20.87882096069869, 53.125, 15.937499999999998),
    (33, 20, 40, 16, 16, "os", 419, 24.612171837708832, 42.96875, 24.553571428571427),
    (33, 20, 40, 16, 16, "ws", 473, 21.802325581395348, 52.083333333333336, 18.284574468085104),
    (33, 20, 40, 16, 16, "is", 593, 17.390387858347385, 57.291666666666664, 14.146090534979427),
    (7, 50, 64, 8, 32, "os", 203, 43.10344827586207, 68.359375, 42.892156862745104),
    (7, 50, 64, 8, 32, "ws", 847, 10.330578512396695, 78.125, 6.510416666666666),
    (7, 50, 64, 8, 32, "is", 767, 11.408083441981747, 21.875, 8.612204724409448),
    (1, 1, 1, 2, 3, "os", 3, 5.555555555555555, 16.666666666666664, 4.166666666666666),
    (1, 1, 1, 2, 3, "ws", 5, 3.3333333333333335, 16.666666666666664, 2.083333333333333),
    (64, 64, 64, 32, 32, "os", 503, 50.89463220675945, 100.0, 50.79365079365079),
    (64, 64, 64, 32, 32, "ws", 631, 40.57052297939778, 100.0, 33.86243386243386),
]
CONVOLUTIONS = """\
Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
Conv1, 12, 10, 3, 3, 3, 8, 1,
Conv2, 11, 11, 5, 5, 4, 6, 2,

DP1, 9, 9, 3, 3, 4, 1, 1,
"""
# The same for these layers on 8 rows and columns; the last is one of the four channels of DP1.
REPORTED_LAYERS = {
    "os": [
        (409, 100.0, 65.85365853658536),
        (227, 75.0, 65.78947368421053),
        (160, 10.9375, 4.279891304347826),
    ],
    "ws": [
        (407, 84.375, 61.926605504587165),
        (493, 72.11538461538461, 25.64102564102564),
        (141, 7.03125, 4.4170673076923075),
    ],
    "is": [
        (1199, 84.375, 18.243243243243228),
        (727, 96.15384615384616, 16.483516483516482),
        (321, 49.21875, 1.6406250000000004),
    ],
}


def formula(dataflow, rows, columns, length):
    """Cycles of a fold as SCALE-Sim counts them."""
    return (1 if dataflow == "os" else 2) * rows + columns + length - 2


@pytest.mark.parametrize("array", ARRAYS, ids=str)
@pytest.mark.parametrize("dataflow", DATAFLOWS)
@pytest.mark.parametrize("length", [1, 2, 9, 100])
def test_cycles_of_a_fold(dataflow, array, length):
    sizes = {"os": (*array, length), "ws": (length, array[1], array[0]), "is": (array[1], length, array[0])}
    (layer,) = cy.scale_sim(*sizes[dataflow], dataflow=dataflow, array=array)
    assert layer.fold_grid == (1, 1)
    assert layer.cycles == layer.fold_cycles == formula(dataflow, *array, length)
    assert layer.mapping_efficiency == 1


@pytest.mark.parametrize("reported", REPORTED, ids=lambda r: "x".join(map(str, r[:6])))
def test_scale_sims_own_report(reported):
    M, N, K, rows, columns, dataflow, cycles, *shares = reported
    report = cy.scale_sim(M, N, K, dataflow=dataflow, array=(rows, columns))
    (line,) = csv.DictReader(io.StringIO(report.to_csv()))
    assert int(line["Total Cycles"]) == cycles == report.cycles - 1
    assert line["Stall Cycles"] == "0"
    names = ("Overall Util %", "Mapping Efficiency %", "Compute Util %")
    assert [float(line[name]) for name in names] == pytest.approx(shares, rel=1e-12)


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_a_topology_of_convolutions(dataflow, tmp_path):
    path = tmp_path / "net.csv"
    path.write_text(CONVOLUTIONS)
    report = cy.scale_sim(path, dataflow=dataflow, array=(8, 8))
    lines = list(csv.DictReader(io.StringIO(report.to_csv(tmp_path / "report.csv"))))
    assert (tmp_path / "report.csv").read_text() == report.to_csv()
    expected = [*REPORTED_LAYERS[dataflow], *REPORTED_LAYERS[dataflow][2:] * 3]
    assert [int(line["Total Cycles"]) for line in lines] == [cycles for cycles, *_ in expected]
    for line, (_, mapping, compute) in zip(lines, expected, strict=True):
        assert float(line["Mapping Efficiency %"]) == pytest.approx(mapping)
        assert float(line["Compute Util %"]) == pytest.approx(compute)


# What SCALE-Sim 3.0.0 writes of these layers, output stationary on 16 rows and columns.
LENET = """\
Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
conv1, 32, 32, 5, 5, 3, 6, 1,
conv2, 14, 14, 5, 5, 6, 16, 1,
"""
LENET_REPORT = """\
LayerID, Total Cycles (incl. prefetch), Total Cycles, Stall Cycles, Overall Util %, Mapping Efficiency %, Compute Util %,
0, 5962, 5144, 0, 26.790921461897355, 37.5, 26.785714285714274,
1, 1883, 1259, 0, 74.4638602065131, 89.28571428571429, 74.4047619047619,
"""  # noqa: E501


def test_beside_what_scale_sim_reported(tmp_path, golden_refusal, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lenet.csv").write_text(LENET)
    (tmp_path / "COMPUTE_REPORT.csv").write_text(LENET_REPORT)
    report = cy.scale_sim("lenet.csv", dataflow="os", array=(16, 16))
    lines = report.beside("COMPUTE_REPORT.csv")
    assert [line["layer"] for line in lines] == ["conv1", "conv2"]
    assert [line["Total Cycles"] for line in lines] == [5144, 1259]
    for line in lines:
        for name in ("Total Cycles", "Overall Util %", "Mapping Efficiency %", "Compute Util %"):
            assert line[name] == pytest.approx(line[f"{name} reported"], rel=1e-12)
    (tmp_path / "COMPUTE_REPORT.csv").write_text("\n".join(LENET_REPORT.splitlines()[:2]))
    golden_refusal(
        "report-of-other-layers", cy.ShapeError, "CYC741", lambda: report.beside("COMPUTE_REPORT.csv")
    )


def padded(block, shape):
    return np.pad(block, [(0, size - used) for size, used in zip(shape, block.shape, strict=True)])


def blocks(extent, most):
    return [slice(first, min(first + most, extent)) for first in range(0, extent, most)]


@pytest.mark.parametrize("dataflow", DATAFLOWS)
@pytest.mark.parametrize("sizes", [(5, 4, 3), (9, 7, 11), (3, 10, 4)], ids=str)
def test_the_folds_compute_the_product(dataflow, sizes):
    """Each fold runs by itself, on blocks padded to the array; they add up to product and total."""
    (M, N, K), (rows, columns) = sizes, (4, 3)
    rng = np.random.default_rng(0)
    A, B = rng.integers(-9, 10, (M, K)).astype(float), rng.integers(-9, 10, (K, N)).astype(float)
    (layer,) = cy.scale_sim(M, N, K, dataflow=dataflow, array=(rows, columns))
    X, W, transposed = (B.T, A.T, True) if dataflow == "is" else (A, B, False)
    Y = np.zeros((X.shape[0], W.shape[1]))
    cycles, used, kinds = 0, [], []
    for c in blocks(layer.extents[1], columns):
        for r in blocks(layer.extents[0], rows):
            if dataflow == "os":
                x, w, to = padded(X[r], (rows, K)), padded(W[:, c], (K, columns)), (r, c)
            else:
                x, w, to = padded(X[:, r], (len(X), rows)), padded(W[r, c], (rows, columns)), (slice(None), c)
            done = cy.run(layer.program, x, w, backend="sim")
            Y[to] += done.output[: Y[to].shape[0], : Y[to].shape[1]]
            cycles += done.cycles
            products = [n for op, n in done.stats["busy_by_operator"].items() if op.startswith("multiply")]
            assert np.sum(products) == rows * columns * layer.extents[2]
            used.append((r.stop - r.start) * (c.stop - c.start))
            kinds.append((r.stop - r.start, c.stop - c.start))
    assert np.array_equal(Y.T if transposed else Y, A @ B)
    assert cycles == layer.cycles
    assert layer.mapping_efficiency == pytest.approx(np.mean(used) / (rows * columns))
    assert {(f.rows, f.columns): f.count for f in layer.folds} == {kind: kinds.count(kind) for kind in kinds}
    work = sum(f.count * f.utilization * f.cycles * rows * columns for f in layer.folds)
    assert work == pytest.approx(M * N * K)
    assert layer.utilization == pytest.approx(M * N * K / (rows * columns * layer.cycles))


def test_weights_are_shifted_in_for_as_many_cycles_as_the_array_has_rows():
    (layer,) = cy.scale_sim(6, 3, 4, dataflow="ws", array=(4, 3))
    result = cy.run(layer.program, np.ones((6, 4)), np.ones((4, 3)), backend="sim")
    copies = result.stats["busy_by_operator"]["copy"]
    assert np.array_equal(copies, np.repeat([[4], [3], [2], [1]], 3, axis=1))
    assert min(e["start"] for e in result.events if e["operator"].startswith("multiply")) == 4


def test_the_schedules_recipe_is_the_same_without_the_shift():
    """Weights that lie in the PEs already: R + C + T - 2, on the same machine."""

    @cy.kernel
    def product(X, W):
        Y = cy.empty((X.shape[0], W.shape[1]))
        for t in range(X.shape[0]):
            for c in range(W.shape[1]):
                Y[t, c] = sum(X[t, r] * W[r, c] for r in range(X.shape[1]))
        return Y

    rows, columns, length = 5, 4, 9
    schedule = cy.Schedule().space("r", "c").time("t").stream("X", along="c").prefetch("W")
    machine = cy.machines.scale_sim(rows, columns, "ws")
    program = product.compile(
        cy.spec((length, rows)), cy.spec((rows, columns)), schedule=schedule, machine=machine
    )
    assert cy.run(program, backend="sim", functional=False).cycles == rows + columns + length - 2


def test_tables():
    report = cy.scale_sim(64, 64, 64, dataflow="ws", array=(32, 32))
    assert str(report).splitlines()[-1].split() == (
        ["product", "64", "64", "64", "2x2", "158", "632", "100.0%", "40.5%"]
    )
    assert "632 cycles" in report._repr_html_()
    assert report[:1].layers == report.layers
    assert len(report) == 1


def test_reading_topologies(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Layer,M,N,K,\nfirst,4,5,6,\nlast, 7,8,9\n")
    assert read_topology(path) == (Layer("first", 4, 5, 6), Layer("last", 7, 8, 9))
    path.write_text("name,h,w,r,s,c,k,u,v,sparsity\nc,9,12,3,4,2,5,2,3,1:1,\n")
    assert read_topology(path) == (Layer("c", 4 * 4, 5, 24),)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("", "has no layers"),
        ("a,1,2", "has 2 sizes, not 3, 7 or 8"),
        ("a,1,x,3", "1, x, 3, not all integers"),
        ("a,1,0,3", "has a size of 0, below 1"),
        ("a,4,4,5,1,1,1,1", "5x1, larger than its input of 4x4"),
        ("a,4,4,1,1,1,1,1,2:4,", "keeps 2 of 4 weights"),
        ("a", "has a size of 0"),
    ],
)
def test_files_that_are_no_topology(tmp_path, line, text):
    path = tmp_path / "t.csv"
    path.write_text(f"header\n{line}\n")
    with pytest.raises(cy.ShapeError, match=text) as caught:
        read_topology(path)
    assert caught.value.code == "CYC741"


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((1, 2, 3), {"dataflow": "rs"}, "there is no dataflow 'rs'"),
        ((0, 2, 3), {}, "`M` is 0"),
        ((1, 2), {}, "`K` is None"),
        ((1, 2.5, 3), {}, "`N` is 2.5"),
    ],
)
def test_refusals(arguments, options, text):
    with pytest.raises(cy.ShapeError, match=text) as caught:
        cy.scale_sim(*arguments, **options)
    assert caught.value.code == "CYC740"


def test_how_refusals_read(tmp_path, monkeypatch, golden_refusal):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.csv").write_text("Layer,M,N,K,\nfc,64,10,\n")
    golden_refusal("layer-of-two-sizes", cy.ShapeError, "CYC741", lambda: cy.scale_sim("net.csv"))
    golden_refusal("unknown-dataflow", cy.ShapeError, "CYC740", lambda: cy.scale_sim(4, 4, 4, dataflow="rs"))


def test_an_array_of_no_rows():
    with pytest.raises(cy.ShapeError, match=r"grid\[0\]"):
        cy.scale_sim(4, 4, 4, array=(0, 4))
