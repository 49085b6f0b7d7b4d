"""Listing 1 of the MACH paper: a device loop that breaks out, updates of slices, a sum over an array."""

import numpy as np
from pictures import films

import cyclotron as cy


@cy.kernel
def listing(myLA, myGA):
    myGS = cy.zeros((1,), dtype="float32")
    # Loop over elements in myGA
    for gs in myGA:
        # Keep a running sum of the elements
        myGS[0] = myGS[0] + gs
        # Break if running sum is over 100.0
        if myGS[0] > 100.0:
            break
        # Do a tensor addition
        myLA[1:4, 3:5, 1:2] += myLA[1:4, 3:5, 8:9]
    mySum = cy.sum(myLA[:, :, :])
    return myLA, myGS, mySum


WORKERS = cy.Schedule().space("i", "j")  # the third axis of myLA is in the PEs' memories


def problem(nx=10, ny=10, nz=10, scale=30.0):
    rng = np.random.default_rng(0)
    myLA_np = rng.random((nx, ny, nz)).astype("float32")
    myGA_np = scale * rng.random((nz,)).astype("float32")
    return myLA_np, myGA_np


def main():
    myLA_np, myGA_np = problem()
    result = cy.run(listing.compile(myLA_np, myGA_np, schedule=WORKERS), backend="sim")
    expected = listing.reference(myLA_np, myGA_np)
    for found, wanted in zip(result.outputs.values(), expected, strict=True):
        assert np.array_equal(found, wanted)
    myLA, myGS, mySum = expected
    rounds = int(np.argmax(np.cumsum(myGA_np) > 100.0))  # before that which went over 100
    np.testing.assert_allclose(
        myLA[1:4, 3:5, 1], myLA_np[1:4, 3:5, 1] + rounds * myLA_np[1:4, 3:5, 8], rtol=1e-6
    )
    print(f"{result.utilization.size} PEs, {result.cycles} cycles, broken out after {rounds} rounds")
    print(f"running sum {myGS[0]:.1f}, sum of all {mySum:.2f}")
    images = {"myLA[2, :, :] before": myLA_np[2], "after": myLA[2]}
    if films("mach_listing.png", images, width=7, cmap="viridis"):
        print("two elements have grown: mach_listing.png")


if __name__ == "__main__":
    main()
