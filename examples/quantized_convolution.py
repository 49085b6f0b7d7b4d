"""A quantised convolution: an image of bytes, weights of int8, sums of int32, and bytes again."""

import numpy as np

import cyclotron as cy


@cy.kernel
def quantized_convolution(image, weights, bias):
    n, m = image.shape[0] - weights.shape[0] + 1, image.shape[1] - weights.shape[1] + 1
    sums = cy.zeros((n, m), dtype="int32")
    for x in range(n):
        for y in range(m):
            for p in range(weights.shape[0]):
                for q in range(weights.shape[1]):
                    sums[x, y] += image[x + p, y + q].astype("int32") * weights[p, q].astype("int32")
    out = cy.empty((n, m), dtype="uint8")
    for x in range(n):
        for y in range(m):
            out[x, y] = cy.clip((sums[x, y] + bias) // 16, 0, 255).astype("uint8")
    return out


def plain_convolution(image, weights, bias):
    windows = np.lib.stride_tricks.sliding_window_view(image, weights.shape)
    sums = np.einsum("xypq,pq->xy", windows.astype(np.int32), weights.astype(np.int32))
    return np.clip((sums + bias) // 16, 0, 255).astype(np.uint8)


SHARPEN = np.array([[-1, -2, -1], [-2, 28, -2], [-1, -2, -1]], np.int8)


def main():
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (14, 18), np.uint8)
    expected = plain_convolution(image, SHARPEN, np.int32(8))
    program = quantized_convolution.compile(image, SHARPEN, np.int32(8))
    print(f"{'backend':8} {'dtype':6} as NumPy")
    for backend in ("numpy", "sim", "local"):
        found = cy.run(program, backend=backend).output
        assert np.array_equal(found, expected)
        print(f"{backend:8} {found.dtype!s:6} {np.array_equal(found, expected)}")
    result = cy.run(program, backend="sim")
    words = {c["name"]: c["bytes"] for c in result.stats["channels"] if c["bytes"]}
    print(f"{result.cycles} cycles on {program.grid}; bytes over links: {words}")


if __name__ == "__main__":
    main()
