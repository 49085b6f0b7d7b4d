"""The account of the time of ranks: against counts by hand, and in pictures and traces."""

from __future__ import annotations

import functools
import json

import chrome_trace
import numpy as np
import pytest
from kernels import cholesky, matmul
from test_collective import launch

import cyclotron as cy
from cyclotron.analysis.rank_profile import Profile, words_bound

TIMES = ("compute", "send", "wait", "give", "fetch")
LIMIT = 100_000


def ring(n, ranks, tile, dtype="float64", **options):
    """C = A @ B by rows of tiles, one a rank, which pass B around."""
    A, B = (np.random.default_rng(seed).integers(-4, 5, (n, n)).astype(dtype) for seed in range(2))
    schedule = cy.Schedule().space("i").time("j", "k").stream("B", along="i").rotate("k", by="i")
    program = matmul.compile(cy.blocked(A, tile), cy.blocked(B, (tile, n)), schedule=schedule)
    assert program.grid == (ranks,)
    result = cy.run(program, backend="mpi", ranks=ranks, **options)
    np.testing.assert_array_equal(result.output, A @ B)
    return result


@functools.cache
def factor(ranks, **options):
    matrix = np.random.default_rng(3).standard_normal((100, 100))
    matrix = matrix @ matrix.T + 100 * np.eye(100)
    program = cholesky.compile(cy.blocked(matrix, 24), schedule=cy.Schedule().space("i", "j").broadcast("L"))
    deal = cy.Layout((ranks, 1), 1)
    return cy.run(program, backend="mpi", ranks=ranks, deal=deal, **options)


def total(amounts):
    return sum(sum(rank.values()) for rank in amounts)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64"])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_work_and_words_of_a_ring(ranks, dtype):
    n = 7 * ranks
    profile = ring(n, ranks, 7, dtype).profile
    assert len(profile) == ranks
    assert json.loads(json.dumps(profile)) == profile
    for rank in profile:
        assert sum(rank["flops"].values()) == 2 * n**3 // ranks
        assert rank["words_loaded"] == 2 * n * n // ranks
        assert rank["words_stored"] == n * n // ranks
        told = rank["load_store"] + rank["exchange"] + rank["finish"]
        told += sum(sum(rank[key].values()) for key in TIMES)
        assert 0 < told <= rank["seconds"] * (1 + 1e-9)
        assert rank["words_moved"] >= rank["words_bound"]
        # Each rank has a row of B's tiles, and gets those of the others once.
        assert sum(rank["words_received"].values()) == (ranks - 1) * n * n // ranks
        assert sum(rank["words_sent"].values()) == (ranks - 1) * n * n // ranks


def test_a_rank_without_pes_has_nothing_to_do():
    A = np.arange(16.0).reshape(4, 4)
    program = matmul.compile(cy.blocked(A, 4), cy.blocked(A, 4))
    profile = cy.run(program, backend="mpi", ranks=2, event_limit=LIMIT).profile
    (idle,) = (rank for rank in profile if not rank["flops"])
    assert idle["finish"] == pytest.approx(idle["seconds"])
    assert idle["words_moved"] == idle["words_bound"] == 0
    assert set(profile.events["rank"]) == {1 - profile.index(idle)}


@cy.kernel
def fourth_power(A):
    n = A.shape[0]
    T, D = cy.empty_like(A), cy.empty_like(A)
    for i in range(n):
        for j in range(n):
            T[i, j] = sum(A[i, k] @ A[k, j] for k in range(n))
    for i in range(n):
        for j in range(n):
            D[i, j] = sum(T[i, k] @ T[k, j] for k in range(n))
    return D


def test_products_of_products_have_no_bound():
    """A rank neither loads nor receives its own results."""
    A = np.arange(64.0).reshape(8, 8)
    result = cy.run(fourth_power.compile(cy.blocked(A, 2)), backend="mpi", ranks=1)
    np.testing.assert_allclose(result.output, A @ A @ A @ A)
    (rank,) = result.profile
    assert rank["words_moved"] == rank["words_bound"] == 0
    assert "at least" not in str(result.profile)


def test_the_bound_is_that_of_what_is_multiplied():
    n, ranks = 64, 4  # rank: a quarter of all pairs, and of all elements of three matrices
    rank = {
        "flops": {
            "matmul": n**3 // 2 // ranks,
            "matmul_add": 2 * n**3 // ranks - n**3 // 2 // ranks,
            "add": 9**9,
        },
        "words_loaded": 2 * n * n // ranks + 100,
        "words_fetched": {"A": 60, "B": 40},
        "words_stored": n * n // ranks,
    }
    cube = (n**3 / ranks) ** (1 / 3)  # a cube of pairs has three faces
    assert words_bound(rank) == np.floor(3 * cube**2 - 3 * n * n // ranks)
    alone = {**rank, "flops": {"matmul": 2 * n**3}, "words_loaded": 2 * n * n, "words_stored": n * n}
    assert words_bound({**alone, "words_fetched": {}}) == 0
    assert words_bound({**rank, "flops": {}}) == 0
    # Of a triangle with two equal operands: no choice of rows and columns needs less.
    pairs, symmetric = 10**6, {**rank, "flops": {"syrk_subtract": 2 * 10**6}, "words_loaded": 0}
    symmetric |= {"words_fetched": {}, "words_stored": 0}
    least = min(a + pairs**2 / a**2 for a in np.linspace(1, 10**5, 10**5))
    assert words_bound(symmetric) == pytest.approx(least, rel=1e-3)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_events_tell_what_the_profile_sums(ranks):
    profile = factor(ranks, event_limit=LIMIT).profile
    events = profile.events
    assert profile.events_dropped == 0
    tiles = 5
    assert (events["name"][events["kind"] == "compute"] == "cholesky").sum() == tiles
    assert (events["end"] >= events["start"]).all()
    assert (events["start"] >= 0).all()
    sent, received = (events[events["kind"] == kind] for kind in ("send", "receive"))
    assert len(sent) == len(received)
    assert (len(sent) > 0) == (ranks > 1)
    assert sorted(sent["words"]) == sorted(received["words"])
    for number, rank in enumerate(profile):
        own = events[events["rank"] == number]
        assert (np.diff(own["start"]) >= 0).all()
        assert own["end"].max() <= max(rank["seconds"] for rank in profile) + 1e-3
        spent = own["end"] - own["start"]
        for kind, seconds in (("compute", rank["compute"]), ("wait", {**rank["wait"], **rank["fetch"]})):
            for name, expected in seconds.items():
                found = spent[(own["kind"] == kind) & (own["name"] == name)].sum()
                assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert own["words"][own["kind"] == "receive"].sum() == sum(rank["words_received"].values())
        computes = own[own["kind"] == "compute"]
        assert (computes["start"][1:] >= computes["end"][:-1]).all()  # one thread


def test_a_bounded_number_of_events_is_kept():
    kept = factor(2, event_limit=LIMIT).profile
    assert len(factor(2).profile.events) == 0
    few = factor(2, event_limit=10).profile
    assert len(few.events) == 20
    assert few.events_dropped > 0
    steady = [kind for kind in set(kept.events["kind"]) if kind not in ("wait", "exchange")]
    assert np.isin(few.events["kind"], [*steady, "wait", "exchange"]).all()


def test_it_prints_what_took_how_long():
    text = str(factor(2).profile)
    assert text.startswith("cholesky on 2 ranks: ")
    lines = {line.split("  ")[0]: line for line in text.splitlines()}
    assert "rank 0" in lines["ms"]
    assert "rank 1" in lines["ms"]
    assert "GFLOP/s" in lines["ms"]
    assert {"computes", "loads and stores", "has finished", "all", "words moved"} <= set(lines)
    assert any(cause.startswith("waits for") for cause in lines)
    html = factor(2).profile._repr_html_()
    assert html.count("<tr>") >= 8
    assert "rank 1" in html
    result = factor(2)
    many = str(Profile([*result.profile] * 6, result.program, result.profile.events, 0))
    assert "least" in many
    assert "mean" in many
    assert "rank 11" not in many


def test_pictures_and_traces_of_ranks(tmp_path):
    result = factor(3, event_limit=LIMIT)
    figure = result.plot.timeline(path=tmp_path / "ranks.png")
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0", "1", "2"]
    labels = {text.get_text() for text in ax.get_legend().get_texts()}
    events = result.profile.events
    operators = set(events["name"][events["kind"] == "compute"])
    assert operators | {"loads and stores", "sends", "passes messages"} <= labels
    assert len(operators) > 2
    bars = sum(len(collection.get_paths()) for collection in ax.collections)
    assert bars == (result.profile.events["kind"] != "receive").sum()

    result.save_trace(tmp_path / "ranks.json")
    trace = json.loads((tmp_path / "ranks.json").read_text())
    records = trace["traceEvents"]
    names = {r["args"]["name"] for r in records if r["name"] == "thread_name"}
    assert names == {"rank 0", "rank 1", "rank 2"}
    slices = [r for r in records if r["ph"] == "X"]
    assert len(slices) == len(result.profile.events)
    starts, ends = ({r["id"]: r for r in records if r["ph"] == ph} for ph in "sf")
    assert starts.keys() == ends.keys()
    assert len(starts) == (result.profile.events["kind"] == "send").sum()
    for number, start in starts.items():
        assert start["ts"] <= ends[number]["ts"]  # one clock
        assert start["tid"] != ends[number]["tid"]
        assert start["name"] == ends[number]["name"]
    chrome_trace.check(tmp_path / "ranks.json")
    result.save_trace(tmp_path / "few.json", message_limit=1)
    chrome_trace.check(tmp_path / "few.json")
    few = json.loads((tmp_path / "few.json").read_text())["traceEvents"]
    assert sum(r["ph"] == "s" for r in few) == 1


def test_runs_without_events_say_how_to_keep_them(tmp_path):
    result = factor(2)
    for ask in (result.plot.timeline, lambda: result.save_trace(tmp_path / "trace.json")):
        with pytest.raises(cy.ExecutionError, match="event_limit") as caught:
            ask()
        assert caught.value.code == "CYC717"
    with pytest.raises(cy.ExecutionError) as caught:
        result.plot.utilization()
    assert caught.value.code == "CYC712"
    with pytest.raises(cy.ExecutionError) as caught:
        cy.run(result.program, backend="local", event_limit=5)
    assert caught.value.code == "CYC733"


def test_every_rank_of_a_launcher_has_the_same_profile():
    script = """
    import cyclotron as cy, hashlib
    from kernels import matmul
    A = np.arange(36.0).reshape(6, 6)
    schedule = cy.Schedule().space("i").time("j", "k").stream("B", along="i").rotate("k", by="i")
    program = matmul.compile(cy.blocked(A, 2), cy.blocked(A, 2), schedule=schedule)
    tiles = [cy.distribute(A, cy.Layout(block=(2, 2), owner=lambda i, j: 2)) for _ in "AB"]
    made = cy.run(program, *tiles, backend="mpi", event_limit=1000)
    assert [sum(r["words_fetched"].values()) > 0 for r in made.profile] == [True, True, False]
    assert sum(made.profile[2]["words_given"].values()) == sum(
        sum(r["words_fetched"].values()) for r in made.profile
    )
    assert (np.bincount(made.profile.events["rank"]) > 0).tolist() == [True] * 3
    events = made.profile.events
    for number, rank in enumerate(made.profile):
        assert rank["give"].keys() == rank["words_given"].keys()
        for name, seconds in rank["give"].items():
            own = events[(events["rank"] == number) & (events["kind"] == "send") & (events["name"] == name)]
            assert abs((own["end"] - own["start"]).sum() - seconds) <= 1e-6 * seconds + 1e-9
    assert "gives tiles of" in str(made.profile)
    text = str(made.profile) + made.profile.events.tobytes().hex()
    report(hashlib.sha256(text.encode()).hexdigest())
"""
    assert len(set(launch(3, script))) == 1
