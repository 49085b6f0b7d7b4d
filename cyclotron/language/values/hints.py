"""Advice for functions and methods of NumPy that kernels do not have: by what they mean, not by spelling."""

from __future__ import annotations

from collections.abc import Mapping

_SHAPE_OF_DATA = (
    "how many elements it gives depends on data, and shapes do not: keep the shape and choose by data, e.g."
    " `cy.where(mask, x, 0)`, and count with `cy.sum(mask)`"
)
_SET = "how many elements it gives depends on data, and shapes do not: call it outside of the kernel"
_FACTORS = (
    "compute it outside of the kernel and pass the factors as arguments; in kernels there are"
    " cy.linalg.solve, inv, det, qr and cholesky of small matrices"
)
_RANDOM = "in kernels random numbers come from a key: `cy.random.uniform(cy.random.key(seed), shape)`"
_FOURIER = (
    "multiply by the matrix of the transform, e.g. `x @ W` with `W = np.fft.fft(np.eye(n))` as an argument"
)
_FILE = "read and write files outside of the kernel, and pass arrays as arguments"
_INTEGER = "use int8 to int64, or uint8 to uint64: those are the integers of arrays"
_PLAIN = "arrays in kernels hold numbers and truth values: use float64, int64, bool, ..."
_POLYNOMIAL = "write Horner's rule, e.g. `(c[0] * x + c[1]) * x + c[2]`"
_AXIS = "write a loop over the axis, or the function's operators on the whole array with `axis=`"
_LOOPS = "write a loop for each axis, e.g. `for i in range(x.shape[0]): ...`"
_TAKE = "write `x[indices]`, or `cy.take_along_axis(x, indices, axis=0)`"
_OUTSIDE = "convert what the kernel returns, outside of it: the value is known when the program runs"
_WITHOUT_NAN = "its place depends on how many NaNs there are: count them by `cy.sum(cy.isnan(x))`, and sort"
_DTYPE = "ask for `x.dtype`, which the host knows, e.g. `x.dtype == cy.float32` or `x.dtype.kind == 'c'`"
_LAYOUT = "leave it out: the compiler decides where elements are"

MEANINGS: Mapping[str, str] = {
    "accumulate": "write the recurrence, e.g. `y[i] = y[i - 1] + x[i]` in a loop over i",
    "reduce": "use the reduction itself: cy.sum, cy.prod, cy.max, cy.min, cy.any or cy.all",
    ".at": "assign the array itself: `x[i] = value`, or `x[i] += value`; `x.copy()` before keeps the old one",
    ".resize": "write `x = cy.resize(x, shape)`",
    ".add_": "write `x += y`",
    ".mm": "write `x @ y`",
    ".view": "write `x.reshape(shape)`",
    ".size": "write `x.shape`",
    ".to": "write `x.astype(dtype)`; where arrays are, the compiler decides",
    ".float": 'write `x.astype("float32")`',
    **dict.fromkeys((".cpu", ".cuda"), "leave it out: where arrays are, the compiler decides"),
    ".append": "arrays keep their size: write `x = cy.append(x, value)`",
    "at": "write a loop: `for k in range(len(idx)): y[idx[k]] += v[k]`",
    **dict.fromkeys(("gather", "index_select"), _TAKE),
    "choose": "choose with `cy.where`, e.g. `cy.where(k == 0, a, cy.where(k == 1, b, c))`",
    "select": "nest `cy.where`, the first condition outermost",
    "piecewise": "nest `cy.where`, the last condition outermost",
    "partition": "write `cy.sort(x)`, which orders all elements",
    "lexsort": "sort by one key, `cy.argsort(x)`, which leaves equal ones in their order",
    "digitize": "count the edges that are not after: `cy.sum(edges[None] <= x[:, None], axis=1)`",
    "bincount": "compare with all numbers: `cy.sum(x[:, None] == cy.arange(n), axis=0)`",
    "angle": "write `cy.arctan2(cy.imag(x), cy.real(x))`",
    "heaviside": "write `cy.where(x > 0, 1.0, cy.where(x == 0, h, 0.0))`",
    "spacing": "write `cy.finfo(x.dtype).eps * cy.abs(x)`",
    "bitwise_count": "add the bits: `sum(x >> k & 1 for k in range(64))`",
    "nbytes": "write `x.size * x.dtype.itemsize`",
    "item": "write `x[0]`, or `x[()]` of an array without axes: its value is known when the program runs",
    **dict.fromkeys(("tolist", "tobytes"), _OUTSIDE),
    "flat": "write `x.ravel()`, or a loop for each axis",
    **dict.fromkeys(("nditer", "ndenumerate", "ndindex"), _LOOPS),
    "vectorize": "write the function's operators on whole arrays, with cy.where for its branches",
    **dict.fromkeys(("apply_along_axis", "apply_over_axes"), _AXIS),
    "setflags": "arrays in kernels are read and assigned as the text says",
    **dict.fromkeys(("ascontiguousarray", "asfortranarray", "contiguous", ".copy", "strides"), _LAYOUT),
    **dict.fromkeys(("as_strided", "sliding_window_view"), "take slices, e.g. `x[k : k + n]` for each k"),
    "put": "write `x[indices] = values`",
    "itemset": "write `x[i] = value`",
    "putmask": "write `x[...] = cy.where(mask, values, x)`",
    "copyto": "write `x[...] = y`, or with a mask `x[...] = cy.where(mask, y, x)`",
    "place": "write `x[...] = cy.where(mask, value, x)`",
    "geomspace": "write `start * (stop / start) ** cy.linspace(0, 1, n)`",
    "logspace": "write `10.0 ** cy.linspace(start, stop, n)`",
    "fromiter": "pass the numbers to the kernel as an argument",
    "matrix": "use arrays and `@`",
    "expand": "write `cy.broadcast_to(x, shape)`",
    "permute": "write `x.transpose(axes)`",
    "unsqueeze": "write `cy.expand_dims(x, axis)`, or `x[:, None]`",
    **dict.fromkeys(("detach", "requires_grad_"), "leave it out: there is no gradient"),
    "numpy": "leave it out: arrays in kernels have NumPy's operators",
    "block_until_ready": "leave it out: a call of a kernel returns when it is done",
    "clone": "write `x.copy()`",
    "double": 'write `x.astype("float64")`',
    "int_": "use int64",
    ".long": 'write `x.astype("int64")`',
    ".type": "write `x.astype(dtype)`",
    ".t": "write `x.T`",
    "pow": "write `x ** y`",
    "masked_fill": "write `cy.where(mask, value, x)`",
    "topk": "take them of the elements in order, `cy.sort(x)[::-1][:k]`",
    "poly1d": _POLYNOMIAL,
    "cumulative_sum": "write `cy.cumsum(x)`",
    **dict.fromkeys(("nanmedian", "nanquantile", "nanpercentile"), _WITHOUT_NAN),
    "astype": "write `x.astype(dtype)`",
    "nanargmax": "write `cy.argmax(cy.where(cy.isnan(x), -cy.inf, x))`",
    "nanargmin": "write `cy.argmin(cy.where(cy.isnan(x), cy.inf, x))`",
    "reduceat": "write a reduction of each slice, e.g. `cy.sum(x[a:b])`",
    "in1d": "write `np.isin(x, values)`",
    "trapz": "write `cy.trapezoid(y, x)`",
    "float_": 'write `x.astype("float64")`',
    **dict.fromkeys(("gcd", "lcm"), "write Euclid's loop for each element: `while b != 0: a, b = b, a % b`"),
    "ldexp": "write `x * 2.0 ** n`",
    "float_power": 'write `x.astype("float64") ** y`',
    "isneginf": "write `x == -cy.inf`",
    "isposinf": "write `x == cy.inf`",
    "isreal": "write `cy.imag(x) == 0`",
    "matrix_transpose": "write `cy.swapaxes(x, -1, -2)`",
    "vecdot": "write `cy.sum(x * y, axis=-1)`",
    "multi_dot": "write `A @ B @ C`",
    "rollaxis": "write `cy.moveaxis(x, axis, start)`",
    "broadcast_arrays": "write `cy.broadcast_to(x, shape)` for each",
    "argpartition": "write `cy.argsort(x)`, which orders all elements",
    **dict.fromkeys(("asanyarray", "require"), "leave it out, or write `cy.array(x)` for a copy"),
    **dict.fromkeys(("iscomplexobj", "isrealobj", "result_type", "can_cast"), _DTYPE),
    "matrix_power": "write the product, `A @ A`, or a loop",
    "vander": "write `x[:, None] ** cy.arange(n - 1, -1, -1)`",
    "ediff1d": "write `cy.diff(x)`",
    "np.outer": "write `x[:, None] * y`, with the operator that is meant",
    **dict.fromkeys(
        ("where(mask)", "nonzero", "flatnonzero", "argwhere", "compress", "extract"), _SHAPE_OF_DATA
    ),
    **dict.fromkeys(("unique", "union1d", "intersect1d", "setdiff1d", "trim_zeros"), _SET),
    **dict.fromkeys(("svd", "eig", "eigh", "eigvals", "eigvalsh", "lstsq", "pinv", "matrix_rank"), _FACTORS),
    "cond": _FACTORS,
    **dict.fromkeys(
        ("random", "rand", "randn", "randint", "default_rng", "standard_normal", "seed"), _RANDOM
    ),
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft", "fft2", "ifft2"), _FOURIER),
    **dict.fromkeys(
        ("save", "savez", "savetxt", "load", "loadtxt", "genfromtxt", "tofile", "fromfile"), _FILE
    ),
    **dict.fromkeys(
        ("intc", "uintc", "uint", "byte", "ubyte", "short", "ushort", "longlong", "ulonglong"), _INTEGER
    ),
    **dict.fromkeys(("object_", "str_", "bytes_", "void", "datetime64", "longdouble", "chararray"), _PLAIN),
}
"""Advice on what to write, by NumPy's name, and a few of other packages' arrays."""
