"""A quantised product: int8 matrices and int32 sums on Gemmini's array, and what it takes in energy."""

import dataclasses

import numpy as np

import cyclotron as cy


@cy.kernel
def quantized_matmul(A, B):
    C = cy.zeros((A.shape[0], B.shape[1]), dtype="int32")
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k].astype("int32") * B[k, j].astype("int32")
    return C


@cy.kernel
def wrapping_matmul(A, B):
    return A @ B


def quantized(x, bits=8):
    """Whole numbers and the step between them, symmetric around 0."""
    most = 2 ** (bits - 1) - 1
    step = float(np.abs(x).max()) / most
    return np.rint(x / step).astype(np.int8), step


def main():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((16, 32)), rng.standard_normal((32, 16))
    (A, scale_a), (B, scale_b) = quantized(x), quantized(y)
    expected = np.matmul(A, B, dtype=np.int32)

    machine = dataclasses.replace(cy.machines.gemmini_16(), energy=cy.energies.horowitz_45nm())
    schedule = cy.schedules.output_stationary(quantized_matmul)
    program = quantized_matmul.compile(A, B, schedule=schedule, machine=machine)
    result = cy.run(program, backend="sim")
    assert result.output.dtype == np.int32
    assert np.array_equal(result.output, expected)
    assert np.array_equal(cy.run(program, backend="local").output, expected)
    error = np.abs(result.output * (scale_a * scale_b) - x @ y).max()
    print(f"int8 x int8 -> int32 on {program.grid}: {result.cycles} cycles, largest error {error:.3f}")
    levels = ", ".join(f"{name} {pj:,.1f}" for name, pj in result.energy.by_level.items())
    print(f"{result.energy.total:,.1f} pJ: {levels}")

    floats = x.astype(np.float32), y.astype(np.float32)
    instance = dataclasses.replace(machine, pe=cy.machines.gemmini_16("float32").pe)
    wide = wrapping_matmul.compile(
        *floats, schedule=cy.schedules.output_stationary(wrapping_matmul), machine=instance
    )
    ratio = cy.run(wide, backend="sim").energy.total / result.energy.total
    print(f"in float32 it takes {ratio:.1f} times the energy")

    wrapped = wrapping_matmul(A, B)  # NumPy's: int8 sums of int8 products
    assert wrapped.dtype == np.int8
    assert np.array_equal(wrapped, A @ B)
    print(f"sums of 8 bits wrap around in {np.mean(wrapped != expected):.0%} of the elements")


if __name__ == "__main__":
    main()
