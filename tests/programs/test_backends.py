"""Every backend runs every kernel under every schedule: same bits, equal to NumPy.

CY-015 … CY-034, CY-093 … CY-098, CY-114.
"""

import cases
import numpy as np
import pytest

import cyclotron as cy

CASES = list(cases.all_cases())


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_simulator_and_threads_agree_with_numpy(case):
    program = case.compile()
    simulated = cy.run(program, backend="sim")
    local = cy.run(program, backend="local")
    assert simulated.output.tobytes() == local.output.tobytes()
    if case.exact:
        np.testing.assert_array_equal(simulated.output, cy.run(program, backend="numpy").output)
    else:
        assert cases.residual_ratio(case, simulated.output) < cases.THRESHOLD
    stats = simulated.stats
    accounted = stats["busy"] + stats["stall_empty"] + stats["stall_full"] + stats["idle"]
    assert (accounted == simulated.cycles).all()
    timed = cy.run(program, backend="sim", functional=False)
    assert timed.cycles == simulated.cycles


@pytest.mark.parametrize("case", CASES[::7], ids=[case.name for case in CASES[::7]])
def test_saved_programs_run_the_same(case, tmp_path):
    program = case.compile()
    program.save(tmp_path / "program.cyc")
    loaded = cy.load(tmp_path / "program.cyc")
    assert loaded == program
    arrays = list(program.inputs().values())
    expected = cy.run(program, backend="sim")
    for backend in ("sim", "local"):
        assert cy.run(loaded, *arrays, backend=backend).output.tobytes() == expected.output.tobytes()


@pytest.mark.parametrize("case", CASES[::5], ids=[case.name for case in CASES[::5]])
def test_the_dataflow_parses_back(case):
    dataflow = case.compile().dataflow
    assert type(dataflow).parse(str(dataflow)) == dataflow


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32", "int64"])
def test_matmul_of_every_dtype(dtype):
    rng = np.random.default_rng(0)
    A, B = (rng.integers(-3, 4, shape).astype(dtype) for shape in ((5, 4), (4, 3)))
    if dtype.startswith("complex"):
        A = A + 1j * A[::-1]
    A = A.astype(dtype)
    for arguments in ((A, B), (cy.blocked(A, (2, 2)), cy.blocked(B, (2, 2)))):
        program = cases.kernels.matmul.compile(*arguments, schedule=cases.MATMUL["output-stationary"])
        for backend in ("sim", "local"):
            output = cy.run(program, backend=backend).output
            assert output.dtype == A.dtype
            np.testing.assert_array_equal(output, A @ B)


def test_non_contiguous_and_swapped_inputs():
    rng = np.random.default_rng(0)
    A, B = cases.integers(rng, 10, 8)[::2, ::-2], cases.integers(rng, 3, 4).T
    program = cases.kernels.matmul.compile(A, B)
    expected = A @ B
    np.testing.assert_array_equal(cy.run(program).output, expected)
    swapped = A.astype(A.dtype.newbyteorder())
    np.testing.assert_array_equal(cy.run(program, swapped, B).output, expected)
    read_only = A.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(cy.run(program, read_only, B).output, expected)


@pytest.mark.parametrize(("n", "k", "m"), [(0, 3, 2), (2, 0, 3), (0, 0, 0), (3, 2, 0)])
def test_empty_extents(n, k, m):
    A, B = np.ones((n, k)), np.ones((k, m))
    for schedule in (None, cases.MATMUL["weight-stationary"], cases.MATMUL["summa"]):
        program = cases.kernels.matmul.compile(A, B, schedule=schedule)
        for backend in ("sim", "local"):
            np.testing.assert_array_equal(cy.run(program, backend=backend).output, A @ B)


def test_nan_stays_nan():
    A, B = np.full((2, 2), np.nan), np.eye(2)
    assert np.isnan(cases.kernels.matmul(A, B)).all()


def test_calling_a_kernel_returns_what_the_function_returns():
    rng = np.random.default_rng(0)
    A, B = cases.integers(rng, 4, 3), cases.integers(rng, 3, 5)
    np.testing.assert_array_equal(cases.kernels.matmul(A, B), A @ B)
    assert str(cy.check(cases.kernels.matmul.compile(A, B), backends=("sim", "local"))).count("agrees") == 2


KIND = "float64"


@cy.kernel
def of_a_kind(u):
    return u.astype(KIND)


@pytest.mark.parametrize(
    ("before", "after", "differ"),
    [("float64", "float32", "dtype float64, not float32"), ("bool", "int64", "bool, not int64")],
)
def test_a_check_compares_dtypes(before, after, differ, monkeypatch):
    """Of equal numbers too: the reference reads a name that has changed since the program was compiled."""
    monkeypatch.setitem(globals(), "KIND", before)
    program = of_a_kind.compile(np.array([1.0, 0.0]))
    cy.check(program, backends=("sim", "local"))
    monkeypatch.setitem(globals(), "KIND", after)
    with pytest.raises(cy.ExecutionError, match=differ) as caught:
        cy.check(program, backends=("sim", "local"))
    assert caught.value.code == "CYC714"


COUNT = 3


@cy.kernel
def of_a_length(u):
    return u[:COUNT] * 2


def test_a_check_compares_shapes(monkeypatch):
    program = of_a_length.compile(np.ones(3))
    monkeypatch.setitem(globals(), "COUNT", 1)
    with pytest.raises(cy.ExecutionError, match=r"has shape \(3,\), not \(1,\)") as caught:
        cy.check(program, backends=("local",))
    assert caught.value.code == "CYC714"


def a_choice_of_dtypes(u):
    return u[0] if u[0] > 0 else 1.5


def test_a_check_says_what_choices_of_dtypes_have():
    with pytest.raises(cy.ExecutionError, match="dtype float64, not int64") as caught:
        cy.check(cy.kernel(a_choice_of_dtypes).compile(np.array([1])), backends=("local",))
    assert "`np.where`" in caught.value.help


SCALE = 1.0


@cy.kernel
def scaled(u):
    return u * SCALE


def test_a_check_compares_finite_numbers_beside_others(monkeypatch):
    program = scaled.compile(np.array([np.inf, np.nan, 3.0]))
    monkeypatch.setitem(globals(), "SCALE", 1.0 + 2**-52)
    assert 0 < cy.check(program, backends=("local",)).errors["local"] < 1e-15
    monkeypatch.setitem(globals(), "SCALE", -1.0)
    with pytest.raises(cy.ExecutionError, match="local differs from the reference"):
        cy.check(program, backends=("local",))


@cy.kernel
def compared(u):
    return u > SCALE


def test_a_check_compares_truth_values(monkeypatch):
    program = compared.compile(np.array([1.5, 0.5]))
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    with pytest.raises(cy.ExecutionError, match=r"differs from the reference by 1\.0e\+00"):
        cy.check(program, backends=("local",))
