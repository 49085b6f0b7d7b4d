"""Loops on scalars in the machine's own code: the interpreter's bits, and what NumPy has."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from test_refusals_of_files import edited

import cyclotron as cy
from cyclotron import _core
from cyclotron.runtime.backend import arrays_of, empty_outputs

COMPILER = shutil.which("cc") or ""
pytestmark = pytest.mark.skipif(not COMPILER, reason="no C compiler here")
RNG = np.random.default_rng(7)


@cy.kernel
def floyd_warshall(D):
    D = D.copy()
    for k in range(D.shape[0]):
        for i in range(D.shape[0]):
            for j in range(D.shape[0]):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])
    return D


@cy.kernel
def floyd_warshall_of_arrays(D):
    D = D.copy()
    for k in range(D.shape[0]):
        D = cy.minimum(D, D[:, k : k + 1] + D[k : k + 1, :])
    return D


@cy.kernel
def least_sums(A, B):
    C = cy.empty((A.shape[0], B.shape[1]), dtype=A.dtype)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = min(A[i, k] + B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def gauss_jordan(A):
    n = A.shape[0]
    M = A.copy()
    for k in range(n):
        p = 1 / M[k, k]
        for j in range(n):
            if j != k:
                M[k, j] = M[k, j] * p
        for i in range(n):
            if i != k:
                for j in range(n):
                    if j != k:
                        M[i, j] -= M[i, k] * M[k, j]
                M[i, k] = -M[i, k] * p
        M[k, k] = p
    return M


@cy.kernel
def gram_schmidt(A):
    m, n = A.shape
    V = A.copy()
    R = cy.zeros((n, n))
    for k in range(n):
        R[k, k] = cy.sqrt(sum(V[i, k] * V[i, k] for i in range(m)))
        for i in range(m):
            V[i, k] = V[i, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = sum(V[i, k] * V[i, j] for i in range(m))
            for i in range(m):
                V[i, j] = V[i, j] - V[i, k] * R[k, j]
    return V, R


@cy.kernel
def sylvester(A, B, C):
    X = cy.empty_like(C)
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            X[i, j] = (
                C[i, j] - sum(A[i, k] * X[k, j] for k in range(i)) - sum(X[i, k] * B[k, j] for k in range(j))
            ) / (A[i, i] + B[j, j])
    return X


@cy.kernel
def averages(x, steps):
    """Two vectors take turns: a circular buffer of rows."""
    n = x.shape[0]
    u = cy.empty((20, n), dtype=x.dtype)
    for i in range(n):
        u[0, i] = x[i]
    for t in range(1, 20):
        u[t, 0] = u[t - 1, 0]
        u[t, n - 1] = u[t - 1, n - 1]
        for i in range(1, n - 1):
            u[t, i] = (u[t - 1, i - 1] + u[t - 1, i] + u[t - 1, i + 1]) * steps
    return u[19]


@cy.kernel
def choices(x, y):
    """Conditions on data and on indices, numbers of indices, and several dtypes."""
    n = x.shape[0]
    z = cy.zeros((n, n))
    w = cy.zeros((n, n), dtype=cy.int64)
    for i in range(n):
        for j in range(n):
            if (i + j) % 3 == 1:
                z[i, j] = x[i] - i if x[i] > y[j] else abs(y[j]) * j
            else:
                w[i, j] = max(i * j, 7) - (5 if x[i] <= y[j] else i)
    return z, w


def arrays_for(program):
    """Return the arrays of a run, and those of them that it writes."""
    outputs = empty_outputs(program)
    return arrays_of(program, program.inputs(), outputs), outputs


def run(program, compiler, threads=1, seconds_to_look=0.0, folder=""):
    arrays, outputs = arrays_for(program)
    told = _core.run_local(
        program.core, arrays, threads=threads, loops=(compiler, folder), seconds_to_look=seconds_to_look
    )
    return list(outputs.values()), told


def bits(array):
    """Return the bytes; those of NaN have a sign that processors choose by the order of operands."""
    return (np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else array).tobytes()


def compiled(kernel, *arguments, threads=1, compiler=COMPILER, schedule=None):
    """Return the outputs of the compiled loops: the interpreter's, which ends and raises the same."""
    if schedule is None:
        program = cy.run(kernel, *arguments, threads=threads, tile=None).program
    else:
        program = kernel.compile(*arguments, schedule=schedule)
    wanted = run(program, "", threads)
    assert _core.compile_loops(program.core, arrays_for(program)[0], (compiler, "")) > 0
    got = run(program, compiler, threads)
    for array, expected in zip(got[0], wanted[0], strict=True):
        assert bits(array) == bits(expected)
    assert got[1] == wanted[1]
    return got[0]


def shortest(D):
    D = D.copy()
    for k in range(len(D)):
        D = np.minimum(D, D[:, k : k + 1] + D[k : k + 1])
    return D


@pytest.mark.parametrize("kernel", [floyd_warshall, floyd_warshall_of_arrays])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
@pytest.mark.parametrize("n", [4, 9, 40])
def test_shortest_paths(kernel, dtype, n):
    D = (RNG.random((n, n)) * 1000).astype(dtype)
    np.testing.assert_array_equal(compiled(kernel, D)[0], shortest(D))


@pytest.mark.parametrize("threads", [1, 2])
def test_products_in_another_semiring(threads, monkeypatch):
    for name in ("_LONG", "_VERY_LONG", "_FEW_PES", "_SECONDS_AN_INSTRUCTION"):
        monkeypatch.setattr(f"cyclotron.compiler.defaults.{name}", 0)
    A, B = RNG.random((30, 17)), RNG.random((17, 23))
    wanted = (A[:, :, None] + B[None]).min(axis=1)
    np.testing.assert_array_equal(compiled(least_sums, A, B, threads=threads)[0], wanted)


@pytest.mark.parametrize("n", [7, 31])
def test_inverses_factors_and_equations(n):
    A, B, C = (RNG.random((n, n)) + n * np.eye(n) for _ in range(3))
    np.testing.assert_allclose(compiled(gauss_jordan, A)[0], np.linalg.inv(A), rtol=1e-10, atol=1e-12)
    V, R = compiled(gram_schmidt, A)
    np.testing.assert_allclose(V @ R, A, rtol=1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(n), atol=1e-12)
    np.testing.assert_array_equal(np.tril(R, -1), 0)
    lower, upper = np.tril(A), np.triu(B)
    X = compiled(sylvester, lower, upper, C)[0]
    np.testing.assert_allclose(lower @ X + X @ upper, C, rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_vectors_that_take_turns(dtype, sources):
    x = RNG.random(50).astype(dtype)
    wanted = x.copy()
    for _ in range(19):
        inside = (wanted[:-2] + wanted[1:-1] + wanted[2:]) * np.dtype(dtype).type(0.25)
        wanted = np.concatenate([wanted[:1], inside, wanted[-1:]])
    compiler, texts = sources
    got = compiled(averages, x, np.dtype(dtype).type(0.25), compiler=compiler)[0]
    np.testing.assert_array_equal(got, wanted)
    assert re.search(r"m\d+ == m\d+ \+ -?\d+LL", texts())  # places that vectors have to be known apart


@cy.kernel
def points_that_leave(re, im, steps):
    x = cy.zeros_like(re)
    y = cy.zeros_like(re)
    inside = cy.zeros(re.shape, dtype=cy.int32)
    for _ in range(steps):
        before = x * x - y * y + re
        y = 2 * x * y + im
        x = before
        inside = inside + (x * x + y * y <= 4)
    return inside


@pytest.mark.parametrize("n", [5, 64, 333])
def test_a_buffer_of_one_more_goes_round(n):
    """An iteration reads where the one before wrote, or at the other end of the buffer."""
    points = RNG.standard_normal((2, n)) / 2
    wanted = points_that_leave.reference(*points, 8)
    np.testing.assert_array_equal(compiled(points_that_leave, *points, 8)[0], wanted)


def test_conditions_and_numbers_of_indices():
    n = 37
    x, y = RNG.standard_normal((2, n))
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    more = x[:, None] > y[None]
    there = (i + j) % 3 == 1
    z, w = compiled(choices, x, y)
    np.testing.assert_array_equal(z, np.where(there, np.where(more, x[:, None] - i, abs(y) * j), 0.0))
    np.testing.assert_array_equal(w, np.where(there, 0, np.maximum(i * j, 7) - np.where(more, i, 5)))


def test_numbers_that_are_none():
    """NaN goes where the interpreter has it go, and so do the signs of zeros."""
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0])
    A, B = RNG.choice(values, (20, 20)), RNG.choice(values, (20, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(floyd_warshall, A)
        compiled(floyd_warshall_of_arrays, A)
        compiled(least_sums, A, B)
        compiled(gauss_jordan, A)
        compiled(choices, A[0], B[0])


def test_integers_wrap():
    D = RNG.integers(-(1 << 63), (1 << 63) - 1, (20, 20))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(compiled(floyd_warshall_of_arrays, D)[0], shortest(D))


def test_arrays_with_other_strides_and_the_same_array_twice():
    whole = RNG.random((60, 60))
    for A in (whole[::2, ::3], whole.T, whole[::-1, ::-1], np.asfortranarray(whole)):
        wanted = (A[:, :, None] + A.T[None]).min(axis=1)
        np.testing.assert_array_equal(compiled(least_sums, A, A.T)[0], wanted)
    np.testing.assert_array_equal(compiled(floyd_warshall, whole[::3, ::-3])[0], shortest(whole[::3, ::-3]))


@cy.kernel
def normalized_rows(A):
    mean = A.mean(axis=1, keepdims=True)
    variance = ((A - mean) ** 2).mean(axis=1, keepdims=True)
    return (A - mean) / cy.sqrt(variance + 1e-5)


@cy.kernel
def sums_of_rows(A):
    s = cy.zeros(A.shape[0], dtype=A.dtype)
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            s[i] += A[i, j]
    return s


@cy.kernel
def sum_of_columns(A):
    """One number, whose order of terms is that of the columns."""
    s = 0.0
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            s = s * 0.5 + A[i, j]
    return s


@cy.kernel
def slanted(A):
    """An element takes one that the column before has, further down: no block may have run ahead."""
    n, m = A.shape
    s = cy.zeros(n + m)
    for j in range(m):
        for i in range(n):
            s[i] = s[i + 1] + A[i, j]
    return s[:n]


@cy.kernel
def last_of_each(A):
    """Of the terms of an element, the last one stays."""
    n, m = A.shape
    last = cy.zeros(n + m)
    for j in range(m):
        for i in range(n):
            last[i + j] = A[i, j]
    return last


@pytest.fixture
def sources(tmp_path):
    """A compiler, and the texts that it was given."""
    (tmp_path / "cc").write_text(
        f'#!/bin/sh\nfor a; do case $a in *.c) cp "$a" {tmp_path}/$$.c;; esac; done\nexec {COMPILER} "$@"\n'
    )
    (tmp_path / "cc").chmod(0o700)
    return str(tmp_path / "cc"), lambda: "".join(text.read_text() for text in tmp_path.glob("*.c"))


@pytest.mark.parametrize("shape", [(40, 33), (300, 260), (3, 90), (17, 9)])
@pytest.mark.parametrize(
    ("kernel", "in_blocks"),
    [(normalized_rows, True), (sums_of_rows, True), (sum_of_columns, False), (slanted, False)],
)
def test_blocks_of_rows(kernel, in_blocks, shape, sources):
    """Loops down the columns of an array in rows go through some rows at once, where numbers stay equal."""
    A = RNG.random(shape)
    compiler, texts = sources
    down = cy.Schedule().time("j", "i")
    got = compiled(kernel, A, compiler=compiler, schedule=down)[0]
    np.testing.assert_allclose(got, kernel.reference(A), rtol=1e-12, atol=1e-12)
    assert ("in blocks" in texts()) == in_blocks
    by_columns = np.asfortranarray(A)  # its columns lie as the loops go
    got = compiled(kernel, by_columns, schedule=down)[0]
    np.testing.assert_allclose(got, kernel.reference(A), rtol=1e-12, atol=1e-12)


def test_the_last_number_of_an_element_stays():
    A = RNG.random((300, 260))
    down = cy.Schedule().time("j", "i")
    np.testing.assert_array_equal(compiled(last_of_each, A, schedule=down)[0], last_of_each.reference(A))


def test_a_run_goes_over_while_it_runs():
    """The compiler starts at once, and is ready before the run is over, or after it."""
    D = RNG.random((300, 300))
    program = cy.run(floyd_warshall_of_arrays, D, threads=1, tile=None).program
    for _ in range(6):
        np.testing.assert_array_equal(run(program, COMPILER)[0][0], shortest(D))


@cy.kernel
def counted_on(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] + 1
    return y


def test_an_output_in_the_memory_of_an_input():
    """Each element is what the iteration before has stored, whatever the compiler would do at once."""
    program = cy.run(counted_on, np.zeros(100), threads=1, tile=None).program
    for compiler in ("", COMPILER):
        memory = np.zeros(101)
        arrays = [memory[:-1], memory[1:]]
        _core.compile_loops(program.core, arrays, (compiler, ""))
        _core.run_local(program.core, arrays, threads=1, loops=(compiler, ""), seconds_to_look=0.0)
        np.testing.assert_array_equal(memory, np.arange(101.0))


def changed(change):
    """The program of `floyd_warshall` from a file whose loops or slots were changed."""

    def change_code(text):
        (own,) = text["classes"]
        for one in own["code"]:
            if one["do"] == "loop" and one["name"] == "j" and one["upper"][0]["form"] == [5]:
                one["upper"][0]["form"] = [change.get("last", 5)]
        own["slots"][6]["count"] = change.get("count", 36)

    program = cy.run(floyd_warshall, np.ones((6, 6)), threads=1, tile=None).program
    return cy.Program(edited(change_code, program))


@pytest.mark.parametrize("change", [{"last": 6}, {"last": 1 << 33}, {"count": 35}, {"count": 31}])
def test_what_leaves_a_tensor_or_a_slot_is_refused_as_ever(change):
    """The step that does so is the interpreter's, whatever was compiled."""
    program = changed(change)
    D = RNG.random((6, 6))

    def refusal(compiler):
        outputs = empty_outputs(program)
        arrays = arrays_of(program, {program.tensors[0]["name"]: D}, outputs)
        if compiler:
            assert _core.compile_loops(program.core, arrays, (compiler, "")) > 0
        with pytest.raises(cy.ExecutionError) as refused:
            _core.run_local(program.core, arrays, threads=1, loops=(compiler, ""), seconds_to_look=0.0)
        return str(refused.value)

    assert "CYC703" in refusal("")
    assert refusal(COMPILER) == refusal("")


def test_an_unchanged_file_runs():
    program = changed({})
    D = RNG.random((6, 6))
    outputs = empty_outputs(program)
    arrays = arrays_of(program, {program.tensors[0]["name"]: D}, outputs)
    assert _core.compile_loops(program.core, arrays, (COMPILER, "")) > 0
    _core.run_local(program.core, arrays, threads=1, loops=(COMPILER, ""), seconds_to_look=0.0)
    np.testing.assert_array_equal(next(iter(outputs.values())), shortest(D))


def test_long_runs_are_compiled_by_default(monkeypatch, tmp_path):
    monkeypatch.setenv("CYCLOTRON_CC", COMPILER)
    monkeypatch.setenv("CYCLOTRON_CACHE_DIR", str(tmp_path))
    D = RNG.random((200, 200))
    wanted = shortest(D)
    for _ in range(1000):
        np.testing.assert_array_equal(cy.run(floyd_warshall, D).output, wanted)
        if any(tmp_path.glob("*.loops")):
            break
    assert cy.cache.info()["entries"] >= 2
    cy.cache.clear()
    assert not list(tmp_path.glob("*.loops"))


@pytest.mark.parametrize("compiler", ["/nowhere/cc", "false", "true"])
def test_without_a_compiler_the_interpreter_goes_on(compiler):
    D = RNG.random((33, 33))
    program = cy.run(floyd_warshall, D, threads=1).program
    assert (
        _core.compile_loops(program.core, arrays_for(program)[0], (shutil.which(compiler) or compiler, ""))
        == 0
    )
    np.testing.assert_array_equal(run(program, compiler)[0][0], shortest(D))


_LATER = """
import sys
from pathlib import Path
import numpy as np
import cyclotron as cy
from cyclotron import _core
from cyclotron.runtime.backend import arrays_of, empty_outputs
path, compiler, folder = sys.argv[1:]
program = cy.load(path)
D = np.arange(64.0).reshape(8, 8)
outputs = empty_outputs(program)
arrays = arrays_of(program, {program.tensors[0]["name"]: D}, outputs)
print(_core.compile_loops(program.core, arrays, (compiler, folder)))
_core.run_local(program.core, arrays, loops=(compiler, folder), seconds_to_look=0.0)
print(*outputs.values())
"""


def test_a_later_process_finds_what_is_compiled(tmp_path):
    compiler, folder = tmp_path / "compiler", tmp_path / "kept"
    program = cy.run(floyd_warshall, np.ones((8, 8)), threads=1).program
    program.save(tmp_path / "paths.cyc")
    wanted = f"{shortest(np.arange(64.0).reshape(8, 8))}"

    def answer(command: str) -> list[str]:
        compiler.write_text(f"#!/bin/sh\n{command}\n")
        compiler.chmod(0o700)
        words = [sys.executable, "-c", _LATER, tmp_path / "paths.cyc", compiler, folder]
        count, _, numbers = subprocess.run(
            list(map(str, words)), capture_output=True, text=True, check=True
        ).stdout.partition("\n")
        assert numbers.strip() == wanted
        return [count]

    found = answer(f'exec {COMPILER} "$@"')
    assert int(found[0]) > 0
    (kept,) = folder.glob("*.loops")
    assert answer("exit 1") == found
    kept.chmod(0o722)  # others may have written it
    assert answer("exit 1") == ["0"]
    kept.chmod(0o700)
    kept.write_bytes(b"")
    assert answer("exit 1") == ["0"]
    assert not list(Path(folder).glob(".*"))
