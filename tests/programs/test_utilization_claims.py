"""Utilization of arrays: the claims of the paper's sections 10.2 and 10.3, on the examples that draw them."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "examples"))

import attention_activity
import cholesky_utilization
import trsm_utilization

UNIFORM, BY_FLOPS = cholesky_utilization.MACHINES.values()


@pytest.mark.parametrize("array", trsm_utilization.ARRAYS)
def test_a_triangular_solve_is_busier_further_down(array):
    """CY-150: PE i makes i updates, a subtraction and a division for each right-hand side."""
    result = trsm_utilization.simulate(6, 4, trsm_utilization.ARRAYS[array])
    shares = trsm_utilization.by_row(result)
    assert (np.diff(shares) > 0).all()
    np.testing.assert_allclose(shares / shares[0], (np.arange(6) + 2) / 2)


@pytest.mark.parametrize("machine", [UNIFORM, BY_FLOPS])
def test_cholesky_is_busier_in_lower_rows_and_along_the_diagonal(machine):
    """CY-151: whatever the operators cost."""
    result = cholesky_utilization.simulate(6, machine)
    assert (np.diff(cholesky_utilization.by_row(result)) > 0).all()
    assert (np.diff(result.utilization.diagonal()) > 0).all()
    assert not np.triu(result.utilization, 1).any()


def test_the_diagonal_is_busiest_in_each_row_where_tile_operations_take_the_same_time():
    """CY-151: with LAPACK's counts it is not, since a SYRK computes half of what a GEMM does."""
    result = cholesky_utilization.simulate(6, UNIFORM)
    assert result.utilization.argmax(axis=1).tolist() == list(range(6))
    result = cholesky_utilization.simulate(6, BY_FLOPS)
    assert result.utilization.argmax(axis=1).tolist() == [0, 1, 1, 2, 3, 4]


@pytest.mark.parametrize("machine", [UNIFORM, BY_FLOPS])
def test_the_wavefront_of_cholesky_widens_on_its_way_down(machine):
    """CY-151: one PE at first; at its widest, in each row one more than in the row above."""
    result = cholesky_utilization.simulate(6, machine)
    assert result.active[0] == 1
    widest = int(result.active.argmax())
    assert cholesky_utilization.computing(result, widest).tolist() == [0, 1, 2, 3, 4, 5]
    begins = np.full(36, result.cycles)
    np.minimum.at(begins, result.events["pe"], result.events["start"])
    for column, starts in enumerate(begins.reshape(6, 6).T):
        assert (np.diff(starts[column:]) > 0).all()


def test_chains_of_syrks_lengthen_with_the_array_and_with_the_diagonal():
    """CY-152: the last PE computes longer; its share of the run, which lengthens too, does not grow."""
    results = [cholesky_utilization.simulate(tiles, UNIFORM) for tiles in (2, 4, 8)]
    for tiles, result in zip((2, 4, 8), results, strict=True):
        by_operator = result.stats["busy_by_operator"]
        syrks = by_operator["syrk"] + by_operator.get("syrk_add", 0)
        assert syrks.diagonal().tolist() == [16 * j for j in range(tiles)]
    assert [int(result.stats["busy"][-1, -1]) for result in results] == [48, 80, 144]
    shares = [result.utilization[-1, -1] for result in results]
    assert shares[0] > shares[1] > shares[2]


def test_attention_is_balanced_and_every_pe_runs_the_same_sequence():
    """CY-153: all PEs are busy for the same time with the same operations."""
    result = attention_activity.simulate(5, 3)
    assert np.ptp(result.stats["busy"]) == 0
    for cycles in result.stats["busy_by_operator"].values():
        assert np.ptp(cycles) == 0
    sequences = [attention_activity.sequence(result, pe) for pe in range(5)]
    assert all(sequence == sequences[0] for sequence in sequences)
    assert result.utilization.min() > 0.9


def test_attention_multiplies_tiles_then_works_in_place():
    """CY-154: a step is Q K^T, then operations on the scores, then P V; only keys and values move."""
    result = attention_activity.simulate(2, 3)
    steps = attention_activity.steps(attention_activity.sequence(result, 0))
    assert len(steps) == 3
    for step in steps:
        products = [n for n, name in enumerate(step) if name in ("matmul", "matmul_add")]
        assert len(products) == 2
        assert step[0] == "matmul"
        assert {"multiply", "row_max", "subtract", "exp", "row_sum"} <= set(step[: products[1]])
    assert {channel["name"][0] for channel in result.stats["channels"]} == {"K", "V"}


def test_the_first_argument_says_where_the_picture_goes(tmp_path, capsys):
    trsm_utilization.main(tmp_path / "map.png")
    assert [path.name for path in tmp_path.iterdir()] == ["map.png"]
    assert " 5.7%  8.6% 11.4% 14.3% 17.1% 20.0% 22.9% 25.7%" in capsys.readouterr().out
