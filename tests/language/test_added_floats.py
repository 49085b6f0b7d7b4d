"""Floats of 8 and 16 bits that `ml_dtypes` adds to NumPy, beside NumPy with them."""

import subprocess
import sys

import numpy as np
import pytest

import cyclotron as cy

ml_dtypes = pytest.importorskip("ml_dtypes")

DTYPES = ["bfloat16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2"]
BACKENDS = ["sim", "local"]


def arithmetic(u, v):
    return u + v, u - v, u * v, u / v, -u, cy.abs(u), u * u * v + v


def with_numbers(u, v):
    return u * 2, u + 1.5, 0.1 - v, u / np.float32(3), u * np.int8(3), u**2


def powers(u, v):
    return u**-1, u**-1.0, u**0.5, u**2, u**2.0, u**3, u**1.0, u[4] ** 0.5, u[4] ** 2, cy.log2(u), cy.log10(u)


def compared(u, v):
    return u < v, u == v, cy.where(u > v, u, v), cy.maximum(u, v), cy.minimum(u, 0.5), cy.isnan(u)


def functions(u, v):
    return cy.sqrt(cy.abs(u)), cy.exp(u), cy.tanh(v), cy.floor(u)


def cast(u, v):
    return u.astype("float32") + 1, v.astype("float64"), (u > 0).astype(u.dtype), u.astype("int32")


def elements(u, v):
    y = cy.zeros_like(u)
    for i in range(len(u)):
        y[i] = u[i] * v[i] + u[i]
    for i in range(1, len(u)):
        y[i] += y[i - 1]
    return y


def in_place(u, v):
    u += v
    u[1:] *= v[:-1]
    u[::2] = 3
    return u, cy.max(u), cy.min(v), cy.sum(u > 1)


def by_numpy(text):
    """The kernel's text run by NumPy alone."""
    return type(text)(text.__code__, {**text.__globals__, "cy": np})


def operands(dtype, n=40, seed=3):
    """Numbers of all sizes, and corners."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        made = [(rng.standard_normal(n) * 2.0 ** rng.integers(-6, 6, n)).astype(dtype) for _ in range(2)]
        for one, corners in zip(made, ([np.nan, np.inf, -0.0, 0.0], [1.0, -1.0, 0.0, -np.inf]), strict=True):
            one[:4] = np.array(corners).astype(dtype)
    return made


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "text",
    [arithmetic, with_numbers, powers, compared, functions, cast, elements, in_place],
    ids=lambda one: one.__name__,
)
def test_bits_of_numpy(text, dtype):
    u, v = operands(dtype)
    if text in (cast, powers):
        u = np.abs(u[4:])
        v = v[4:]
    expected = by_numpy(text)(u.copy(), v.copy())
    kernel = cy.kernel(text)
    program = kernel.compile(u, v)
    plain = kernel.reference(u, v)
    runs = [plain if isinstance(plain, tuple) else (plain,)]
    runs += [tuple(cy.run(program, backend=backend).outputs.values()) for backend in BACKENDS]
    for found in runs:
        for one, right in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
            one, right = np.asarray(one), np.asarray(right)
            assert one.dtype == right.dtype
            a, b = one.astype("float64"), right.astype("float64")
            if text is functions:  # the last bit of exp and tanh is the C library's
                np.testing.assert_allclose(a, b, rtol=2.0 * float(ml_dtypes.finfo(u.dtype).eps))
            else:
                np.testing.assert_array_equal(a, b)
                assert np.array_equal(np.signbit(a), np.signbit(b)) or np.isnan(b).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_are_kept_in_single_precision(dtype):
    rng = np.random.default_rng(1)
    A, B = (rng.integers(-4, 5, shape).astype(dtype) for shape in ((5, 7), (7, 3)))

    @cy.kernel
    def product(A, B):
        return A @ B, cy.matmul(A, B, dtype=np.float32), cy.sum(A, axis=0, dtype="float32")

    right = A.astype("float32") @ B.astype("float32")
    program = product.compile(A, B)
    for found in (
        product.reference(A, B),
        *(tuple(cy.run(program, backend=b).outputs.values()) for b in BACKENDS),
    ):
        assert found[0].dtype == (A @ B).dtype == np.float32
        np.testing.assert_array_equal(found[0], right)
        np.testing.assert_array_equal(found[1], right)
        np.testing.assert_array_equal(found[2], A.astype("float32").sum(axis=0))


def test_a_file_runs_where_ml_dtypes_was_not_imported(tmp_path):
    @cy.kernel
    def double(u):
        return u + u

    u = np.array([1.5, -2], "bfloat16")
    double.compile(u).save(tmp_path / "double.cyc")
    np.save(tmp_path / "u.npy", u.view("uint16"))
    script = f"""
import numpy as np, cyclotron as cy
program = cy.load({str(tmp_path / "double.cyc")!r})
assert program.tensors[0]["dtype"] == "bfloat16"
import ml_dtypes
u = np.load({str(tmp_path / "u.npy")!r}).view("bfloat16")
print(cy.run(program, u, backend="local").outputs)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "3" in done.stdout
    assert "-4" in done.stdout


def sum_with_others(u, n):
    return u + n, n * u


@pytest.mark.parametrize(
    "other", ["bool", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_others_are_promoted_as_in_numpy(dtype, other):
    u, n = np.array([1.5, -2, 0.25], dtype), np.array([1, 0, 3], other)
    for found, right in zip(cy.kernel(sum_with_others)(u, n), sum_with_others(u, n), strict=True):
        np.testing.assert_array_equal(found.astype("float64"), right.astype("float64"))
        assert found.dtype == right.dtype


def test_what_numpy_does_not_promote_is_refused():
    @cy.kernel
    def chosen(u, n):
        return cy.where(u > 1, u, n)

    u, n = np.ones(3, "bfloat16"), np.arange(3)
    try:
        right = np.where(u > 1, u, n)
    except TypeError:  # with `ml_dtypes` before 0.7
        pass
    else:
        np.testing.assert_array_equal(chosen(u, n), right, strict=True)
        return
    with pytest.raises(cy.ShapeError, match=r"operands of bfloat16 and int64.*\n(.*\n)*.*astype") as error:
        chosen(u, n)
    assert error.value.code == "CYC121"


def test_dot_and_sums_have_the_dtype_of_the_operands():
    @cy.kernel
    def folded(u, A):
        return cy.dot(u, u), cy.sum(A, axis=0), cy.mean(u), A.sum()

    u, A = np.array([1, 2, 3], "bfloat16"), np.arange(6).reshape(2, 3).astype("bfloat16")
    right = np.dot(u, u), A.sum(axis=0), np.mean(u), A.sum()
    for found, one in zip(folded(u, A), right, strict=True):
        assert found.dtype == np.asarray(one).dtype
        np.testing.assert_array_equal(found.astype("f8"), np.asarray(one).astype("f8"))


def test_tiles_of_them_are_refused():
    @cy.kernel
    def product(A, B):
        C = cy.zeros_like(A)
        for i in range(A.shape[0]):
            for j in range(B.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] @ B[k, j]
        return C

    A = np.ones((4, 4), "bfloat16")
    with pytest.raises(cy.ShapeError, match=r"argument `A` has tiles of dtype bfloat16") as error:
        product(cy.blocked(A, (2, 2)), cy.blocked(A, (2, 2)))
    assert error.value.code == "CYC120"
    assert product(A, A).tolist() == [[4.0] * 4] * 4  # on scalars


@pytest.mark.parametrize("dtype", DTYPES)
def test_ranks_compute_the_same_bits(dtype):
    @cy.kernel
    def smooth(u, A):
        u[1:-1] = (u[:-2] + u[2:]) * A[0, 0]
        return u, A @ A, cy.norm(u), cy.zeros(3, dtype=u.dtype) + u[0]

    u, A = np.arange(8).astype(dtype), np.arange(9).reshape(3, 3).astype(dtype)
    program = smooth.compile(u, A)
    expected = cy.run(program, backend="sim").outputs
    found = cy.run(program, backend="mpi", ranks=2).outputs
    for name, right in expected.items():
        assert found[name].dtype == right.dtype
        assert found[name].tobytes() == right.tobytes()


def test_dtypes_by_name():
    assert cy.spec((4,), "bfloat16").dtype == "bfloat16"

    @cy.kernel
    def made(x):
        y = cy.zeros(3, dtype="bfloat16")
        y[:] = x
        return y + cy.full(3, 1.5, dtype=ml_dtypes.bfloat16), cy.cast(x, "float8_e5m2")

    x = np.array([1, 2.7, 3])
    y, z = made(x)
    np.testing.assert_array_equal(y, x.astype("bfloat16") + np.full(3, 1.5, "bfloat16"))
    np.testing.assert_array_equal(z, x.astype("float8_e5m2"))


def test_without_the_package_that_has_them(tmp_path):
    path = tmp_path / "without.py"
    path.write_text("""
import sys
sys.modules["ml_dtypes"] = None
import numpy as np, cyclotron as cy

@cy.kernel
def halved(x):
    return (x * 2).astype("float16")

@cy.kernel
def cast(x):
    return cy.cast(x, "bfloat16")

print(halved(np.ones(2)))
for make in (lambda: cy.spec((3,), "bfloat16"), lambda: cast(np.ones(2))):
    try:
        make()
    except cy.ShapeError as error:
        print(error)
""")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[2. 2.]")
    assert done.stdout.count("pip install ml_dtypes") == 2


_NAMED = """
import sys
import numpy as np
import cyclotron as cy
from named import narrow, narrowed

assert "ml_dtypes" not in sys.modules
x = np.full(4, 1.01, "float32")
match sys.argv[1]:
    case "text":
        found = narrow(x)
    case "argument":
        found = narrowed(x, "bfloat16")
    case "reference":
        found = narrow.reference(x)
    case "file":
        found = cy.run(cy.load("narrow.cyc"), x, backend="sim").output
    case "spec":
        found = [float(cy.spec((4,), "bfloat16").dtype == "bfloat16")]
assert "ml_dtypes" in sys.modules
print([float(one) for one in found])
"""
_KERNELS = """
import cyclotron as cy

@cy.kernel
def narrow(x):
    return x.astype("bfloat16").astype("float32")

@cy.kernel
def narrowed(x, dtype):
    return x.astype(dtype)
"""


@pytest.mark.parametrize("named", ["text", "argument", "reference", "file", "spec"])
def test_where_a_dtype_is_named_numpy_has_it(named, tmp_path):
    """The package that adds it takes long to import: not before."""
    (tmp_path / "named.py").write_text(
        _KERNELS if named != "argument" else _KERNELS.replace("bfloat16", "float64")
    )
    if named == "file":
        code = (
            "import numpy as np; from named import narrow; narrow.compile(np.ones(4, 'f')).save('narrow.cyc')"
        )
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    ran = subprocess.run(
        [sys.executable, "-c", _NAMED, named], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert ran.stdout.strip() == (
        "[1.0]" if named == "spec" else "[1.0078125, 1.0078125, 1.0078125, 1.0078125]"
    )
