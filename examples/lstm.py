"""A long short-term memory over a sequence: its weights stay in the PEs, its state moves between them."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy


@cy.kernel
def sigmoid(x):
    return 1 / (1 + cy.exp(-x))


@cy.kernel
def lstm(X, h, c, W, U, b):
    n = len(h)
    states = cy.zeros((len(X), n))
    for t in range(len(X)):
        z = W @ X[t] + U @ h + b
        i, f, o = sigmoid(z[:n]), sigmoid(z[n : 2 * n]), sigmoid(z[3 * n :])
        c = f * c + i * cy.tanh(z[2 * n : 3 * n])
        h = o * cy.tanh(c)
        states[t] = h
    return states, c


def problem(steps, features, hidden):
    rng = np.random.default_rng(5)
    waves = np.sin(np.arange(steps)[:, None] / np.arange(2, 2 + features))
    W, U = rng.normal(0, 0.6, (4 * hidden, features)), rng.normal(0, 0.6, (4 * hidden, hidden))
    return waves, np.zeros(hidden), np.zeros(hidden), W, U, np.zeros(4 * hidden)


def main():
    arguments = problem(24, 4, 8)
    result = cy.run(lstm.compile(*arguments), backend="sim")
    states = result.outputs["states"]
    expected, _ = lstm.reference(*arguments)
    print(f"{result.utilization.size} PEs, {result.cycles} cycles, {result.utilization.mean():.0%} computing")
    print(
        f"{result.cycles / len(states):.0f} cycles a step; {np.abs(states - expected).max():.0e} from NumPy's"
    )
    axes = canvas(2, 8, 2.6)
    if axes is None:
        return
    for axis, (name, array) in zip(axes, {"inputs": arguments[0], "states": states}.items(), strict=True):
        axis.figure.colorbar(draw(axis, array.T, f"{name} over time", cmap="RdBu", aspect="auto"), ax=axis)
    axes[0].figure.savefig("lstm.png", dpi=120)
    print("what it reads and what it remembers: lstm.png")


if __name__ == "__main__":
    main()
