"""Names of numbers in loops: what several expressions of a statement have in common is computed once."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy

ONE_PE = cy.Schedule()
RNG = np.random.default_rng(31)


@cy.kernel
def of_names(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        d = x[i] - 1
        q = d * d + 0.5
        y[i] = q * q - 1 / q
    return y


@cy.kernel
def written_out(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = (x[i] - 1) * (x[i] - 1) + (x[i] - 1)
    return y


@cy.kernel
def pairs(x):
    e = 0.0
    for i in range(len(x)):
        for j in range(i):
            d = x[i] - x[j]
            q = 1 / (d * d + 0.1)
            e += q * q - q
    return e


@cy.kernel
def terms(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = sum((x[i] - x[j]) * (x[i] - x[j]) for j in range(len(x)))
    return y


def run(kernel, *arguments):
    return cy.run(kernel.compile(*arguments, schedule=ONE_PE), backend="sim")


@pytest.mark.parametrize(("kernel", "operators"), [(of_names, 6), (written_out, 3)])
def test_each_operator_runs_once_an_element(kernel, operators):
    x = RNG.random(7) + 2
    result = run(kernel, x)
    assert result.cycles == operators * len(x)
    np.testing.assert_array_equal(result.output, kernel.reference(x))


def test_terms_of_sums_share_their_operators():
    x = RNG.random(6)
    result = run(terms, x)
    # A subtraction a term, and one operator that adds its square.
    assert result.cycles == 6 * 6 * 2
    np.testing.assert_array_equal(result.output, terms.reference(x))
    carried = run(pairs, x)
    assert carried.cycles <= 15 * 7 + 1
    assert carried.output == pairs.reference(x)


def test_numbers_that_only_look_the_same():
    """Zeros of both signs, and numbers of one value in several dtypes."""

    @cy.kernel
    def signs(x):
        return 1 / (x * 0.0) + x, 1 / (x * -0.0) + x, (x * 0.0) * 2 - (x * -0.0) * 2

    @cy.kernel
    def dtypes(n, v):
        return (n + 1) * 2, (v + 1) * 2, (n + 1) * (n + 1) + v * (v + 1) * (v + 1), (n + 1) / 3 + (n + 1) // 3

    x = np.array([1.0, -2.0, 3.0])
    n, v = np.array([1, -7, 2**30], "int32"), np.array([0.1, 2.5, -3.0], "float32")
    for kernel, given in ((signs, (x,)), (dtypes, (n, v))):
        with np.errstate(divide="ignore", over="ignore"):
            right = kernel.reference(*given)
            result = run(kernel, *given)
        for found, wanted in zip(result.outputs.values(), right, strict=True):
            assert found.dtype == wanted.dtype
            assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("seed", range(12))
def test_random_expressions_have_numpys_bits(seed, tmp_path):
    """Trees of few leaves, in which many parts are the same; on all backends."""
    choose = np.random.default_rng(seed)
    parts = ["x[i]", "w[i]", "0.0", "-0.0", "2", "x[i - 1]"]

    def expression(depth):
        if depth == 0:
            return str(choose.choice(parts))
        left, right = expression(depth - 1), expression(depth - 1)
        if choose.random() < 0.3:
            right = left
        return f"({left} {choose.choice(['+', '-', '*'])} {right})"

    lines = [
        "import cyclotron as cy",
        "import numpy as np",
        "@cy.kernel",
        "def kernel(x, w):",
        "    y = np.zeros(len(x))",
        "    for i in range(1, len(x)):",
        f"        a = {expression(3)}",
        f"        b = a * {expression(2)} + a",
        f"        y[i] = {expression(3)} - b * a + (b - a)",
        "    return y",
    ]
    path = tmp_path / "kernels.py"
    path.write_text("\n".join(lines))
    names: dict[str, object] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    kernel = names["kernel"]
    x, w = choose.integers(-3, 4, 9).astype(float), choose.integers(-3, 4, 9).astype(float)
    right = kernel.reference(x, w)
    for backend in ("sim", "local"):
        result = cy.run(kernel.compile(x, w, machine=cy.Machine(grid=(3,))), backend=backend)
        assert result.output.tobytes() == right.tobytes()
