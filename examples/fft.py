"""The fast Fourier transform, radix 2, on a line of PEs: an element a PE, a stage for each power of two."""

import numpy as np
from pictures import canvas

import cyclotron as cy


@cy.kernel
def fft(x, roots):
    """The transform of an array in bit-reversed order; `roots` are those of 1, in order."""
    n = len(x)
    for h in powers_of_two(len(x)):
        turned, y = cy.empty_like(x), cy.empty_like(x)
        for i in range(n):
            if i & h:
                turned[i] = roots[i % h * (n // (2 * h))] * x[i]
            else:
                turned[i] = x[i]
        for i in range(n):
            if i & h:
                y[i] = turned[i ^ h] - turned[i]
            else:
                y[i] = turned[i] + turned[i ^ h]
        x = y
    return x


def powers_of_two(n):
    """Those below n, a stage each: how far apart the two elements of a butterfly are."""
    return [2**s for s in range(n.bit_length() - 1)]


def arguments(x):
    """An array in bit-reversed order, and the roots of 1."""
    reversed_order = np.arange(len(x)).reshape([2] * len(powers_of_two(len(x)))).T.ravel()
    return x[reversed_order].astype(complex), np.exp(-2j * np.pi * np.arange(len(x) // 2) / len(x))


def main():
    n = 16
    t = np.arange(n) / n
    x = np.sin(2 * np.pi * 2 * t) + 0.5 * np.cos(2 * np.pi * 5 * t)
    program = fft.compile(*arguments(x))
    result = cy.run(program, backend="sim")
    error = np.abs(result.output - np.fft.fft(x)).max()
    assert error < 1e-13
    pes = int(np.prod(program.grid))
    print(f"{n} samples on {pes} PEs: {result.cycles} cycles, {error:.0e} from np.fft.fft")

    axes = canvas(2, 8, 3)
    if axes is None:
        return
    signal, spectrum = axes
    signal.plot(t, x, "o-")
    signal.set(xlabel="time", ylabel="signal")
    spectrum.stem(np.abs(result.output) / n)
    spectrum.set(xlabel="frequency (the PE)", ylabel="amplitude")
    signal.figure.savefig("fft.png", dpi=120)
    print("signal and spectrum: fft.png")


if __name__ == "__main__":
    main()
