"""Elementwise functions of sums of products: layers of networks, attention, recurrent states."""

import numpy as np
import pytest
from loading import kernel_of
from mutations import plain
from symbolic import Symbols, symbols, unrolled

import cyclotron as cy

ONE = cy.Schedule()

LAYER = """
def kernel(X, W, b):
    Y = cy.empty((X.shape[0], W.shape[1]))
    for i in range(X.shape[0]):
        for j in range(W.shape[1]):
            Y[i, j] = max(sum(X[i, k] * W[k, j] for k in range(X.shape[1])) + b[j], 0.0)
    return Y
"""
CLIPPED = """
def kernel(X, W, b):
    Y = cy.empty((X.shape[0], W.shape[1]))
    for i in range(X.shape[0]):
        for j in range(W.shape[1]):
            s = b[j]
            for k in range(X.shape[1]):
                s += X[i, k] * W[k, j]
            Y[i, j] = np.minimum(0.5, s)
    return Y
"""
TWO_LAYERS = """
def kernel(X, W, V):
    H = cy.empty((X.shape[0], W.shape[1]))
    Y = cy.empty((X.shape[0], V.shape[1]))
    for i in range(X.shape[0]):
        for j in range(W.shape[1]):
            H[i, j] = np.tanh(sum(X[i, k] * W[k, j] for k in range(X.shape[1])))
        for j in range(V.shape[1]):
            Y[i, j] = sum(H[i, k] * V[k, j] for k in range(W.shape[1]))
    return Y
"""
ATTENTION = """
def kernel(Q, K, V):
    n, d = Q.shape
    S = cy.empty((n, K.shape[0]))
    l = cy.empty(n)
    O = cy.empty((n, d))
    for i in range(n):
        for j in range(K.shape[0]):
            S[i, j] = cy.exp(0.125 * sum(Q[i, k] * K[j, k] for k in range(d)))
        l[i] = sum(S[i, j] for j in range(K.shape[0]))
        for k in range(d):
            O[i, k] = sum(S[i, j] * V[j, k] for j in range(K.shape[0])) / l[i]
    return O
"""
CAUSAL = """
def kernel(Q, K, V):
    n, d = Q.shape
    S = cy.zeros((n, n))
    l = cy.empty(n)
    O = cy.empty((n, d))
    for i in range(n):
        for j in range(i + 1):
            S[i, j] = cy.exp(0.125 * sum(Q[i, k] * K[j, k] for k in range(d)))
        l[i] = sum(S[i, j] for j in range(i + 1))
        for k in range(d):
            O[i, k] = sum(S[i, j] * V[j, k] for j in range(i + 1)) / l[i]
    return O
"""
STATES = """
def kernel(A, B, u, h):
    H = cy.empty((u.shape[0] + 1, A.shape[0]))
    for i in range(A.shape[0]):
        H[0, i] = h[i]
    for t in range(u.shape[0]):
        for i in range(A.shape[0]):
            H[t + 1, i] = np.tanh(
                sum(A[i, k] * H[t, k] for k in range(A.shape[0]))
                + sum(B[i, k] * u[t, k] for k in range(u.shape[1]))
            )
    return H
"""
OF_ZEROS = """
def kernel(A, B):
    n = A.shape[0]
    Z = cy.zeros_like(A)
    C = cy.empty_like(A)
    D = cy.empty_like(A)
    for i in range(n):
        for j in range(i):
            Z[i, j] = sum(A[i, k] * B[k, j] for k in range(n))
    for i in range(n):
        for j in range(n):
            C[i, j] = np.cos(sum(Z[i, k] * B[k, j] for k in range(n)))
    for i in range(n):
        for j in range(n):
            D[i, j] = sum(C[i, k] * A[k, j] for k in range(n))
    return D
"""


def attention(q, k, v, keep=1):
    s = np.exp(0.125 * q @ k.T) * keep
    return s @ v / s.sum(axis=1, keepdims=True)


def states(a, b, u, h):
    result = [h]
    for given in u:
        result.append(np.tanh(a @ result[-1] + b @ given))
    return np.array(result)


# The text, the shapes of its arguments for n and m, NumPy's result, and the operators of its classes.
CASES = {
    "layer": (
        LAYER,
        lambda n, m: ((n, m), (m, n + 1), (n + 1,)),
        lambda x, w, b: np.maximum(x @ w + b, 0),
        [("Y", ("gemm", "max"))],
    ),
    "clipped": (
        CLIPPED,
        lambda n, m: ((n, m), (m, n + 1), (n + 1,)),
        lambda x, w, b: np.minimum(x @ w + b, 0.5),
        [("Y", ("gemm", "min"))],
    ),
    "two_layers": (
        TWO_LAYERS,
        lambda n, m: ((n, m), (m, n + 1), (n + 1, m)),
        lambda x, w, v: np.tanh(x @ w) @ v,
        [("H", ("gemm", "tanh")), ("Y", ("gemm",))],
    ),
    "attention": (
        ATTENTION,
        lambda n, m: ((n, m), (n + 2, m), (n + 2, m)),
        attention,
        [("O", ("gemm", "div")), ("S", ("gemm", "exp")), ("l", ("row_sum",))],
    ),
    "causal": (
        CAUSAL,
        lambda n, m: ((n, m), (n, m), (n, m)),
        lambda q, k, v: attention(q, k, v, np.tri(len(q))),
        [
            ("O", ("gemm", "div")),
            ("S", ()),
            ("S", ("gemm", "exp")),
            ("S", ("gemm", "exp")),
            ("l", ("row_sum",)),
        ],
    ),
    "states": (
        STATES,
        lambda n, m: ((n, n), (n, m), (4, m), (n,)),
        states,
        [("H", ()), ("H", ("gemm", "tanh"))],
    ),
    "of_zeros": (
        OF_ZEROS,
        lambda n, m: ((n, n), (n, n)),
        lambda a, b: np.cos(np.tril(a @ b, -1) @ b) @ a,
        None,
    ),
}
KERNELS = {name: kernel_of(case[0]) for name, case in CASES.items()}


def arguments(name, n, m):
    random = np.random.default_rng(n)
    return [random.standard_normal(shape) for shape in CASES[name][1](n, m)]


@pytest.mark.parametrize("name", CASES)
def test_results_are_numpys(name):
    for n, m in ((2, 3), (6, 7), (8, 8)):
        given = arguments(name, n, m)
        expected = CASES[name][2](*given)
        for tile in (1, 3, 4, 64):
            result = cy.run(KERNELS[name].compile(*given, schedule=ONE, tile=tile)).output
            np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12, err_msg=f"{n}, {m}, {tile}")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3] is not None])
def test_classes_have_their_operators(name):
    for n, m in ((12, 16), (13, 14), (1001, 1003)):
        shapes = [cy.spec(shape) for shape in CASES[name][1](n, m)]
        blocking = KERNELS[name].block(*shapes, tile=4)
        assert sorted((c.tensor, c.operators) for c in blocking.classes) == CASES[name][3]


@pytest.mark.parametrize("name", ["causal", "states"])
def test_backends_agree_bit_for_bit(name):
    given = arguments(name, 7, 5)
    program = KERNELS[name].compile(*given, tile=3)
    local = cy.run(program, backend="local").output
    for other in (cy.run(program, backend="sim"), cy.run(program, backend="mpi", ranks=2)):
        np.testing.assert_array_equal(other.output, local)


@pytest.mark.parametrize(("n", "m"), [(2, 3), (4, 3)])
def test_attention_is_the_scalar_one_term_by_term(n, m):
    kernel, shapes = KERNELS["attention"], CASES["attention"][1](n, m)
    given = {of: symbols(of, shape) for of, shape in zip("QKV", shapes, strict=True)}
    (expected,) = plain(ATTENTION, *given.values(), cy=Symbols)
    for tile in (1, 2, 3, 5):
        program = kernel.compile(*map(cy.spec, shapes), schedule=ONE, tile=tile)
        (result,) = unrolled(program, given).values()
        for place in np.ndindex(*expected.shape):
            assert result[place] == expected[place], f"tiles of {tile}, at {place}"


@pytest.mark.parametrize("function", ["cy.exp", "np.tanh", "np.cbrt"])
def test_a_function_in_the_place_of_the_root_is_no_factorisation(function):
    kernel = kernel_of(f"""
def kernel(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = {function}(A[j, j] - sum(L[j, k] * L[j, k] for k in range(j)))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return L
""")
    assert not kernel.block(cy.spec((12, 12)), tile=4).complete
