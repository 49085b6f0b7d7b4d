"""Arrays that a kernel's text makes by NumPy's own functions: with NumPy's dtypes, values and aliases."""

from typing import Any

import numpy as np
import pytest
from numpy import zeros
from numpy_oracle import check_against_numpy

import cyclotron as cy


def assigned(x):
    y = np.zeros(4)
    y[1:] = x[1:]
    z = zeros(shape=4)
    z[-1] = x[0]
    return y, z, np.zeros(4) + x


def shaped_alike(x):
    y, z = np.zeros_like(x), np.full_like(x, 2, dtype=float)
    y[0] = x[1]
    z[2] = x[1]
    return y, z, y / 2


def of_own_dtypes(x):
    y = np.full(3, 7)
    y[0] = 2
    z = np.full((2, 4), x)
    w = np.full(4, True)
    w[0] = x[0] > 2
    v = np.full(4, x[0])
    v[1] += 1
    u = np.full(4, np.float32(0.1))
    return y, y * x[:3], z, ~w, v, u + 0.2


def narrow(x):
    y = np.zeros(4, dtype=np.int8)
    y += 100
    y += 100
    return y, np.ones(4, "u1") * 200


def together(x):
    a = b = np.zeros(4)
    a += x
    c = b[1:3]
    c += x[:2]
    return a, b


def pairs(x):
    residual, direction = x - 1.0, np.zeros(4)
    for _ in range(3):
        direction += residual * 0.5
    return direction, residual


def accumulated(x):
    C = np.zeros((4, 4))
    for i in range(4):
        for j in range(i + 1):
            total = x[i] * x[j]
            for k in range(j):
                total -= C[i, k] * C[j, k]
            C[i, j] = total
    return C


def in_loops(x):
    y = np.zeros(4)
    for i in range(4):
        row = np.zeros(4)
        for j in range(4):
            row[j] = x[j] * i
        y[i] = row.sum()
    return y


def of_time(x):
    y = np.zeros(4)
    for _ in range(3):
        u = np.ones(4)
        u[1:] = x[1:] + y[:-1]
        y = u
    return y


def in_branches(x):
    if x[0] > 2:
        y = np.zeros(4)
        y[0] = x[1]
    else:
        y = np.ones(4)
    return y


def annotated(x):
    y: np.ndarray = np.empty((4, 2), dtype=bool, order="F")
    y[:, 0] = x > 2
    y[:, 1] = ~y[:, 0]
    return y


def of_values(x):
    y = np.arange(4.0)
    y[0] = x[0]
    z = np.eye(4)
    z[0, :] = x
    w = np.array([0.0, 0.0, 0.0, 0.0])
    for i in range(1, 4):
        w[i] = w[i - 1] + x[i]
    v = 2 * np.linspace(0, 1, 4)
    v[1:] += x[1:]
    u = TABLE.copy()
    u[2] = x[0]
    return y, z @ z, w, v, u


def of_the_host(x):
    sizes = np.array([1, 2, 3])
    sizes[0] = 2
    total = x * 0
    for n in range(sizes[0]):
        total = total + x * n
    return total[: len(np.zeros(3))], x[np.array([2, 0])]


def of_elements(x):
    y = np.array([x[0], 2.5, x[1]])
    z = np.array([[x[0], 1], [2, x[1]]])
    return y, z @ z, np.array((x[0], x[1])), np.array(x[0]) * x


def of_arrays(x):
    y = np.array(x)
    y[0] = 5
    z = np.array([x, x + 1])
    z[0, 1] = 7
    return y, x, z.T, np.array(x, dtype="float32"), np.array(x, copy=True)


def the_same(x):
    y = np.asarray(x)
    y[0] = 5
    z = np.asarray(x, dtype=complex)
    z[1] = 8
    return x, z, np.asarray([1, 2, 3, 4]) * x


def by_functions(x):
    return filled(x) * 2, filled(x + 1)


def filled(x):
    y = np.zeros_like(x)
    y[0] = x[1]
    return y + x


TABLE = np.array([1.0, 2.0, 3.0, 4.0])
FUNCTIONS = [
    assigned, shaped_alike, of_own_dtypes, narrow, together, pairs, accumulated, in_loops, of_time,
    in_branches, annotated, of_values, of_the_host, of_elements, of_arrays, the_same, by_functions,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_arrays_are_numpys(function, dtype):
    check_against_numpy(function, np.array([1, 5, 2, 3], dtype))


def test_tables_of_the_host_stay_as_they_are():
    @cy.kernel
    def f(x):
        y = TABLE
        y[0] = x[0]
        return y

    with pytest.raises(cy.TraceError, match="`TABLE` is an array of the host"):
        f(np.ones(4))


@pytest.mark.parametrize(
    "text",
    [
        "np.zeros(A.shape)",
        "np.ones_like(A)",
        "np.zeros(2, like=A)",
        "np.empty_like(B, shape=2)",
        "np.zeros(2, int, 'C', 3)",
        "np.zeros()",
    ],
)
def test_what_kernels_do_not_have_is_refused(text, tmp_path):
    path = tmp_path / "made.py"
    lines = ["import numpy as np", "import cyclotron as cy", "@cy.kernel", "def f(A, B):", f"    C = {text}"]
    path.write_text("\n".join([*lines, "    C[0] = B[0]", "    return C", ""]))
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(cy.TraceError, match="CYC115"):
        names["f"](cy.blocked(np.ones((4, 4)), (2, 2)), np.ones(4))


def test_copies_of_tables_are_changed_in_place():
    @cy.kernel
    def f(x):
        y = TABLE.copy()
        y += x
        z = 2 * TABLE
        z[1:] *= x[1:]
        return y, z

    y, z = f(np.arange(4.0))
    np.testing.assert_array_equal(y, TABLE + np.arange(4.0))
    np.testing.assert_array_equal(z, [2.0, *(2 * TABLE * np.arange(4.0))[1:]])
    assert TABLE[0] == 1
