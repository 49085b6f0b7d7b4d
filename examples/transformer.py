"""A transformer block as one writes it in NumPy: layer norms, attention with heads, and a perceptron."""

import math

import numpy as np
from pictures import canvas, draw

import cyclotron as cy


@cy.kernel
def layer_norm(x, gain, shift):
    away = x - cy.mean(x, axis=-1, keepdims=True)
    return gain * away / cy.sqrt(cy.mean(away**2, axis=-1, keepdims=True) + 1e-5) + shift


@cy.kernel
def softmax(s):
    e = cy.exp(s - cy.max(s, axis=-1, keepdims=True))
    return e / cy.sum(e, axis=-1, keepdims=True)


@cy.kernel
def split(x, heads):
    return x.reshape(x.shape[0], heads, x.shape[1] // heads).transpose(1, 0, 2)


@cy.kernel
def transformer(x, Q, K, V, O, W1, b1, W2, b2, norm1, norm2, heads):
    y = layer_norm(x, norm1[0], norm1[1])
    q, k, v = split(y @ Q, heads), split(y @ K, heads), split(y @ V, heads)
    attention = softmax(q @ k.transpose(0, 2, 1) / math.sqrt(x.shape[1] // heads))
    x = x + (attention @ v).transpose(1, 0, 2).reshape(*x.shape) @ O
    h = cy.maximum(layer_norm(x, norm2[0], norm2[1]) @ W1 + b1, 0)
    return x + h @ W2 + b2


def problem(length, width, heads):
    rng = np.random.default_rng(2)
    weights = [rng.normal(0, 1 / math.sqrt(width), (width, width)) for _ in range(4)]
    W1, W2 = rng.normal(0, 0.3, (width, 2 * width)), rng.normal(0, 0.3, (2 * width, width))
    norm = np.array([np.ones(width), np.zeros(width)])
    biases = np.zeros(2 * width), np.zeros(width)
    return rng.normal(size=(length, width)), *weights, W1, biases[0], W2, biases[1], norm, norm, heads


def main():
    arguments = problem(6, 8, 2)
    program = transformer.compile(*arguments)
    result = cy.run(program, backend="sim")
    x, y, expected = arguments[0], result.output, transformer.reference(*arguments)
    np.testing.assert_allclose(y, expected, atol=1e-12)
    print(f"{result.utilization.size} PEs, {result.cycles} cycles, {result.utilization.mean():.0%} computing")
    print(f"{len(program.classes)} programs; {np.abs(y - expected).max():.0e} from NumPy's")
    axes = canvas(3, 9, 2.8)
    if axes is None:
        return
    shown = {"tokens": x, "what the block makes of them": y, "busy": result.utilization}
    for axis, (name, array) in zip(axes, shown.items(), strict=True):
        axis.figure.colorbar(draw(axis, array, name, cmap="viridis"), ax=axis)
    axes[0].figure.savefig("transformer.png", dpi=120)
    print("what goes in and out, and how busy each PE is: transformer.png")


if __name__ == "__main__":
    main()
