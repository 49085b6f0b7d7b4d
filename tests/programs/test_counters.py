"""Counts of operations, instructions and words: closed forms, and the same from every engine."""

import math

import cases
import kernels
import numpy as np
import pytest

import cyclotron as cy
from cyclotron.analysis.counters import intensity

ARRAYS = ("flops", "words_loaded", "words_stored", "bytes_loaded", "bytes_stored")
DICTS = ("instructions_by_kind", "words_sent", "words_received")


def product(n, k, m, schedule="output-stationary", dtype="float64", **options):
    program = kernels.matmul.compile(
        cy.spec((n, k), dtype), cy.spec((k, m), dtype), schedule=cases.MATMUL[schedule], **options
    )
    return cy.run(program, backend="sim", functional=False, event_limit=0)


def counts(result):
    """All counts as plain values."""
    found = {name: result.stats[name].tolist() for name in ARRAYS}
    for name in DICTS:
        found[name] = {key: array.tolist() for key, array in result.stats[name].items()}
    found["intensity"] = result.stats["arithmetic_intensity"]
    found["instructions"] = result.stats["instructions"]
    found["channels"] = result.stats["channels"]
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_an_output_stationary_product_counts_what_it_should(dtype):
    """Each PE multiplies once and adds k - 1 products; west and north load; every PE stores."""
    n, k, m = 3, 7, 4
    stats = product(n, k, m, dtype=dtype).stats
    assert (stats["flops"] == 2 * k - 1).all()
    west, north = np.arange(m) == 0, np.arange(n)[:, None] == 0
    expected = k * (np.broadcast_to(west, (n, m)).astype(int) + np.broadcast_to(north, (n, m)))
    np.testing.assert_array_equal(stats["words_loaded"], expected)
    assert (stats["words_stored"] == 1).all()
    width = np.dtype(dtype).itemsize
    np.testing.assert_array_equal(stats["bytes_loaded"], width * stats["words_loaded"])
    np.testing.assert_array_equal(stats["bytes_stored"], width * stats["words_stored"])
    moved = width * (n * k + k * m + n * m)
    assert stats["arithmetic_intensity"] == n * m * (2 * k - 1) / moved
    (name,) = (name for name in stats["words_sent"] if name.startswith("A"))
    sent, received = stats["words_sent"][name], stats["words_received"][name]
    np.testing.assert_array_equal(sent, k * np.broadcast_to(np.arange(m) < m - 1, (n, m)))
    np.testing.assert_array_equal(received, k * np.broadcast_to(np.arange(m) > 0, (n, m)))
    kinds = {name: int(each.sum()) for name, each in stats["instructions_by_kind"].items()}
    assert kinds["compute"] == n * m * k
    assert kinds["load"] == k * (n + m)
    assert kinds["store"] == n * m
    assert kinds["send"] == kinds["receive"] == k * (n * (m - 1) + m * (n - 1))
    assert kinds["broadcast"] == 0
    assert sum(kinds.values()) == stats["instructions"]
    assert all(channel["bytes"] == width * channel["words"] for channel in stats["channels"])


def test_a_broadcast_is_sent_once_and_received_by_many():
    n, k, m = 3, 5, 4
    stats = product(n, k, m, "summa").stats
    names = [channel["name"] for channel in stats["channels"] if channel["kind"] == "network"]
    assert len(names) == 2
    sent = {name: int(stats["words_sent"][name].sum()) for name in names}
    received = {name: int(stats["words_received"][name].sum()) for name in names}
    assert sorted(sent.values()) == sorted((n * k, k * m))
    assert sorted(received.values()) == sorted((n * k * (m - 1), k * m * (n - 1)))
    assert stats["instructions_by_kind"]["broadcast"].sum() == n * k + k * m


def test_a_broadcast_to_nobody_sends_nothing():
    """On one column, each PE's broadcast along its row reaches no other."""
    stats = product(3, 5, 1, "summa").stats
    rows = [c["name"] for c in stats["channels"] if c["kind"] == "network" and c["messages"] == 0]
    assert all(stats["words_sent"][name].sum() == 0 for name in rows)


def test_counts_of_a_billion_steps_take_no_enumeration():
    k = 10**9
    result = product(4, k, 5)
    assert result.engine == "fast-forward"
    assert result.stats["cycles_skipped"] > 0.99 * k
    assert (result.stats["flops"] == 2 * k - 1).all()
    assert result.stats["words_loaded"].sum() == k * (4 + 5)
    assert result.stats["instructions_by_kind"]["compute"].sum() == 20 * k


SOME = [case for case in cases.all_cases() if case.name.endswith(("/5", "/5x5", "/3x4x5", "ragged-tiles"))]


@pytest.mark.parametrize("case", SOME, ids=[case.name for case in SOME])
def test_every_engine_counts_the_same(case):
    program = case.compile()
    runs = [
        cy.run(program, backend="sim"),
        cy.run(program, backend="sim", event_limit=0),
        cy.run(program, backend="sim", functional=False),
        cy.run(program, backend="sim", functional=False, event_limit=0),
        cy.run(program, backend="sim", functional=False, event_limit=0, engine="general"),
    ]
    first, *others = (counts(result) for result in runs)
    assert all(other == first for other in others)


def test_tiles_count_their_elements():
    """A ragged last tile counts its own size, and a product of tiles 2 m n k."""
    A, B = np.ones((5, 7)), np.ones((7, 4))
    program = kernels.matmul.compile(
        cy.blocked(A, (2, 3)), cy.blocked(B, (3, 4)), schedule=cases.MATMUL["output-stationary"]
    )
    stats = cy.run(program, backend="sim").stats
    assert stats["flops"].sum() == 2 * 5 * 7 * 4
    assert stats["words_loaded"].sum() == A.size + B.size
    assert stats["words_stored"].sum() == 5 * 4
    assert stats["bytes_loaded"].sum() == 8 * (A.size + B.size)


def test_without_memory_traffic_the_intensity_is_infinite():
    none, some = np.zeros(3, np.int64), np.full(3, 2)
    assert math.isinf(intensity(some, none, none))
    assert intensity(some, some, some) == 0.5
