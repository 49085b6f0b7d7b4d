"""The likeliest slips of those who write NumPy, Numba, JAX, Triton or plain Python, and what they are told.

``python tests/language/slips.py`` writes the page of the documentation that lists them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import cyclotron as cy

PAGE = Path(__file__).resolve().parents[2] / "docs/slips.md"
WORKS = "works"
BACKEND = "sim"
X, A, N = np.array([0.5, 2.0, 1.0, 3.5]), np.arange(16.0).reshape(4, 4), np.array([2, 0, 3, 1])

# The text, in `def f(x, A, n): ...`, and words of the right advice; of what works none.
SLIPS: dict[str, list[tuple[str, str]]] = {
    "NumPy": [
        ("return np.diag(A)", ""),
        ("return x[n]", ""),
        ("return A[n, n]", ""),
        ("return x[[3, 1]]", ""),
        ("y = x.copy(); y[x > 1] = 0; return y", ""),
        ("return x[x > 1]", "cy.where(mask, x, 0)"),
        ("return np.nonzero(x)", "cy.where"),
        ("return np.argwhere(x > 1)", "cy.where"),
        ("return np.where(x > 1)", "cy.where(mask, x, 0)"),
        ("return np.unique(n)", "outside of the kernel"),
        ("return np.cumprod(x)", ""),
        ("return np.random.rand(4)", "cy.random"),
        ("return np.random.default_rng(0).normal(size=4)", ""),
        ("return np.add(x, x, out=x)", "x[...] = x + y"),
        ("return np.add.reduce(x)", ""),
        ("y = x.copy(); np.divide.at(y, n, 2.0); return y", "loop"),
        ("return np.zeros(4, dtype=object)", "float64"),
        ("return x.astype('uint8')", ""),
        ("return x.astype(str)", "float64"),
        ("return np.sum(x, where=x > 1)", ""),
        ("return np.max(x, initial=0)", ""),
        ("return x.sum(out=x[:1])", "assign the result"),
        ("return x.item()", "x[0]"),
        ("return x.tolist()", "outside"),
        ("return float(x[0]) * x", ""),
        ("return x.flat[2] * x", "ravel"),
        ("y = x.copy(); y.resize(8); return y", "cy.resize"),
        ("y = x.copy(); y.fill(0); return y", ""),
        ("y = x.copy(); y.sort(); return y", ""),
        ("y = x.copy(); np.put(y, n, 0); return y", "x[indices] = values"),
        ("return np.take(x, n)", ""),
        ("return np.vectorize(lambda v: v * 2)(x)", "operators of arrays"),
        ("return np.apply_along_axis(np.sum, 0, A)", "axis"),
        ("return np.linalg.svd(A)", "outside of the kernel"),
        ("return np.linalg.eigh(A)", "outside of the kernel"),
        ("return np.linalg.inv(A + 20 * np.eye(4))", ""),
        ("return np.fft.fft(x)", "x @ W"),
        ("return np.convolve(x, x)", ""),
        ("return np.polyval(x, 2.0)", ""),
        ("return np.searchsorted(x, 1.0)", ""),
        ("return np.bincount(n)", "cy.arange"),
        ("return np.select([x > 1], [x])", ""),
        ("return np.percentile(x, 50)", ""),
        ("return np.tensordot(A, A)", ""),
        ("return np.rot90(A)", ""),
        ("return -(x > 1)", "~"),
        ("return (x > 1) and (x < 3)", "&"),
        ("return not (x > 1)", "cy"),
        ("return 0 < x < 3", "&"),
        ("return np.save('x.npy', x)", "outside"),
        ("y = np.empty(4); y[0] = x[0]; return y", "cy.zeros"),
        ("y = np.zeros(4); y[1:] = x[1:]; return y", ""),
        ("return A[0, 0, 0]", "axis"),
        ("return A @ x[:3]", "last axis"),
        ("return x[9] * x", "shift the subscript"),
        ("return A[1.5]", "integer"),
        ("return x[: n[0]]", "cy.where"),
        ("return np.sinc(x)", ""),
        ("return np.sqrtt(x)", "cy.sqrt"),
        ("return np.array([x[0], x[1]])", ""),
        ("return np.sum([x, x], axis=0)", "cy.stack"),
        ("return [x[0], x[1]]", "cy.array"),
        ("return np.empty_like(x) * 0", "missing elements"),
        ("return np.linalg.matrix_power(A, 3)", "A @ A"),
        ("return np.vander(x)", "x[:, None] **"),
        ("return np.logaddexp(x, x)", ""),
        ("return np.multiply.outer(x, x)", ""),
        ("return x.copy(order='F')", "leave it out"),
        ("with np.errstate(all='ignore'):\n    y = x / x\nreturn y", "where the kernel is called"),
        ("x[n] += 1; return x", ""),
        ("A[:, 0] = x; return A", ""),
    ],
    "Python": [
        ("return [v * 2 for v in x]", "range"),
        ("y = cy.zeros_like(x)\nfor v in x:\n    y[0] = v\nreturn y", ""),
        ("for i, v in enumerate(x):\n    x[i] = v + i\nreturn x", ""),
        ("return sum(x)", "cy.sum"),
        ("return max(x)", "cy.max"),
        ("return sorted(x)", "cy.sort"),
        ("return abs(x)", ""),
        ("return round(x)", "cy.round"),
        ("return len(x) * x", ""),
        ("return math.sqrt(x[0]) * x", ""),
        ("return math.exp(x[0]) * x", ""),
        ("if x[0] > 1:\n    return x\nreturn 2 * x", "end of the kernel"),
        ("try:\n    y = 1 / x\nexcept ZeroDivisionError:\n    y = x\nreturn y", "cy.host"),
        ("x[0] = 1.0\nreturn x", ""),
        ("s = 0.0\nfor i in range(4):\n    s += x[i]\nreturn s", ""),
        ("s = 0.0\nfor i in range(4):\n    s = s + x[i]\nreturn s", ""),
        ("y = []\nfor i in range(4):\n    y.append(x[i])\nreturn y", "cy.host"),
        ("y = cy.zeros_like(x)\nfor i in range(4):\n    y[i // 2] = x[i]\nreturn y", ""),
        ("y = cy.zeros_like(x)\nfor i in range(x[0]):\n    y[i] = x[i]\nreturn y", "int(x[i])"),
        ("return x if x[0] > 1 else 2 * x", ""),
        ("return {'x': x, 'y': 2 * x}", ""),
        ("return x, None", "arrays"),
        ("assert x[0] > 0\nreturn x", "cy.where"),
        ("del n\nreturn x", "cy.host"),
        ("def g(v):\n    v[0] = 1\nreturn g(x)", "outside the kernel"),
        ("return 2 * x if isinstance(x, np.ndarray) else x", ""),
        ("return x * (2 if 1.0 in x else 3)", "cy.any(x == value)"),
        ("return x if x != None else 2 * x", "by `is`"),
        ("return x if x is not None else A", ""),
    ],
    "JAX": [
        ("return jnp.dot(x, x)", "cy.dot"),
        ("return jnp.sum(x)", "cy.sum"),
        ("y = x.at[0].set(1.0); return y", "x[i] = value"),
        ("y = x.at[n].add(x); return y", "x[i] += value"),
        ("return jax.lax.fori_loop(0, 4, lambda i, y: y + i, x)", "for i in range"),
        ("return jax.lax.scan(lambda c, v: (c + v, c), 0.0, x)", "loop"),
        ("return jax.lax.cond(x[0] > 1, lambda: x, lambda: 2 * x)", "cy.where"),
        ("return jax.lax.while_loop(lambda y: y[0] < 1, lambda y: y + 1, x)", "while condition"),
        ("return jax.vmap(lambda v: v * 2)(x)", "axis"),
        ("return jax.random.normal(jax.random.PRNGKey(0), (4,))", "cy.random"),
        ("return x.block_until_ready()", "leave it out"),
        ("return jax.nn.relu(x)", "cy.maximum"),
        ("return jax.nn.softmax(x)", "cy.exp"),
        ("return jax.jit(lambda v: v * 2)(x)", "alone"),
        ("return jax.device_put(x)", "leave it out"),
    ],
    "Numba": [
        ("y = cy.zeros_like(x)\nfor i in numba.prange(4):\n    y[i] = x[i]\nreturn y", "range"),
        ("i = cuda.grid(1)\nreturn x * i", "loop"),
        ("cuda.syncthreads()\nreturn x", "leave it out"),
        ("cuda.atomic.add(x, 0, 1.0)\nreturn x", "+="),
    ],
    "Triton and PyTorch": [
        ("return tl.load(x + n)", "x[i]"),
        ("tl.store(x, 1.0)\nreturn x", "y[i] = value"),
        ("i = tl.program_id(0)\nreturn x * i", "loop"),
        ("return tl.dot(A, A)", "A @ B"),
        ("return torch.cat([x, x])", "cy.concatenate"),
        ("return torch.relu(x)", "cy.maximum"),
        ("return x.mm(A)", "x @ y"),
        ("return x.unsqueeze(0)", "expand_dims"),
        ("return x.to('cuda')", "astype"),
        ("return x.detach()", "leave it out"),
        ("return torch.clamp(x, 0, 1)", "cy.clip"),
        ("return torch.tensor([1.0, 2.0])", "cy.array"),
        ("return x.sum(dim=0)", "axis="),
        ("return x.sum(axis=0, keepdim=True)", "keepdims="),
        ("return x.sqrt()", "cy.sqrt"),
        ("return x.size(0) * x", "x.shape"),
        ("return x.view(2, 2)", "x.reshape(shape)"),
        ("return A.t()", "x.T"),
        ("return x.pow(2)", "x ** y"),
        ("return x.long()", "astype"),
        ("return x.masked_fill(x > 1, 0.0)", "cy.where"),
        ("return x.gather(0, n)", "take_along_axis"),
        ("return x.topk(2)", "cy.sort"),
        ("return A.T.contiguous()", "leave it out"),
    ],
}
PACKAGES = {
    "jax": ("lax", "nn", "random", "numpy"),
    "numba": ("cuda",),
    "triton": ("language",),
    "torch": (),
}


class StandIn(ModuleType):
    """A package that need not be installed: it has every name, and functions that know no arrays."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: self


def packages() -> dict[str, Any]:
    """The names under which kernels know the packages."""
    made = {name: StandIn(name) for name in PACKAGES}
    for name, inner in PACKAGES.items():
        for one in inner:
            setattr(made[name], one, StandIn(f"{name}.{one}"))
    language, cuda = made["triton"].language, made["numba"].cuda
    cuda.atomic = StandIn("numba.cuda.atomic")
    return {**made, "jnp": made["jax"].numpy, "tl": language, "cuda": cuda}


def outcome(text: str) -> str:
    """That a text works, and gives what Python and NumPy give; or the code, and the advice."""
    body = text.replace("; ", "\n").replace("\n", "\n    ")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.py"
        path.write_text(
            "import math\nimport numpy as np\nimport cyclotron as cy\n\n\n"
            f"@cy.kernel\ndef f(x, A, n):\n    {body}\n"
        )
        names: dict[str, Any] = packages()
        exec(compile(path.read_text(), str(path), "exec"), names)
        try:
            program = names["f"].compile(X, A, N)
        except cy.CyclotronError as error:
            return f"{error.code}: {error.help}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        found = [*cy.run(program, backend=BACKEND).outputs.values()]
        expected = names["f"].reference(X, A, N)
    expected = [*expected.values()] if isinstance(expected, dict) else expected
    for own, plain in zip(found, expected if isinstance(expected, tuple | list) else [expected], strict=True):
        np.testing.assert_allclose(own, plain, rtol=1e-12)
    return WORKS


def row(text: str) -> str:
    """The row of a slip on the page."""
    shown = text.replace("\n    ", " ").replace("\n", "; ")
    return " | ".join(["", *(cell.replace("|", "\\|") for cell in (f"`{shown}`", outcome(text))), ""]).strip()


def page() -> str:
    """The page that lists all of them."""
    parts = [HEAD.format(number=sum(map(len, SLIPS.values())))]
    for group, rows in SLIPS.items():
        lines = ["| kernel | what it gets |", "| --- | --- |", *(row(text) for text, _ in rows)]
        parts.append(f"## {group}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


HEAD = """# Slips, and what they are told

{number} lines that those write who come from NumPy, Numba, JAX, Triton or PyTorch, in
`def f(x, A, n): ...`, where `x` is a vector, `A` a matrix, and `n` a vector of whole numbers. What works
gives what NumPy gives; the others are refused with a code and with advice. Each row is a test.
"""

if __name__ == "__main__":
    PAGE.write_text(page())
