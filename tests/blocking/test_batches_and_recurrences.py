"""Symmetric updates, batches, modes of tensors, and axes in single steps that are read at computed places."""

import numpy as np
import pytest
from loading import kernel_of
from mutations import plain
from symbolic import Expanded, Expression, Symbols, symbols, unrolled

import cyclotron as cy

ONE = cy.Schedule()
TILE = 4

SYR2K = """
def kernel(A, B):
    n, m = A.shape
    C = cy.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            for k in range(m):
                C[i, j] += A[i, k] * B[j, k] + B[i, k] * A[j, k]
    return C
"""
SYMM = """
def kernel(A, B):
    n, m = B.shape
    C = cy.empty((n, m))
    for i in range(n):
        for j in range(m):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(i + 1)) + sum(
                A[k, i] * B[k, j] for k in range(i + 1, n)
            )
    return C
"""
PRODUCT = """
def kernel(X, U):
    C = cy.zeros(SHAPE)
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for l in range(C.shape[2]):
                for k in range(U.shape[1]):
                    C[i, j, l] += TERM
    return C
"""
BATCHED_CHOLESKY = """
def kernel(A):
    b, n, _ = A.shape
    L = cy.zeros_like(A)
    for s in range(b):
        for j in range(n):
            L[s, j, j] = cy.sqrt(A[s, j, j] - sum(L[s, j, k] * L[s, j, k] for k in range(j)))
            for i in range(j + 1, n):
                L[s, i, j] = (A[s, i, j] - sum(L[s, i, k] * L[s, j, k] for k in range(j))) / L[s, j, j]
    return L
"""
BATCHED_INVERSE = """
def kernel(L):
    b, n, _ = L.shape
    X = cy.zeros_like(L)
    for s in range(b):
        for j in range(n):
            X[s, j, j] = 1.0 / L[s, j, j]
            for i in range(j + 1, n):
                X[s, i, j] = -sum(L[s, i, k] * X[s, k, j] for k in range(j, i)) / L[s, i, i]
    return X
"""
COVARIANCES = """
def kernel(A, P, Q):
    n = A.shape[0]
    T = cy.empty((3, n, n))
    S = cy.empty((4, n, n))
    for i in range(n):
        for j in range(n):
            S[0, i, j] = P[i, j]
    for t in range(3):
        for i in range(n):
            for j in range(n):
                T[t, i, j] = sum(A[i, k] * S[t, k, j] for k in range(n))
        for i in range(n):
            for j in range(n):
                S[t + 1, i, j] = sum(T[t, i, k] * A[j, k] for k in range(n)) + Q[i, j]
    return S
"""
STATES = """
def kernel(A, B, u, x):
    n = A.shape[0]
    X = cy.empty((u.shape[0] + 1, n))
    for i in range(n):
        X[0, i] = x[i]
    for t in range(u.shape[0]):
        for i in range(n):
            X[t + 1, i] = sum(A[i, k] * X[t, k] for k in range(n)) + sum(
                B[i, k] * u[t, k] for k in range(u.shape[1])
            )
    return X
"""
POWERS = """
def kernel(A, x):
    n = A.shape[0]
    X = cy.empty((4, n, n))
    for i in range(n):
        for j in range(n):
            X[0, i, j] = A[i, j]
    for t in range(1, 4):
        for i in range(n):
            for j in range(n):
                X[t, i, j] = X[t - 1, i, j] + 0.5 * sum(A[i, k] * X[t - 1, k, j] for k in range(n))
    return X
"""
CHANNELS_LAST = """
def kernel(A, W):
    p, q, c, f = W.shape
    O = cy.empty(((A.shape[0] - 2 * p) // 3 + 1, A.shape[1] - q - 1, f))
    for i in range(O.shape[0]):
        for j in range(O.shape[1]):
            for o in range(f):
                O[i, j, o] = sum(
                    A[3 * i + 2 * r, j + s + 1, d] * W[r, s, d, o]
                    for r in range(p) for s in range(q) for d in range(c)
                )
    return O
"""
ROWS_IN_STEPS = """
def kernel(A, W):
    p, q = W.shape
    O = cy.empty(((A.shape[0] - p) // 2 + 1, A.shape[1] - q + 1))
    for i in range(O.shape[0]):
        for j in range(O.shape[1]):
            O[i, j] = sum(A[2 * i + r, j + s] * W[r, s] for r in range(p) for s in range(q))
    return O
"""


def product(shape, term):
    return PRODUCT.replace("SHAPE", shape).replace("TERM", term)


def batched_definite(n, m):
    random = np.random.default_rng(n)
    a = random.random((3, n, n))
    return (a @ a.transpose(0, 2, 1) + n * np.eye(n),)


def arrays(*shapes):
    def of(n, m):
        random = np.random.default_rng(n)
        return tuple(random.random([eval(length, {"n": n, "m": m}) for length in shape]) for shape in shapes)

    return of


def states(a, b, u, x):
    result = [x]
    for given in u:
        result.append(a @ result[-1] + b @ given)
    return np.array(result)


def covariances(a, p, q):
    result = [p]
    for _ in range(3):
        result.append(a @ result[-1] @ a.T + q)
    return np.array(result)


def powers(a, x):
    result = [a]
    for _ in range(3):
        result.append(result[-1] + 0.5 * a @ result[-1])
    return np.array(result)


def channels_last(a, w):
    p, q, _, f = w.shape
    result = np.zeros(((a.shape[0] - 2 * p) // 3 + 1, a.shape[1] - q - 1, f))
    for i, j in np.ndindex(result.shape[:2]):
        result[i, j] = np.einsum("rsd,rsdo->o", a[3 * i : 3 * i + 2 * p : 2, j + 1 : j + 1 + q], w)
    return result


def rows_in_steps(a, w):
    windows = np.lib.stride_tricks.sliding_window_view(a, w.shape)[::2]
    return np.einsum("ijrs,rs->ij", windows, w)


def up_to(n, *names):
    """Return the condition that tiles are among those of axes of n elements."""
    return [f"0 <= {name} <= {-(-n // TILE) - 1}" for name in names]


# The text, its arguments, NumPy's result, and the classes of tiles with their operators.
CASES = {
    "syr2k": (
        SYR2K,
        arrays("nm", "nm"),
        lambda a, b: np.tril(a @ b.T + b @ a.T),
        lambda n, m: {
            (f"0 <= i <= {-(-n // TILE) - 1} and j = i", ("gemm",)),
            (f"i <= {-(-n // TILE) - 1} and j >= 0 and j < i", ("gemm",)),
            (f"i >= 0 and j <= {-(-n // TILE) - 1} and i < j", ()),
        },
    ),
    "symm": (
        SYMM,
        arrays("nn", "nm"),
        lambda a, b: (np.tril(a) + np.tril(a, -1).T) @ b,
        lambda n, m: {(" and ".join(up_to(n, "i") + up_to(m, "j")), ("gemm",))},
    ),
    "middle_mode": (
        product("(X.shape[0], U.shape[0], X.shape[2])", "X[i, k, l] * U[j, k]"),
        arrays("3nm", "mn"),
        lambda x, u: np.einsum("ikl,jk->ijl", x, u),
        lambda n, m: {(" and ".join(["0 <= i <= 2", *up_to(m, "j", "l")]), ("gemm",))},
    ),
    "last_mode": (
        product("(X.shape[0], X.shape[1], U.shape[0])", "X[i, j, k] * U[l, k]"),
        arrays("3mn", "mn"),
        lambda x, u: np.einsum("ijk,lk->ijl", x, u),
        lambda n, m: {(" and ".join(["0 <= i <= 2", *up_to(m, "j", "l")]), ("gemm",))},
    ),
    "first_mode": (
        product("(U.shape[0], X.shape[1], X.shape[2])", "X[k, j, l] * U[i, k]"),
        arrays("3nm", ("2", "3")),
        lambda x, u: np.einsum("kjl,ik->ijl", x, u),
        lambda n, m: {(" and ".join(["0 <= i <= 1", *up_to(n, "j"), *up_to(m, "l")]), ())},
    ),
    "batched": (
        product("(X.shape[0], X.shape[1], U.shape[2])", "X[i, j, k] * U[i, k, l]"),
        arrays("3nm", "3mn"),
        np.matmul,
        lambda n, m: {(" and ".join(["0 <= i <= 2", *up_to(n, "j", "l")]), ("gemm",))},
    ),
    "batched_backwards": (
        product("(X.shape[0], X.shape[1], U.shape[2])", "X[X.shape[0] - 1 - i, j, k] * U[i, k, l]"),
        arrays("3nm", "3mn"),
        lambda x, u: x[::-1] @ u,
        lambda n, m: {(" and ".join(["0 <= i <= 2", *up_to(n, "j", "l")]), ("gemm",))},
    ),
    "batched_cholesky": (
        BATCHED_CHOLESKY,
        batched_definite,
        np.linalg.cholesky,
        lambda n, m: {
            (f"0 <= s <= 2 and 0 <= i <= {-(-n // TILE) - 1} and j = i", ("syrk", "potrf")),
            (f"0 <= s <= 2 and i <= {-(-n // TILE) - 1} and j >= 0 and j < i", ("gemm", "trsm")),
            (f"0 <= s <= 2 and i >= 0 and j <= {-(-n // TILE) - 1} and i < j", ()),
        },
    ),
    "batched_inverse": (
        BATCHED_INVERSE,
        lambda n, m: (np.tril(batched_definite(n, m)[0]),),
        np.linalg.inv,
        lambda n, m: {
            (f"0 <= s <= 2 and 0 <= i <= {-(-n // TILE) - 1} and j = i", ("trtri",)),
            (f"0 <= s <= 2 and i <= {-(-n // TILE) - 1} and j >= 0 and j < i", ("gemm", "trsm")),
            (f"0 <= s <= 2 and i >= 0 and j <= {-(-n // TILE) - 1} and i < j", ()),
        },
    ),
    "covariances": (
        COVARIANCES,
        arrays("nn", "nn", "nn"),
        covariances,
        lambda n, m: {
            (" and ".join(["0 <= t <= 2", *up_to(n, "i", "j")]), ("gemm",)),
            (" and ".join(["t = 0", *up_to(n, "i", "j")]), ()),
            (" and ".join(["1 <= t <= 3", *up_to(n, "i", "j")]), ("gemm",)),
        },
    ),
    "states": (
        STATES,
        arrays("nn", "nm", "3m", "n"),
        states,
        lambda n, m: {
            (" and ".join(["t = 0", *up_to(n, "i")]), ()),
            (" and ".join(["1 <= t <= 3", *up_to(n, "i")]), ("gemm",)),
        },
    ),
    "powers": (
        POWERS,
        arrays("nn", "n"),
        powers,
        lambda n, m: {
            (" and ".join(["t = 0", *up_to(n, "i", "j")]), ()),
            (" and ".join(["1 <= t <= 3", *up_to(n, "i", "j")]), ("gemm",)),
        },
    ),
    "channels_last": (
        CHANNELS_LAST,
        arrays(("10", "7", "n"), ("2", "3", "n", "m")),
        channels_last,
        lambda n, m: {(" and ".join(["0 <= i <= 2", "0 <= j <= 2", *up_to(m, "o")]), ("gemm",))},
    ),
    "rows_in_steps": (
        ROWS_IN_STEPS,
        arrays(("9", "n + 2"), ("2", "3")),
        rows_in_steps,
        None,
    ),
}
KERNELS = {name: kernel_of(case[0]) for name, case in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_results_are_numpys(name):
    _, given_of, expected, _ = CASES[name]
    for n, m in ((2, 3), (6, 7), (8, 8)):
        given = given_of(n, m)
        for tile in (1, 3, 4, 64):
            result = cy.run(KERNELS[name].compile(*given, schedule=ONE, tile=tile)).output
            np.testing.assert_allclose(result, expected(*given), rtol=1e-9, err_msg=f"{n}, {m}, {tile}")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3] is not None])
@pytest.mark.parametrize(("n", "m"), [(12, 16), (9, 14), (1001, 1000)])
def test_classes_are_exact(name, n, m):
    _, given_of, _, classes = CASES[name]
    shapes = [cy.spec(a.shape) for a in given_of(8, 12)]
    named = [[{8: n, 12: m}.get(length, length) for length in shape.shape] for shape in shapes]
    blocking = KERNELS[name].block(*(cy.spec(tuple(shape)) for shape in named), tile=TILE)
    assert blocking.complete
    assert {(c.tiles, c.operators) for c in blocking.classes} == classes(n, m)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_blocked_kernels_are_the_scalar_ones_term_by_term(name):
    text, given_of, _, _ = CASES[name]
    kernel = KERNELS[name]
    for n, m in ((3, 5), (4, 3), (5, 4)):
        shapes = [np.shape(a) for a in given_of(n, m)]
        kind = Expanded if name in ("syr2k", "symm") else Expression
        given = {
            of: symbols(of, shape, kind)
            for of, shape in zip(kernel.signature.parameters, shapes, strict=True)
        }
        (expected,) = plain(text, *given.values(), cy=Symbols)
        for tile in (1, 2, 3, 4):
            program = kernel.compile(*map(cy.spec, shapes), schedule=ONE, tile=tile)
            (result,) = unrolled(program, given).values()
            for place in np.ndindex(*expected.shape):
                assert result[place] == expected[place], f"tiles of {tile}, at {place}"


@pytest.mark.parametrize("name", ["states", "channels_last", "batched_backwards"])
def test_backends_agree_bit_for_bit(name):
    given = CASES[name][1](7, 5)
    program = KERNELS[name].compile(*given, tile=3)
    local = cy.run(program, backend="local").output
    for other in (cy.run(program, backend="sim"), *(cy.run(program, backend="mpi", ranks=r) for r in (2, 3))):
        np.testing.assert_array_equal(other.output, local)


def test_axes_in_single_steps_say_why():
    given = CASES["states"][1](8, 5)
    blocking = KERNELS["states"].block(*given, tile=TILE)
    assert blocking.tiles == {"t": 1, "i": 4, "k": 4}
    assert "t has tiles of 1 (a subscript of `X` is neither an index nor a number)" in blocking.explain()


@pytest.mark.parametrize(
    "subscript", ["2 * i + r, 2 * j + s", "i + 2 * r, j + 2 * s", "i + r + 1, j + s + 1"]
)
def test_tiles_of_single_elements_are_none(subscript):
    kernel = kernel_of(f"""
def kernel(A, W):
    O = cy.empty((4, 4))
    for i in range(4):
        for j in range(4):
            O[i, j] = sum(A[{subscript}] * W[r, s] for r in range(3) for s in range(3))
    return O
""")
    with pytest.raises(cy.LegalityError, match="so that it reads parts of several tiles") as caught:
        kernel.block(cy.spec((12, 12)), cy.spec((3, 3)), tile=2)
    assert caught.value.code == "CYC231"
