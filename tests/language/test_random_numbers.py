"""`cy.random`: the numbers of an implementation of its own, on every backend and grid, and their moments."""

import numpy as np
import pytest

import cyclotron as cy

ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24]


def threefry(key, counter):
    """Threefry-2x32 of 20 rounds in words of 32 bits that wrap, written from the paper."""
    words = [
        np.uint32(key[0]),
        np.uint32(key[1]),
        np.uint32(key[0]) ^ np.uint32(key[1]) ^ np.uint32(0x1BD11BDA),
    ]
    x, y = (
        np.atleast_1d(np.asarray(one, np.uint32)) + word for one, word in zip(counter, words, strict=False)
    )
    for block in range(5):
        for turn in ROTATIONS[4 * (block % 2) :][:4]:
            x = x + y
            y = ((y << np.uint32(turn)) | (y >> np.uint32(32 - turn))) ^ x
        x = x + words[(block + 1) % 3]
        y = y + words[(block + 2) % 3] + np.uint32(block + 1)
    return x, y


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [  # the known answers of the authors' library
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_known_answers(key, counter, expected):
    assert tuple(int(word[0]) for word in threefry(key, counter)) == expected
    seed = counter[0] | counter[1] << 32
    assert cy.random.fold_in(cy.random.Key(key), seed).words == expected


@cy.kernel
def drawn(x, seed):
    key = cy.random.key(seed[0])
    u = cy.random.uniform(key, x.shape, -1.0, 3.0)
    n = cy.random.normal(cy.random.fold_in(key, 1), x.shape)
    k = cy.random.integers(key, (5,), -3, 4)
    return u, n, k


SEED = 123456789123


@pytest.fixture(scope="module")
def expected():
    key = SEED & 0xFFFFFFFF, SEED >> 32
    x, y = (word.astype(np.int64).reshape(3, 4) for word in threefry(key, (np.arange(12), np.zeros(12))))
    uniform = ((x >> 5) * 2.0**26 + (y >> 6)) / 2.0**53 * 4.0 - 1.0
    other = tuple(int(word[0]) for word in threefry(key, (1, 0)))
    a, b = (word.astype(np.int64).reshape(3, 4) for word in threefry(other, (np.arange(12), np.zeros(12))))
    normal = np.sqrt(-2 * np.log((a + 0.5) / 2.0**32)) * np.cos(2 * np.pi * b / 2.0**32)
    return uniform, normal, (x.ravel()[:5] * 7 >> 32) - 3


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize(
    ("backend", "places"), [("sim", ""), ("sim", "i"), ("sim", "one"), ("local", ""), ("numpy", "")]
)
def test_the_same_numbers_everywhere(backend, places, expected):
    schedule = {"": None, "i": cy.Schedule().space("i"), "one": cy.Schedule().space("i").fold(i=1)}[places]
    program = drawn.compile(np.zeros((3, 4)), np.array([SEED]), schedule=schedule)
    uniform, normal, integers = cy.run(program, backend=backend).outputs.values()
    np.testing.assert_array_equal(uniform, expected[0])
    np.testing.assert_allclose(normal, expected[1], rtol=1e-14)
    np.testing.assert_array_equal(integers, expected[2])


def test_plain_runs_have_the_same_numbers(expected):
    uniform, normal, integers = drawn.reference(np.zeros((3, 4)), np.array([SEED]))
    np.testing.assert_array_equal(uniform, expected[0])
    np.testing.assert_allclose(normal, expected[1], rtol=1e-14)
    np.testing.assert_array_equal(integers, expected[2])


@cy.kernel
def walk(x):
    for step in range(3):
        x = x + cy.random.integers(cy.random.fold_in(cy.random.key(5), step), x.shape, 0, 100)
    return x


def test_steps_of_a_loop_have_numbers_of_their_own():
    x = np.zeros(6, np.int64)
    steps = [cy.random.integers(cy.random.fold_in(cy.random.key(5), step), 6, 0, 100) for step in range(3)]
    np.testing.assert_array_equal(walk(x), sum(steps))
    assert len({tuple(step.tolist()) for step in steps}) == 3


def test_moments():
    key = cy.random.key(1)
    uniform, normal = cy.random.uniform(key, 100_000), cy.random.normal(key, 100_000)
    integers = cy.random.integers(key, 100_000, 0, 10)
    assert abs(uniform.mean() - 0.5) < 0.005
    assert abs(uniform.var() - 1 / 12) < 0.002
    assert abs(normal.mean()) < 0.02
    assert abs(normal.std() - 1) < 0.01
    assert abs((normal**3).mean()) < 0.05
    assert abs((normal**4).mean() - 3) < 0.1
    assert np.abs(np.bincount(integers, minlength=10) / 10_000 - 1).max() < 0.04
    assert abs(np.corrcoef(uniform[:-1], uniform[1:])[0, 1]) < 0.01
    other = cy.random.uniform(cy.random.fold_in(key, 1), 100_000)
    assert abs(np.corrcoef(uniform, other)[0, 1]) < 0.01


def test_a_seed_that_is_no_whole_number_is_refused():
    with pytest.raises(cy.ShapeError, match="seed") as caught:
        cy.random.key(0.5)
    assert caught.value.code == "CYC122"
    with pytest.raises(cy.ShapeError, match="random integers"):
        cy.random.integers(cy.random.key(1), 3, 5, 5)
