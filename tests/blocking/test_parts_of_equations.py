"""Functions, sums and extrema inside of equations are tensors of their own: layers of networks as written."""

import numpy as np
import pytest
from loading import kernel_of

import cyclotron as cy

ONE = cy.Schedule()


def softmax(s):
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def normalized(x, axis):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


def silu(a):
    return a / (1 + np.exp(-a))


ATTENTION = """
def kernel(Q, K, V):
    n, d = Q.shape
    S = cy.empty((n, K.shape[0]))
    P = cy.empty((n, K.shape[0]))
    m = cy.empty(n)
    l = cy.empty(n)
    O = cy.empty((n, V.shape[1]))
    for i in range(n):
        for j in range(K.shape[0]):
            S[i, j] = sum(Q[i, k] * K[j, k] for k in range(d))
        m[i] = max(S[i, j] for j in range(K.shape[0]))
        for j in range(K.shape[0]):
            P[i, j] = cy.exp(S[i, j] - m[i])
        l[i] = sum(P[i, j] for j in range(K.shape[0]))
        for k in range(V.shape[1]):
            O[i, k] = sum(P[i, j] * V[j, k] for j in range(K.shape[0])) / l[i]
    return O
"""
ATTENTION_IN_LOOPS = """
def kernel(Q, K, V):
    n, d = Q.shape
    O = cy.zeros((n, V.shape[1]))
    for i in range(n):
        s = cy.empty(K.shape[0])
        for j in range(K.shape[0]):
            s[j] = 0.0
            for k in range(d):
                s[j] += Q[i, k] * K[j, k]
        m = s[0]
        for j in range(1, K.shape[0]):
            m = max(m, s[j])
        l = 0.0
        for j in range(K.shape[0]):
            s[j] = np.exp(s[j] - m)
            l += s[j]
        for j in range(K.shape[0]):
            for k in range(V.shape[1]):
                O[i, k] += s[j] / l * V[j, k]
    return O
"""
CAUSAL_SOFTMAX = """
def kernel(S):
    n = S.shape[0]
    P = cy.zeros_like(S)
    m = cy.empty(n)
    l = cy.empty(n)
    for i in range(n):
        m[i] = max(S[i, j] for j in range(i + 1))
        l[i] = sum(cy.exp(S[i, j] - m[i]) for j in range(i + 1))
        for j in range(i + 1):
            P[i, j] = cy.exp(S[i, j] - m[i]) / l[i]
    return P
"""
LOG_SUM = """
def kernel(S):
    r = cy.empty(S.shape[0])
    for i in range(S.shape[0]):
        m = -1e30
        for j in range(S.shape[1]):
            m = max(m, S[i, j])
        s = 0.0
        for j in range(S.shape[1]):
            s += np.exp(S[i, j] - m)
        r[i] = m + np.log(s)
    return r
"""
LAYER_NORM = """
def kernel(X, g, b):
    n, d = X.shape
    mu = cy.empty(n)
    var = cy.empty(n)
    Y = cy.empty_like(X)
    for i in range(n):
        mu[i] = sum(X[i, j] for j in range(d)) / d
        var[i] = sum((X[i, j] - mu[i]) ** 2 for j in range(d)) / d
        for j in range(d):
            Y[i, j] = (X[i, j] - mu[i]) / cy.sqrt(var[i] + 1e-5) * g[j] + b[j]
    return Y
"""
BATCH_NORM = """
def kernel(X, g, b):
    n, d = X.shape
    mu = cy.empty(d)
    var = cy.empty(d)
    Y = cy.empty_like(X)
    for j in range(d):
        mu[j] = sum(X[i, j] for i in range(n)) / n
        var[j] = sum((X[i, j] - mu[j]) ** 2 for i in range(n)) / n
    for i in range(n):
        for j in range(d):
            Y[i, j] = g[j] * (X[i, j] - mu[j]) / cy.sqrt(var[j] + 1e-5) + b[j]
    return Y
"""
COVARIANCE = """
def kernel(X):
    n, d = X.shape
    mu = cy.empty(d)
    C = cy.empty((d, d))
    for j in range(d):
        mu[j] = sum(X[i, j] for i in range(n)) / n
    for j in range(d):
        for k in range(d):
            C[j, k] = sum((X[i, j] - mu[j]) * (X[i, k] - mu[k]) for i in range(n)) / n
    return C
"""
GATED = """
def kernel(X, W, V):
    Y = cy.empty((X.shape[0], W.shape[1]))
    for i in range(X.shape[0]):
        for j in range(W.shape[1]):
            a = sum(X[i, k] * W[k, j] for k in range(X.shape[1]))
            b = sum(X[i, k] * V[k, j] for k in range(X.shape[1]))
            Y[i, j] = a / (1.0 + np.exp(-a)) * b
    return Y
"""
LOGISTIC_GRADIENT = """
def kernel(X, w, y):
    n, d = X.shape
    p = cy.empty(n)
    g = cy.empty(d)
    for i in range(n):
        p[i] = 1.0 / (1.0 + cy.exp(-sum(X[i, k] * w[k] for k in range(d))))
    for k in range(d):
        g[k] = sum(X[i, k] * (p[i] - y[i]) for i in range(n))
    return g
"""
COSINES = """
def kernel(X, Y):
    C = cy.empty((X.shape[0], Y.shape[0]))
    d = X.shape[1]
    for i in range(X.shape[0]):
        for j in range(Y.shape[0]):
            C[i, j] = sum(X[i, k] * Y[j, k] for k in range(d)) / (
                np.sqrt(sum(X[i, k] ** 2 for k in range(d))) * np.sqrt(sum(Y[j, k] ** 2 for k in range(d)))
            )
    return C
"""
EXTREMA = """
def kernel(A, B, C):
    D = cy.empty_like(C)
    m = cy.empty(C.shape[1])
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            D[i, j] = max(-2.0 * sum(A[i, k] * B[k, j] for k in range(A.shape[1])), C[i, j])
    for j in range(C.shape[1]):
        m[j] = abs(D[0, j])
        for i in range(1, C.shape[0]):
            m[j] = min(m[j], abs(D[i, j]))
    return D, m
"""
CUBES = """
def kernel(X, w):
    r = cy.empty(X.shape[0])
    for i in range(X.shape[0]):
        r[i] = (2.0 + sum(X[i, k] * w[k] for k in range(X.shape[1]))) ** 3
    return sum(np.sqrt(1.0 + abs(r[i])) - 1.0 for i in range(X.shape[0]))
"""


def extrema(a, b, c):
    d = np.maximum(-2 * a @ b, c)
    return d, abs(d).min(axis=0)


# The text, the shapes of its arguments for n and m, NumPy's result, and the operators of its classes.
CASES = {
    "attention": (
        ATTENTION,
        lambda n, m: ((n, m), (n + 2, m), (n + 2, m + 1)),
        lambda q, k, v: softmax(q @ k.T) @ v,
        ["O gemm div", "P exp", "S gemm", "l row_sum", "m row_max max"],
    ),
    "attention in loops": (
        ATTENTION_IN_LOOPS,
        lambda n, m: ((n, m), (n + 2, m), (n + 2, m + 1)),
        lambda q, k, v: softmax(q @ k.T) @ v,
        ["O gemm div", "l row_sum", "m row_max max", "s exp", "s gemm"],
    ),
    "causal softmax": (
        CAUSAL_SOFTMAX,
        lambda n, m: ((n, n),),
        lambda s: softmax(np.where(np.tri(len(s)) > 0, s, -np.inf)),
        None,
    ),
    "log of a sum": (
        LOG_SUM,
        lambda n, m: ((n, m),),
        lambda s: np.log(np.exp(s).sum(axis=1)),
        ["exp exp", "log row_sum log", "m row_max max", "r"],
    ),
    "layer norm": (
        LAYER_NORM,
        lambda n, m: ((n, m), (m,), (m,)),
        lambda x, g, b: normalized(x, 1) * g + b,
        ["Y", "mu row_sum", "sqrt row_sum sqrt", "term", "term div"],
    ),
    "batch norm": (
        BATCH_NORM,
        lambda n, m: ((n, m), (m,), (m,)),
        lambda x, g, b: normalized(x, 0) * g + b,
        ["Y", "mu column_sum", "sqrt row_sum sqrt", "term", "term"],
    ),
    "covariance": (
        COVARIANCE,
        lambda n, m: ((n, m),),
        lambda x: np.cov(x.T, bias=True).reshape(x.shape[1], -1),
        ["C gemm", "mu column_sum", "term"],
    ),
    "gated": (
        GATED,
        lambda n, m: ((n, m), (m, n), (m, n)),
        lambda x, w, v: silu(x @ w) * (x @ v),
        ["Y gemm div", "exp exp", "term", "term gemm"],
    ),
    "logistic gradient": (
        LOGISTIC_GRADIENT,
        lambda n, m: ((n, m), (m,), (n,)),
        lambda x, w, y: x.T @ (1 / (1 + np.exp(-x @ w)) - y),
        None,
    ),
    "cosines": (
        COSINES,
        lambda n, m: ((n, m), (n + 1, m)),
        lambda x, y: x @ y.T / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1)),
        ["C gemm div", "sqrt row_sum sqrt", "sqrt row_sum sqrt"],
    ),
    "extrema": (EXTREMA, lambda n, m: ((n, m), (m, n + 1), (n, n + 1)), extrema, None),
    "cubes": (
        CUBES,
        lambda n, m: ((n, m), (m,)),
        lambda x, w: (np.sqrt(1 + abs(2 + x @ w) ** 3) - 1).sum(),
        None,
    ),
}
KERNELS = {name: kernel_of(case[0]) for name, case in CASES.items()}


def arguments(name, n, m):
    random = np.random.default_rng(n)
    return [random.standard_normal(shape) for shape in CASES[name][1](n, m)]


@pytest.mark.parametrize("name", CASES)
def test_results_are_numpys(name):
    for n, m in ((1, 2), (2, 1), (3, 4), (6, 7), (8, 8), (9, 5)):
        given = arguments(name, n, m)
        expected = CASES[name][2](*given)
        for tile in (1, 2, 3, 4, 64):
            results = cy.run(KERNELS[name].compile(*given, schedule=ONE, tile=tile)).outputs.values()
            all_expected = expected if isinstance(expected, tuple) else (expected,)
            for result, wanted in zip(results, all_expected, strict=True):
                np.testing.assert_allclose(
                    np.reshape(result, np.shape(wanted)), wanted, 1e-9, 1e-12, err_msg=f"{n}, {m}, {tile}"
                )


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3] is not None])
def test_classes_have_their_operators(name):
    for n, m in ((12, 16), (101, 103)):
        blocking = KERNELS[name].block(*map(cy.spec, CASES[name][1](n, m)), tile=4)
        assert sorted({" ".join((c.tensor, *c.operators)) for c in blocking.classes}) == sorted(
            set(CASES[name][3])
        )


@pytest.mark.parametrize("name", ["attention", "layer norm", "extrema"])
def test_backends_agree_bit_for_bit(name):
    given = arguments(name, 7, 5)
    program = KERNELS[name].compile(*given, tile=3)
    local = cy.run(program, backend="local").outputs
    for other in (cy.run(program, backend="sim"), cy.run(program, backend="mpi", ranks=2)):
        for key, value in local.items():
            np.testing.assert_array_equal(other.outputs[key], value)


@pytest.mark.parametrize("name", ["layer norm", "batch norm", "covariance"])
def test_differences_from_a_mean_are_not_multiplied_out(name):
    given = arguments(name, 9, 5)
    given[0] = given[0] + 1e6  # squares of which have no digits left for the variance
    result = cy.run(KERNELS[name].compile(*given, schedule=ONE, tile=3)).output
    np.testing.assert_allclose(result, CASES[name][2](*given), rtol=1e-7, atol=1e-8)


def test_sums_are_added_up_once():
    blocking = KERNELS["gated"].block(*map(cy.spec, ((64, 32), (32, 64), (32, 64))), tile=16)
    assert [c.equation.count(" @ ") for c in blocking.classes] == [1, 1, 0, 0]


def test_what_has_a_value_for_each_of_three_indices_is_no_tensor():
    kernel = kernel_of("""
def kernel(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = min(A[i, k] + B[k, j] for k in range(A.shape[1]))
    return C
""")
    with pytest.raises(cy.LegalityError, match="a value for each of 3 indices") as raised:
        kernel.block(cy.spec((8, 8)), cy.spec((8, 8)), tile=4)
    assert raised.value.code == "CYC231"


def test_sums_that_are_all_read_on_the_way_are_not_each_added_up_from_the_first_term_on():
    kernel = kernel_of("""
def kernel(A):
    B = cy.empty_like(A)
    for i in range(A.shape[0]):
        s = 0.0
        for j in range(A.shape[1]):
            s += A[i, j]
            B[i, j] = s * s
    return B
""")
    blocking = kernel.block(cy.spec((16, 16)), tile=4)
    assert blocking.complete
    assert blocking.tiles == {"i": 4, "j": 1}


@pytest.mark.parametrize("best", [max, min])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_maxima_among_zeros_or_of_triangles_of_integers_are_right_or_refused(dtype, best):
    text = """
def kernel(A):
    n = A.shape[0]
    Z = cy.zeros_like(A)
    m = cy.empty(n, A.dtype)
    for i in range(n):
        for j in range(i):
            Z[i, j] = A[i, j] + A[i, j]
    for i in range(n):
        m[i] = max(Z[i, j] for j in range(END))
    return m
"""
    given = np.arange(1, 65).reshape(8, 8).astype(dtype) * (-1 if best is max else 1)
    lower = np.tril(2 * given, -1)
    for end, of in (("n", "Z"), ("i + 1", "Z"), ("i + 1", "A")):
        kernel = kernel_of(text.replace("END", end).replace("max(Z", f"{best.__name__}({of}"))
        rows = enumerate(lower if of == "Z" else given)
        expected = [best(row if end == "n" else row[: i + 1]) for i, row in rows]
        for tile in (1, 2, 3, 8):
            try:
                program = kernel.compile(given, schedule=ONE, tile=tile)
            except cy.LegalityError as error:
                if error.code != "CYC231":
                    raise
                continue
            np.testing.assert_array_equal(cy.run(program).output, expected, err_msg=f"{end}, {tile}")


def test_tensors_in_single_elements_are_refused():
    kernel = kernel_of("""
def kernel(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] - x[0]
    return y
""")
    with pytest.raises(cy.LegalityError, match="read at one place of an axis, so that its tiles are single"):
        kernel.block(cy.spec((16,)), tile=4)


DIFFERENCES = """
def kernel(X, Y, w):
    n, d = X.shape
    D = cy.empty((n, Y.shape[0]), dtype=X.dtype)
    for i in range(n):
        for j in range(Y.shape[0]):
            D[i, j] = sum({term} for k in range(d))
    return D
"""


@pytest.mark.parametrize(
    "term", ["(X[i, k] - Y[j, k]) ** 2", "(X[i, k] - Y[j, k]) * w[k]", "(X[i, k] - Y[j, k]) / w[k]"]
)
def test_differences_are_not_multiplied_before_they_are_taken(term):
    """Of neighbours far from 0 all digits would cancel; of integers none do."""
    kernel = kernel_of(DIFFERENCES.format(term=term))
    rng = np.random.default_rng(3)
    X = 1e9 + rng.random((24, 8))
    arguments = X, X[:20], rng.random(8) + 1
    with pytest.raises(cy.LegalityError, match="may cancel"):
        kernel.compile(*arguments, tile=8)
    np.testing.assert_allclose(cy.run(kernel, *arguments).output, kernel.reference(*arguments), rtol=1e-12)
    if "/" not in term:
        whole = [rng.integers(-9, 9, one.shape) for one in arguments]
        got = cy.run(kernel.compile(*whole, tile=8)).output
        np.testing.assert_array_equal(got, kernel.reference(*whole))


def test_distances_by_default():
    """The run that takes tiles where it may: the distance from a point to itself is 0."""

    @cy.kernel
    def distances(X):
        return cy.sqrt(((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))

    X = np.random.default_rng(3).random((700, 16))
    result = cy.run(distances, X)
    np.testing.assert_allclose(result.output, distances.reference(X), rtol=1e-12)
