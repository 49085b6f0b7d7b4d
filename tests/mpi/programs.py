"""Programs written by hand as the file's JSON, so that these tests need no compiler."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from cyclotron import mpi
from cyclotron.mpi.store import Work

LINK = {"latency_cycles": 1, "response_latency_cycles": 1, "words_per_cycle": 1, "depth": 2}


def run(program: bytes, tensors: Any, arrays: list[Any], ranks: int | None = None) -> Any:
    """Run on the ranks of the launcher, or of a pool; the arrays of outputs are written."""
    return mpi.current(ranks).run(Work(program, tensors, arrays))


def program_file(
    grid: list[int],
    tensors: list[dict[str, Any]],
    channels: list[dict[str, Any]],
    slots: list[tuple[str, str, int]],
    code: list[dict[str, Any]],
    topology: str = "mesh",
) -> bytes:
    """Return a program with one class on the whole grid; slots are (name, dtype, tile extent)."""
    placed = []
    address = 0
    for name, dtype, tile in slots:
        placed.append(
            {
                "name": name,
                "dtype": dtype,
                "tile": [tile, tile],
                "count": 1,
                "address": address,
                "persistent": False,
            }
        )
        address += -(-tile * tile * np.dtype(dtype).itemsize // 16) * 16
    pe = {"memory_bytes": max(address, 16), "flops_per_cycle": 2, "cycles": {}}
    body = {
        "kernel": "test",
        "machine": {"grid": grid, "topology": topology, "link": LINK, "broadcast": LINK, "pe": pe},
        "grid": grid,
        "grid_names": [f"i{d}" for d in range(len(grid))],
        "tensors": tensors,
        "channels": channels,
        "classes": [
            {
                "name": "class 0",
                "region": [[]],
                "region_text": "all",
                "slots": placed,
                "code": [{**step, "at": [0, n + 1, 0, n + 1, 1]} for n, step in enumerate(code)],
                "memory_bytes": address,
            }
        ],
        "notes": {},
        "files": ["kernel.py"],
    }
    text = json.dumps(body).encode()
    return b"CYCP" + struct.pack("<HHQI", 1, 0, len(text), zlib.crc32(text)) + bytes(4) + text


def tensor(name: str, role: str, shape: list[int], tile: int = 1, dtype: str = "float64") -> dict[str, Any]:
    return {
        "name": name,
        "dtype": dtype,
        "role": role,
        "shape": shape,
        "tile": [tile] * len(shape),
        "blocked": tile > 1,
    }


def matmul(
    m: int, n: int, k: int, tile: int = 1, dtype: str = "float64"
) -> tuple[bytes, list[dict[str, Any]]]:
    """C = A @ B, output-stationary: A flows along columns, B along rows."""
    rows, columns, inner = (-(-size // tile) for size in (m, n, k))
    tensors = [
        tensor("A", "input", [m, k], tile, dtype),
        tensor("B", "input", [k, n], tile, dtype),
        tensor("C", "output", [m, n], tile, dtype),
    ]
    channel = {"kind": "link", "dtype": dtype, "tile": [tile, tile], "axis": 0, "depth": 0}
    channels = [
        {**channel, "name": "A.j+1", "offset": [0, 1]},
        {**channel, "name": "B.i+1", "offset": [1, 0]},
    ]
    a, b, c = ({"slot": s, "index": [0]} for s in range(3))
    # Forms are [constant, i, j, k].
    forward = [
        *when(
            "zero", [0, 0, 1], {"do": "load", "destination": a, "tensor": 0, "index": [[0, 1], [0, 0, 0, 1]]}
        ),
        *when("non_negative", [-1, 0, 1], {"do": "receive", "channel": 0, "destination": a, "sender": []}),
        *when("non_negative", [columns - 2, 0, -1], {"do": "send", "channel": 0, "source": a}),
        *when(
            "zero", [0, 1], {"do": "load", "destination": b, "tensor": 1, "index": [[0, 0, 0, 1], [0, 0, 1]]}
        ),
        *when("non_negative", [-1, 1], {"do": "receive", "channel": 1, "destination": b, "sender": []}),
        *when("non_negative", [rows - 2, -1], {"do": "send", "channel": 1, "source": b}),
    ]
    code = [
        *loop("k", 0, 0, [*forward, compute("matmul", c, a, b)]),
        *loop("k", 1, inner - 1, [*forward, compute("matmul_add", c, c, a, b)]),
        {"do": "store", "tensor": 2, "index": [[0, 1], [0, 0, 1]], "source": c},
    ]
    slots = [(name, dtype, tile) for name in "abc"]
    return program_file([rows, columns], tensors, channels, slots, code), tensors


def broadcasts(n: int, steps: int) -> tuple[bytes, list[dict[str, Any]]]:
    """y[i, j] = sum of x[i, :]: in step k, the PE in column k mod n broadcasts x[i, k] to its row."""
    tensors = [tensor("x", "input", [n, steps * n]), tensor("y", "output", [n, n])]
    network = {
        "name": "x",
        "kind": "network",
        "dtype": "float64",
        "tile": [1, 1],
        "offset": [],
        "axis": 1,
        "depth": 0,
    }
    x, total = ({"slot": s, "index": [0]} for s in range(2))
    everywhere = {"lower": [{"form": [0], "divisor": 1}], "upper": [{"form": [n - 1], "divisor": 1}]}
    # Forms are [constant, i, j, r, c] with k = n r + c.
    step = [
        *when(
            "zero",
            [0, 0, 1, 0, -1],
            {"do": "load", "destination": x, "tensor": 0, "index": [[0, 1], [0, 0, 0, n, 1]]},
            {"do": "broadcast", "channel": 0, "source": x, **everywhere},
        ),
        {
            "do": "if",
            "condition": [
                [condition("non_negative", [-1, 0, 1, 0, -1])],
                [condition("non_negative", [-1, 0, -1, 0, 1])],
            ],
        },
        {"do": "receive", "channel": 0, "destination": x, "sender": [[0, 0, 0, 0, 1]]},
        {"do": "end"},
        compute("add", total, total, x),
    ]
    code = [
        {"do": "move", "destination": total, "source": {"real": 0.0, "imaginary": 0.0}},
        *loop("r", 0, steps - 1, loop("c", 0, n - 1, step)),
        {"do": "store", "tensor": 1, "index": [[0, 1], [0, 0, 1]], "source": total},
    ]
    return program_file(
        [n, n], tensors, [network], [("x", "float64", 1), ("sum", "float64", 1)], code
    ), tensors


def chain(
    pes: int, sends: int, receives: int, root: float | None = None
) -> tuple[bytes, list[dict[str, Any]]]:
    """Each PE sends to the next, which receives, so many times; the last takes the root of ``root``."""
    channel = {
        "name": "x",
        "kind": "link",
        "dtype": "float64",
        "tile": [1, 1],
        "offset": [1],
        "axis": 0,
        "depth": 0,
    }
    x = {"slot": 0, "index": [0]}
    code = [
        {"do": "move", "destination": x, "source": {"real": 1.0, "imaginary": 0.0}},
        *loop(
            "k",
            0,
            receives - 1,
            when("non_negative", [-1, 1], {"do": "receive", "channel": 0, "destination": x, "sender": []}),
        ),
        *loop(
            "k", 0, sends - 1, when("non_negative", [pes - 2, -1], {"do": "send", "channel": 0, "source": x})
        ),
    ]
    if root is not None:
        code += when(
            "zero",
            [pes - 1, -1],
            compute("sqrt", x, {"real": root, "imaginary": 0.0}) | {"flags": ["checked"]},
        )
    return program_file([pes], [], [channel], [("x", "float64", 1)], code), []


def endless(pes: int) -> tuple[bytes, list[dict[str, Any]]]:
    """Every PE counts for hours."""
    return program_file([pes], [], [], [("x", "float64", 1)], loop("k", 0, 1 << 40, [])), []


@dataclass(frozen=True)
class FailsAlone:
    """A job in which one rank fails, and the others wait for it for ever."""

    rank: int

    def __call__(self, store: Any) -> str:
        if store.rank == self.rank:
            raise ArithmeticError("of this rank alone")
        return store.same("")


def condition(kind: str, form: list[int]) -> dict[str, Any]:
    """Return one condition of an If."""
    return {"is": kind, "form": form, "modulus": 0}


def when(kind: str, form: list[int], *steps: dict[str, Any]) -> list[dict[str, Any]]:
    """Return steps under one condition."""
    return [{"do": "if", "condition": [[condition(kind, form)]]}, *steps, {"do": "end"}]


def loop(name: str, first: int, last: int, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return steps in a loop with constant bounds."""
    bounds = {"lower": [{"form": [first], "divisor": 1}], "upper": [{"form": [last], "divisor": 1}]}
    return [{"do": "loop", "name": name, **bounds, "step": 1}, *steps, {"do": "end"}]


def compute(op: str, destination: dict[str, Any], *operands: dict[str, Any]) -> dict[str, Any]:
    """Return one operator."""
    return {"do": "compute", "op": op, "flags": [], "operands": list(operands), "destination": destination}


def small_integers(shape: tuple[int, int], seed: int, dtype: str = "float64") -> np.ndarray[Any, Any]:
    """Return an array whose products and sums are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)
