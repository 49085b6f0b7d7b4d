"""The kernel as an object: its text, its intermediate language, and what the text alone tells."""

from __future__ import annotations

import gc
import importlib
import math
import runpy
import sys
import textwrap
import weakref
from pathlib import Path

import numpy as np
import pytest
import test_accumulations
import test_constructs
import test_kernels
from oracle import RecordedSystem, agree, evaluate, record

import cyclotron as cy
from cyclotron import il

KERNELS = {
    name: value
    for module in (test_kernels, test_constructs, test_accumulations)
    for name, value in vars(module).items()
    if isinstance(value, cy.Kernel)
}
SHAPES = {"image": (5, 2), "weights": (3, 1)}


def arguments(kernel: cy.Kernel) -> list[object]:
    """Specs by the parameters' names; a lower-case name is a vector, some are numbers."""
    result: list[object] = []
    for name in kernel.signature.parameters:
        shape = SHAPES.get(name, (4, 4) if name.isupper() else (4,))
        if kernel.name.startswith("prefix"):
            shape = (4,)
        result.append(2 if name in ("factor", "shift") else cy.spec(shape))
    return result


@cy.kernel
def matmul(A, B):
    """The product."""
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


def test_il_of_matmul() -> None:
    """The printed text: imports, the program, one line for each statement."""
    assert matmul.il() == textwrap.dedent(
        """\
        from cyclotron import il

        @il.program
        def matmul(A, B):
            C = il.empty((A.shape[0], B.shape[1]), name='C')
            with il.loop('i', A.shape[0]) as i:
                with il.loop('j', B.shape[1]) as j:
                    C[i, j] = il.sum('k', 0, A.shape[1], lambda k: A[i, k] * B[k, j])
            return il.outputs(C=C)
        """
    )
    assert matmul.il() == matmul.il(np.ones((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize("name", KERNELS)
def test_the_printed_program_runs(name: str, tmp_path: Path) -> None:
    """The text of `il()` is Python: running it records the same system."""
    kernel = KERNELS[name]
    path = tmp_path / "program.py"
    path.write_text(kernel.il(), encoding="utf-8")
    program = runpy.run_path(str(path))[kernel.name]
    assert program.il() == path.read_text(encoding="utf-8").split("\n\n", 1)[1].rstrip("\n")
    first, second = record(kernel, *arguments(kernel)), record(program, *arguments(kernel))
    assert first.exprs == second.exprs
    assert first.tensors == second.tensors
    assert [e.domain for e in first.equations] == [e.domain for e in second.equations]


@il.program
def handwritten(A):
    n = A.shape[0]
    P = il.zeros_like(A)
    with il.loop("i", 1, n) as i:
        with il.where(i == 1):
            P[i] = A[0]
        with il.otherwise():
            P[i] = P[i - 1] + il.sum("k", 0, i, lambda k: A[k], where=lambda k: k != 1)
    return il.outputs(P=P)


def test_a_program_written_by_hand() -> None:
    A = np.array([1.0, 2.0, 3.0, 4.0])
    system = record(handwritten, A)
    found = evaluate(system, {"A": A})
    np.testing.assert_array_equal(found["P"], [0, 1, 1 + 1, 2 + 1 + 3])
    assert handwritten.returns == "dict"
    with pytest.raises(cy.TraceError, match="CYC118"):
        handwritten.reference(A)


def test_attributes_and_texts() -> None:
    assert (matmul.name, matmul.__name__, matmul.__doc__) == ("matmul", "matmul", "The product.")
    assert matmul.file == __file__
    assert Path(__file__).read_text().splitlines()[matmul.first_line - 1] == "@cy.kernel"
    assert matmul.source.startswith("@cy.kernel\ndef matmul(A, B):\n    ")
    assert matmul.source.endswith("return C")
    assert repr(matmul) == "<kernel matmul(A, B)>"
    html = matmul._repr_html_()
    assert html.startswith("<pre")
    assert "&quot;" in html
    assert matmul.returns == "single"
    assert matmul.__wrapped__ is not None


def test_a_kernel_is_made_from_a_function() -> None:
    for wrong in (3, len, matmul):
        with pytest.raises(cy.TraceError, match="CYC116"):
            cy.kernel(wrong)
    with pytest.raises(cy.TraceError, match="CYC100"):
        record(cy.kernel(lambda x: x), cy.spec(3))


def test_a_kernel_without_source_has_a_reference() -> None:
    names: dict[str, object] = {"cy": cy}
    exec("def double(x):\n    y = cy.empty_like(x)\n    y[0] = 2 * x[0]\n    return y\n", names)
    kernel = cy.kernel(names["double"])
    assert kernel.reference(np.array([3.0])) == [6.0]
    with pytest.raises(cy.TraceError, match="CYC100"):
        record(kernel, np.array([3.0]))


def test_a_changed_source_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "changing.py"
    text = "import cyclotron as cy\n@cy.kernel\ndef f(x):\n    y = cy.empty_like(x)\n    return y\n"
    path.write_text(text)
    kernel = runpy.run_path(str(path))["f"]
    path.write_text("# a new line\n" + text)
    with pytest.raises(cy.TraceError, match="CYC100"):
        record(kernel, np.ones(3))


def test_the_name_il_may_be_taken() -> None:
    @cy.kernel
    def shift(il):
        X = cy.empty_like(il)
        for i in range(len(il)):
            X[i] = il[i]
        return X

    assert "with il2.loop" in shift.il()
    agree(shift, np.ones(2))


def test_an_empty_closure_cell_and_recursion_of_names() -> None:
    @cy.kernel
    def early(x):
        X = cy.empty_like(x)
        for i in range(len(x)):
            X[i] = later * x[i]
        return X

    with pytest.raises(cy.TraceError, match=r"'later'.*CYC105"):
        record(early, np.ones(2))
    later = 3.0
    agree(early, np.ones(2))


def test_a_failing_trace_leaves_nothing_active() -> None:
    """An error of the user's own function passes through, and plain calls mean NumPy again."""

    def root(value: float) -> float:
        return math.sqrt(value)

    @cy.kernel
    def failing(x):
        X = cy.empty_like(x)
        X[0] = x[0] * root(-1)
        return X

    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        record(failing, np.ones(2))
    assert type(cy.empty(2)) is np.ndarray


def test_two_traces_do_not_mix() -> None:
    """A tensor that got out of a run is refused in another."""
    kept = []

    @cy.kernel
    def leaking(x):
        X = cy.empty_like(x)
        with cy.host():
            kept.append(X)
        for i in range(len(x)):
            X[i] = x[i]
        return X

    record(leaking, np.ones(2))

    @cy.kernel
    def using(x):
        X = cy.empty_like(x)
        for i in range(len(x)):
            X[i] = kept[0][i]
        return X

    with pytest.raises(cy.TraceError, match="CYC118"):
        record(using, np.ones(2))


def test_equations_shape() -> None:
    """The kernel as its text alone tells it, with named subexpressions in their places."""
    (equation,) = matmul.equations_shape()
    assert (equation.target, equation.subscripts) == ("C", ("i", "j"))
    assert (equation.loops, equation.reductions) == (("i", "j"), ("k",))
    assert [(o.tensor, o.subscripts) for o in equation.operands] == [("A", ("i", "k")), ("B", ("k", "j"))]
    (solve,) = test_kernels.solve_left.equations_shape()
    assert {o.tensor for o in solve.operands} == {"L", "B", "X"}
    assert solve.reductions == ("j",)
    (local,) = test_kernels.solve_left_local.equations_shape()
    assert (local.loops, local.reductions) == (("i", "r"), ("j",))
    assert {o.tensor for o in local.operands} == {"L", "B", "X"}
    (accumulated,) = test_kernels.matmul_k_outermost.equations_shape()
    assert (accumulated.loops, accumulated.reductions) == (("i", "j"), ("k",))


def test_recurrences_of_the_core() -> None:
    """The same system from the C++ core, verified there."""
    text = str(matmul.recurrences(cy.spec((2, 3)), cy.spec((3, 4))))
    assert "C[i, j] = Σ_{0 <= k <= 2} (A[i, k] · B[k, j])    0 <= i <= 1 and 0 <= j <= 3" in text


def test_builders_only_need_the_protocol() -> None:
    _, trace = matmul.build(RecordedSystem, cy.spec((2, 3)), cy.spec((3, 4)))
    assert list(trace.outputs) == ["C"]


FACTOR: object = 2


@cy.kernel
def scaled(A):
    X = cy.empty_like(A)
    for i in range(A.shape[0]):
        X[i] = A[i] * FACTOR
    return X


@cy.kernel
def folded(A):
    X = cy.empty_like(A)
    for i in range(A.shape[0]):
        X[i] = sum(A[k] * FACTOR for k in range(A.shape[0]))
    return X


def test_globals_that_change_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of one value and of others, by Python and by NumPy."""
    for factor in (2, 5, 2.5, True, np.float64(3), 7):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        assert scaled(np.ones(3)).tolist() == [factor] * 3
        assert folded(np.ones(3)).tolist() == [3 * factor] * 3


def helped(value):  # type: ignore[no-untyped-def]
    return value * FACTOR


class Settings:
    factor = 1


SETTINGS = Settings()


@cy.kernel
def by_helper(X):  # type: ignore[no-untyped-def]
    Y = cy.empty_like(X)
    for i in range(X.shape[0]):
        Y[i] = helped(X[i]) + X[i] * SETTINGS.factor
    return Y


@cy.kernel
def signed(X):  # type: ignore[no-untyped-def]
    Y = cy.empty_like(X)
    for i in range(X.shape[0]):
        Y[i] = X[i] / FACTOR
    return Y


def test_what_functions_and_objects_read_is_seen_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.ones(2)
    for factor in (2, 3, 7):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        SETTINGS.factor = 10 * factor
        assert cy.run(by_helper.compile(X)).output.tolist() == [11 * factor] * 2
    for zero in (np.float64(0.0), np.float64(-0.0)):
        monkeypatch.setitem(globals(), "FACTOR", zero)
        assert np.signbit(cy.run(signed.compile(X)).output).tolist() == [bool(np.signbit(zero))] * 2


def test_traced_once_for_all_schedules_and_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes and dtypes are what the recurrences depend on, not globals with the names of local variables."""
    traced = []
    monkeypatch.setitem(globals(), "X", np.ones(3))
    monkeypatch.setitem(globals(), "shape", np.ones(3))
    trace = cy.Kernel.verified

    def counted(kernel: cy.Kernel, *values: object) -> object:
        traced.append(kernel)
        return trace(kernel, *values)

    monkeypatch.setattr(cy.Kernel, "verified", counted)
    for schedule in (None, cy.Schedule().space("i"), cy.Schedule().space("-i"), cy.Schedule().time("i")):
        for machine in (None, cy.Machine(grid=(4,)), cy.Machine(grid=(4,), link=cy.Link(latency=3))):
            scaled.compile(cy.spec((4,)), schedule=schedule, machine=machine)
    with pytest.raises(cy.ScheduleError):
        scaled.compile(cy.spec((4,)), schedule=cy.Schedule().space("no_index"))
    assert len(traced) == 1
    scaled.compile(cy.spec((5,)))
    scaled.compile(cy.spec((4,), "int32"))
    assert len(traced) == 3


def test_kernels_and_their_programs_go_when_nothing_refers_to_them(tmp_path: Path) -> None:
    def made() -> weakref.ref[cy.Kernel]:
        file = tmp_path / "twice.py"
        file.write_text("import cyclotron as cy\n\n\n@cy.kernel\ndef twice(x):\n    return x + x\n")
        kernel = runpy.run_path(str(file))["twice"]
        assert cy.run(kernel.compile(np.ones(2)), backend="sim").output.tolist() == [2, 2]
        return weakref.ref(kernel)

    kernel = made()
    gc.collect()
    assert kernel() is None


def test_modules_that_are_edited_are_read_anew(tmp_path, monkeypatch) -> None:
    text = "import cyclotron as cy\n\n\n@cy.kernel\ndef f(x):\n    a = x[0] {}\n    return a\n"
    path = tmp_path / "edited_module.py"
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    x = np.array([-7])
    path.write_text(text.format("+ 1"))
    module = importlib.import_module("edited_module")
    assert module.f(x) == -6
    for change, expected in (("* 10 + 3", -67), ("+ 5", -2)):
        path.write_text(text.format(change))
        importlib.reload(module)
        assert module.f(x) == module.f.reference(x) == expected
    path.write_text(text.format("- 1"))
    assert module.f(x) == -2  # what is loaded
    importlib.reload(module)
    path.write_text(text.format("- 2"))
    with pytest.raises(cy.TraceError, match="has changed since it was defined") as caught:
        module.f(x)
    assert caught.value.code == "CYC100"
