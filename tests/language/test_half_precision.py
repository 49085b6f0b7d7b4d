"""float16: every value converts and computes as in NumPy, and sums of arrays are kept in single precision."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import cyclotron as cy

RNG = np.random.default_rng(16)
EVERY = np.arange(2**16, dtype=np.uint16).view(np.float16)
ONE, OTHER = RNG.choice(EVERY, (2, 4000))
FINITE = np.isfinite(ONE) & np.isfinite(OTHER) & (OTHER != 0)
WIDE = np.concatenate(
    [
        RNG.standard_normal(20_000) * 10.0 ** RNG.integers(-9, 6, 20_000),
        [
            np.inf,
            -np.inf,
            np.nan,
            0.0,
            -0.0,
            65519.999,
            65520.0,
            -65520.0,
        ],  # the largest, and what is infinite
        [2.0**-25, 1.5 * 2.0**-24, 2.0**-25 * (1 + 2.0**-50), 2.0**-14 - 2.0**-26],  # the least ones
        [1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-50, 1 + 3 * 2.0**-11],  # ties, and what float would make one
    ]
)


@cy.kernel
def there_and_back(x):
    return x.astype("float32").astype("float16"), x.astype("float64"), x != 0, x.astype("complex64")


@cy.kernel
def narrowed(x):
    return x.astype("float16")


@cy.kernel
def arithmetic(x, y):
    return x + y, x - y, x * y, x / y, x * y + x, -x, cy.abs(x), cy.sign(x), cy.floor(x), cy.ceil(x)


@cy.kernel
def chosen(x, y):
    return cy.maximum(x, y), cy.minimum(x, y), cy.where(x < y, x, y), x <= y, cy.isnan(x), cy.isfinite(y)


@cy.kernel
def divided(x, y):
    return x // y, x % y


@cy.kernel
def with_others(x, A):
    """Numbers adopt the dtype; arrays of others are promoted."""
    B = cy.empty_like(x)
    for i in range(x.shape[0]):
        B[i] = x[i] * i + 0.1
    return B, x * 2 + 0.1, A[:, 0] * x, x * x.astype("float32")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        (there_and_back, (EVERY,)),
        (narrowed, (WIDE,)),
        (narrowed, (WIDE.astype("float32"),)),
        (narrowed, (np.arange(-70_000, 70_000, 7),)),
        (arithmetic, (ONE, OTHER)),
        (chosen, (ONE, OTHER)),
        (divided, (ONE[FINITE], OTHER[FINITE])),
        (with_others, (RNG.random(9).astype("float16"), np.arange(27, dtype="int32").reshape(9, 3))),
        (with_others, (np.zeros(0, "float16"), np.zeros((0, 1)))),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_computes_as_numpy(kernel, arguments):
    expected = kernel.reference(*arguments)
    program = kernel.compile(*arguments)
    for backend in ("sim", "local"):
        outputs = cy.run(program, backend=backend).outputs.values()
        for found, wanted in zip(
            outputs, expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


@cy.kernel
def functions(x):
    return cy.exp(x), cy.log(x), cy.sin(x), cy.cos(x), cy.tanh(x), cy.sqrt(x), x**0.5, cy.hypot(x, x)


def test_functions_are_those_of_single_precision():
    x = EVERY[(EVERY > 0) & (EVERY < 8)]
    for found, wanted in zip(
        cy.run(functions.compile(x), backend="sim").outputs.values(), functions.reference(x), strict=True
    ):
        np.testing.assert_array_max_ulp(found, wanted, maxulp=1)


@cy.kernel
def folded(A, x):
    total = cy.einsum("ij->i", A)
    product = cy.einsum("ij,j->i", A, x)
    return (
        cy.sum(A),
        cy.sum(A, axis=1),
        cy.mean(A),
        cy.std(x),
        cy.norm(x),
        A @ x,
        cy.dot(x, x),
        total,
        product,
    )


def test_sums_are_kept_in_single_precision():
    """The first term would swallow the others (MA-044)."""
    A = np.ones((3, 8), dtype="float16")
    A[:, 0] = 2.0**11
    x = RNG.random(8).astype("float16")
    program = folded.compile(A, x)
    for backend in ("sim", "local"):
        for found, wanted in zip(
            cy.run(program, backend=backend).outputs.values(), folded.reference(A, x), strict=True
        ):
            assert found.dtype == "float16"
            np.testing.assert_array_max_ulp(found, wanted, maxulp=1)
    assert np.add.accumulate(A[0])[-1] == A[0, 0] != cy.run(program, backend="sim").outputs["result_2"][0]


@cy.kernel
def product(A, B):
    C = cy.empty_like(A)
    for i in range(2):
        for j in range(2):
            C[i, j] = A[i, 0] @ B[0, j] + A[i, 1] @ B[1, j]
    return C


def test_tiles_are_multiplied_and_not_factorized():
    A = RNG.standard_normal((8, 8)).astype("float16")
    tiles = cy.blocked(A, (4, 4))
    expected = product.reference(tiles, tiles)
    for backend in ("sim", "local"):
        result = cy.run(product.compile(tiles, tiles), backend=backend)
        np.testing.assert_array_max_ulp(result.output, np.asarray(expected), maxulp=2)

    @cy.kernel
    def factor(A):
        C = cy.empty_like(A)
        C[0, 0] = cy.linalg.cholesky(A[0, 0])
        return C

    with pytest.raises(cy.ShapeError, match="`cholesky` is not defined on float16"):
        factor.compile(cy.blocked(A, (8, 8)))


def test_takes_half_of_the_memory_and_stays_in_files(tmp_path):
    x = RNG.random(64).astype("float16")
    A = np.ones((64, 1), dtype="int32")
    program = arithmetic.compile(x, x)
    single = arithmetic.compile(*[x.astype("float32")] * 2)
    half, whole = (max(role.memory_bytes for role in one.roles) for one in (program, single))
    assert 0 < half <= whole / 2
    program = with_others.compile(x, A)
    program.save(tmp_path / "half.cyc")
    for found, wanted in zip(
        cy.run(cy.load(tmp_path / "half.cyc"), x, A, backend="sim").outputs.values(),
        with_others.reference(x, A),
        strict=True,
    ):
        np.testing.assert_array_equal(found, wanted)


@cy.kernel
def multiplied(x):
    return cy.prod(x)


def test_products_do_not_overflow_on_their_way():
    x = np.array([300, 300, 0.001], dtype="float16")
    assert np.isfinite(multiplied.reference(x))
    for backend in ("sim", "local"):
        result = cy.run(multiplied.compile(x), backend=backend).output
        np.testing.assert_array_max_ulp(result, multiplied.reference(x), maxulp=1)


def test_variance_is_rounded_at_each_step_as_by_numpy() -> None:
    """Its squares and sums are infinite before it is: so is NumPy's root of it."""

    @cy.kernel
    def spread(x):
        return cy.var(x, axis=0), cy.std(x, axis=0), cy.std(x, axis=0, keepdims=True) // 1

    x = np.array([[3, 0, 0, 60000], [65504, 300, 1, 60000], [-0.75, 0, 2, 60000]], "float16")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for one, right in zip(spread(x), spread.__wrapped__(x), strict=True):
            np.testing.assert_allclose(one, right, rtol=4 * np.finfo("float16").eps)
            assert one.dtype == right.dtype
