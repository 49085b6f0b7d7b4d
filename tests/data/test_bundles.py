"""Stages and failing cases as files; arrays of other libraries; the fixture for tests of users."""

import gc
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from small_kernels import matmul, twice_scaled

import cyclotron as cy
from cyclotron.compiler import case

ROOT = Path(__file__).resolve().parents[2]
pytest_plugins = ["pytester"]


@cy.kernel
def choleskys_of(A):
    L = cy.empty(A.shape)
    n = A.shape[0]
    for j in range(n):
        for i in range(j, n):
            rest = A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))
            L[i, j] = cy.sqrt(rest) if i == j else rest / L[j, j]
    return L


def test_every_stage_is_dumped(tmp_path, monkeypatch):
    monkeypatch.setenv("CYCLOTRON_DUMP", str(tmp_path / "stages"))
    program = matmul.compile(np.ones((3, 5)), np.ones((5, 2)))
    (folder,) = (tmp_path / "stages").iterdir()
    assert folder.name.endswith("-matmul")
    texts = {path.name: path.read_text() for path in folder.iterdir() if path.suffix != ".cyc"}
    assert texts["recurrences.txt"].strip() == str(program.recurrences).strip()
    assert texts["dataflow.txt"].strip() == str(program.dataflow).strip()
    assert texts["kernel.py"].strip() == matmul.source.strip()
    assert texts["schedule-given.txt"] == "none\n"
    assert texts["schedule.txt"].strip() == repr(program.schedule)
    assert {"placed.txt", "program.txt", "memory.txt", "machine.txt", "explanation.txt"} <= set(texts)
    assert cy.load(folder / "program.cyc") == program


def test_a_refusal_leaves_the_stages_before_it(tmp_path, monkeypatch):
    monkeypatch.setenv("CYCLOTRON_DUMP", str(tmp_path))
    with pytest.raises(cy.CyclotronError):
        matmul.compile(np.ones((3, 6)), np.ones((6, 2)), schedule=cy.Schedule().space("nowhere"))
    (folder,) = tmp_path.iterdir()
    assert "nowhere" in (folder / "error.txt").read_text()
    assert (folder / "recurrences.txt").exists()
    assert not (folder / "program.cyc").exists()


def test_a_dump_that_cannot_be_written_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CYCLOTRON_DUMP", str(tmp_path / "file"))
    with pytest.raises(OSError, match="file"):
        matmul.compile(np.ones((3, 7)), np.ones((7, 2)))


def unpacked(tmp_path, *arguments):
    cy.save_repro(tmp_path / "case.zip", *arguments)
    with zipfile.ZipFile(tmp_path / "case.zip") as bundle:
        bundle.extractall(tmp_path / "case")
    return tmp_path / "case"


def again(folder):
    return subprocess.run(
        [sys.executable, "repro.py"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "CYCLOTRON_CACHE_DIR": ""},
        capture_output=True,
        text=True,
    )


def test_a_refused_compilation_is_refused_again(tmp_path):
    schedule = cy.Schedule().space("i", "j").time("-k").rotate("k", by="i")
    with pytest.raises(cy.CyclotronError) as caught:
        matmul.compile(cy.blocked(np.ones((4, 4)), 2), cy.blocked(np.ones((4, 4)), 2), schedule=schedule)
    folder = unpacked(tmp_path, caught.value)
    assert caught.value.code in (folder / "error.txt").read_text()
    assert json.loads((folder / "versions.json").read_text())["cyclotron"] == cy.__version__
    assert json.loads((folder / "arguments.json").read_text())[0] == {
        "name": "A",
        "dtype": "float64",
        "shape": [4, 4],
        "tile": [2, 2],
    }
    run = again(folder)
    assert run.returncode == 1
    assert caught.value.code in run.stderr
    assert caught.value.message in run.stderr


def test_a_run_with_all_that_its_text_refers_to(tmp_path):
    result = cy.run(twice_scaled.compile(np.ones(3), 2.0), backend="sim", event_limit=0)
    assert result.output.tolist() == [7.0] * 3
    folder = unpacked(tmp_path)
    text = (folder / "repro.py").read_text()
    assert "FACTOR = 3.0" in text
    assert "backend='sim', event_limit=0" in text
    run = again(folder)
    assert run.returncode == 0, run.stderr
    assert not (folder / "error.txt").exists()


def test_the_error_being_handled_is_in_it(tmp_path):
    try:
        matmul.compile(np.ones((3, 3)), np.ones((3, 3)), machine=cy.Machine(pe=cy.PE(memory=1)))
    except cy.CyclotronError as error:
        code = error.code
        folder = unpacked(tmp_path)
    assert code in (folder / "error.txt").read_text()
    assert code in again(folder).stderr


def test_nothing_compiled_nothing_to_save(tmp_path, monkeypatch, golden):
    monkeypatch.setattr(case, "_LAST", [])
    with pytest.raises(cy.ProgramError) as caught:
        cy.save_repro(tmp_path / "case.zip")
    golden("refusals/no-case.txt", str(caught.value) + "\n")
    assert not (tmp_path / "case.zip").exists()


def test_a_kernel_that_is_gone_is_not_saved(tmp_path, golden):
    def run():
        @cy.kernel
        def thrice(x):
            return 3 * x

        return cy.run(thrice.compile(np.ones(2)), backend="sim").output.tolist()

    assert run() == [3, 3]
    gc.collect()
    with pytest.raises(cy.ProgramError) as caught:
        cy.save_repro(tmp_path / "case.zip")
    golden("refusals/case-gone.txt", str(caught.value) + "\n")
    assert not (tmp_path / "case.zip").exists()


def test_a_kernel_of_a_function_is_there_while_its_error_is(tmp_path):
    def refused():
        @cy.kernel
        def thrice(x):
            return 3 * x

        thrice.compile(np.ones(2), schedule=cy.Schedule().space("nowhere"))

    with pytest.raises(cy.ScheduleError) as caught:
        refused()
    gc.collect()
    folder = unpacked(tmp_path, caught.value)
    assert "def thrice(x)" in (folder / "repro.py").read_text()


def test_arrays_are_not_kept_alive():
    import weakref

    A = np.ones((3, 8))
    alive = weakref.ref(A)
    matmul.compile(A, np.ones((8, 2)))
    del A
    assert alive() is None


class Foreign:
    """An array of another library, as DLPack shows it."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        if self.device != (1, 0):
            raise BufferError("the array is on a GPU")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class OnDevice:
    """As CuPy's arrays, which NumPy refuses to convert."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")


def test_arrays_by_dlpack():
    A, B = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2)
    assert np.array_equal(matmul(Foreign(A), Foreign(B.T).array.T), A @ B)
    program = matmul.compile(Foreign(A), Foreign(B))
    assert np.shares_memory(program.arguments[0], A)
    assert np.array_equal(cy.run(program, Foreign(2 * A), B, backend="sim").output, 2 * A @ B)


@pytest.mark.parametrize("array", [Foreign(np.ones((2, 2)), device=(2, 0)), OnDevice()])
def test_arrays_elsewhere_are_refused(array):
    with pytest.raises(cy.ShapeError, match="CYC116") as caught:
        matmul.compile(array, np.ones((2, 2)))
    assert "memory of this process" in caught.value.help
    with pytest.raises(cy.ShapeError, match="CYC710"):
        cy.run(matmul.compile(np.ones((2, 2)), np.ones((2, 2))), array, np.ones((2, 2)))


@pytest.mark.parametrize("package", ["torch", "jax.numpy"])
def test_arrays_of(package):
    library = pytest.importorskip(package)
    A = library.ones((2, 3)) * 2
    assert np.array_equal(matmul(A, A.T), np.full((2, 2), 12))


def test_the_fixture_for_tests(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeconftest('pytest_plugins = ["cyclotron.pytest_plugin"]')
    pytester.makepyfile(
        test_kernels="""
        import numpy as np
        import cyclotron as cy

        @cy.kernel
        def double(x):
            return 2 * x

        @cy.kernel
        def third(x):
            return x / 3

        def test_right(cyclotron_check):
            check = cyclotron_check(double, np.arange(3.0), machine=cy.Machine(grid=(3,)))
            assert set(check.errors) == {"sim", "local"}
            cyclotron_check(double.compile(np.arange(3.0)), backends=["sim"])

        def test_wrong(cyclotron_check):
            third.reference = lambda *a: np.zeros(3)
            cyclotron_check(third, np.ones(3))
        """
    )
    outcome = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:cyclotron")
    outcome.assert_outcomes(passed=1, failed=1)
    outcome.stdout.fnmatch_lines(["*differ*"])


def test_an_error_that_is_none_is_refused(tmp_path):
    with pytest.raises(cy.ProgramError, match="is a `float`") as caught:
        cy.save_repro(tmp_path / "case.zip", 1.5)
    assert caught.value.code == "CYC622"
