"""NumPy's functions that `cyclotron` takes from NumPy, of odd arguments and dtypes, beside NumPy."""

import numpy as np
import pytest

import cyclotron as cy

RANDOM = np.random.default_rng(3)
A, C = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(2, 3, 4))
Z = np.where(A > 0.9, np.nan, A)
N = np.array([2, 0, 3, -1])
ARRAYS = {"A": A, "C": C, "Z": Z, "N": N, "M": A > 0, "H": A.astype(np.float16)}
CASES = {
    "np.rot90(A, 1), np.rot90(A, 2), np.rot90(A, -1), np.rot90(A, 0), np.rot90(C, 1, (1, 2))": 0,
    "np.flipud(C), np.fliplr(C)": 0,
    "np.take(A, N, axis=0), np.take(A, N), np.take(C, 1, axis=-1), A.take([0, 2], 1)": 0,
    "np.isin(N, [0, 3]), np.isin(N, N[:2], invert=True)": 0,
    "np.searchsorted(A[:, 0] * 0 + 1, A), np.searchsorted(N[1:3], 2, side='right')": 0,
    "np.tensordot(A, A), np.tensordot(A, C, 0), np.tensordot(C, A, ([2, 1], [0, 1]))": 1e-14,
    "np.tensordot(A, A, (0, 0)), np.tensordot(A, C, (-1, 1))": 1e-14,
    "np.quantile(A, 0.3), np.quantile(A, [0, 0.55, 1], axis=0), np.quantile(N, 0.5, keepdims=True)": 1e-15,
    "np.percentile(Z, 40, axis=1), np.percentile(H, 30)": 2e-3,
    "np.nanmean(Z, axis=0), np.nanvar(Z, axis=1), np.nanstd(Z, ddof=1), np.nanprod(Z)": 1e-14,
    "np.nancumsum(Z), np.nanmean(N)": 1e-14,
    "np.correlate(A[:, 0], A[:2, 1]), np.correlate(A[:2, 0], A[:, 1], 'same')": 1e-14,
    "np.correlate(N, N, 'full'), np.correlate(A[0] + 1j, A[1] - 2j, 'same')": 1e-14,
    "np.exp2(N), np.exp2(H), np.sinc(A), np.sinc(H * 0)": 1e-3,
    "np.arcsinh(A), np.arcsinh(A * 1e200), np.arcsinh(-A * 1e-9), np.arctanh(A / 9)": 1e-13,
    "np.arcsin(A / 9), np.arccos(A / 9), np.arccosh(abs(A) + 1)": 1e-13,
    "np.modf(A)[0], np.modf(A)[1], np.modf(-abs(N) / 2)[0]": 0,
    "np.sum(A, axis=0, where=M), np.sum(N, where=N > 0, initial=5), np.prod(A, where=M, initial=2)": 1e-14,
    "np.max(A, axis=1, where=M, initial=0), A.min(initial=-9), np.mean(A, axis=0, where=M)": 1e-14,
    "np.any(A, where=M), np.all(A > 0, axis=1, where=M), np.amax(N), np.amin(A, axis=0)": 0,
    "np.mean(H, where=M), np.mean(N, where=N > 0)": 1e-3,
}


def kernel(text, folder, package):
    """The kernel that returns an expression, whose functions are those of a package."""
    path = folder / f"of_{package}.py"
    path.write_text(f"import {package} as np\n\n\ndef f({', '.join(ARRAYS)}):\n    return {text}\n")
    names = {}
    exec(compile(path.read_text(), path, "exec"), names)
    return cy.kernel(names["f"])


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("package", ["numpy", "cyclotron"])
@pytest.mark.parametrize(("text", "tolerance"), CASES.items())
def test_as_numpy(text, tolerance, package, tmp_path):
    given = {name: np.copy(array) for name, array in ARRAYS.items()}
    outputs = cy.run(kernel(text, tmp_path, package).compile(**given), backend="sim").outputs.values()
    expected = kernel(text, tmp_path, "numpy").reference(**ARRAYS)
    for found, one in zip(outputs, expected, strict=True):
        assert (found.shape, found.dtype) == (np.shape(one), np.asarray(one).dtype)
        np.testing.assert_allclose(found, one, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("text", "advice"),
    {
        "np.where(M)": ("CYC105", "cy.where(mask, x, 0)"),
        "np.max(A, where=M)": ("CYC122", "as NumPy asks"),
        "np.any(M, initial=True)": ("CYC122", "leave it out"),
        "np.sum(A, out=A[0])": ("CYC105", "assign the result"),
        "np.exp(A, dtype='float32')": ("CYC105", "astype"),
        "np.subtract.reduce(A)": ("CYC105", "cy.sum"),
        "np.add.reduceat(A, [0, 2])": ("CYC105", "slice"),
        "np.quantile(A, 1.5)": ("CYC122", "from 0 to 1"),
        "np.quantile(A, A[0, 0])": ("CYC122", "of the host"),
        "np.searchsorted(A[0], 1.0, side='up')": ("CYC122", "right"),
        "np.tensordot(A, A, 1)": ("CYC122", "size"),
        "np.isposinf(A)": ("CYC105", "x == cy.inf"),
        "np.gcd(N, 2)": ("CYC105", "Euclid"),
    }.items(),
)
def test_refused_by_meaning(text, advice, tmp_path):
    with pytest.raises(cy.CyclotronError) as error:
        kernel(text, tmp_path, "cyclotron").compile(**ARRAYS)
    assert error.value.code == advice[0]
    assert advice[1] in (error.value.help or "")
    assert error.value.span.line == 5
