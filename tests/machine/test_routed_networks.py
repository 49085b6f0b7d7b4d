"""Networks of routers: against a reference of their own, by hand, under traffic, and what is refused."""

import itertools
import math
import os
import random
import signal
import threading
import time

import numpy as np
import pytest
from reference_network import Mesh, Packet

import cyclotron as cy

SWITCHING = ("wormhole", "cut_through", "store_and_forward")


def drawn_case(seed):
    """A network, its reference, and packets that are in each other's way."""
    draw = random.Random(seed)
    shape = draw.choice([(4, 4), (3, 5), (8,), (2, 2), (2, 3, 2), (5, 1), (1,), (4, 2)])
    torus, switching = draw.random() < 0.5, draw.choice(SWITCHING)
    router, link, credit = draw.randint(1, 6), draw.randint(1, 3), draw.randint(0, 3)
    channels, depth = draw.randint(2 if torus else 1, 5), draw.randint(1, 8)
    routing = draw.choice(["xy", "yx"])
    network = cy.Network(
        "torus" if torus else "mesh",
        shape,
        routing=routing,
        router_latency=router,
        link_latency=link,
        credit_latency=credit,
        virtual_channels=channels,
        depth=depth,
        switching=switching,
    )
    reference = Mesh(
        shape,
        wraps=torus,
        first_dimension_first=routing == "yx",
        router=router,
        link=link,
        credit=credit,
        channels=channels,
        depth=depth,
        switching=switching,
    )
    nodes, longest = math.prod(shape), 12 if switching == "wormhole" else depth
    packets = [
        (draw.randrange(40), draw.randrange(nodes), draw.randrange(nodes), draw.randint(1, longest))
        for _ in range(draw.choice([5, 60, 200]))
    ]
    return network, reference, packets


@pytest.mark.parametrize("seed", range(40))
def test_each_packet_arrives_when_it_does_in_the_reference(seed):
    network, reference, packets = drawn_case(seed)

    def at(node):
        return tuple(map(int, np.unravel_index(node, network.shape)))

    given = [Packet(cycle, at(source), at(end), flits) for cycle, source, end, flits in packets]
    assert network.deliver(packets).tolist() == reference.deliver(given)


def alone(pairs, flits):
    """Packets so far from each other that each is alone."""
    return [(1000 * n, source, end, flits) for n, (source, end) in enumerate(pairs)]


@pytest.mark.parametrize("flits", [1, 2, 5])
def test_latency_without_load(flits):
    # The formula of BookSim's pipeline with unit delays: 6 + 4 d + (P - 1).
    pairs = list(itertools.product(range(64), repeat=2))
    latencies = cy.Network("mesh", (8, 8)).deliver(alone(pairs, flits)) - 1000 * np.arange(len(pairs))
    links = [abs(a // 8 - b // 8) + abs(a % 8 - b % 8) for a, b in pairs]
    assert latencies.tolist() == [6 + 4 * d + (flits - 1) for d in links]


@pytest.mark.parametrize("router", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("link", [1, 3])
def test_latencies_of_stages_add_up(router, link):
    ways, flits = [(0, 7), (7, 0), (2, 2), (3, 5)], 4
    for switching in SWITCHING:
        network = cy.Network(
            "mesh", (8,), router_latency=router, link_latency=link, depth=32, switching=switching
        )
        for (source, end), arrived in zip(ways, network.deliver(alone(ways, flits)) % 1000, strict=True):
            d = abs(source - end)
            whole = flits - 1 if switching == "store_and_forward" else 0
            assert arrived == (d + 1) * (router + whole) + (d + 2) * link + flits


def test_a_torus_takes_the_short_way():
    ways = [(0, 5), (5, 0), (0, 3), (3, 0), (1, 4), (0, 33), (0, 30)]
    links = [1, 1, 3, 3, 3, 4, 1]  # of two equal ways up, which is as long
    torus = cy.Network("torus", (6, 6))
    assert (torus.deliver(alone(ways, 1)) % 1000).tolist() == [6 + 4 * d for d in links]


def test_shallow_buffers_wait_for_credits():
    # A credit's way round: a flit crosses the switch and the link, 3 cycles; its credit comes back after 2.
    flits = 20
    for depth, cycles_a_flit in ((1, 5), (5, 1), (8, 1)):
        arrived = cy.Network("mesh", (2,), depth=depth).deliver([(0, 0, 1, flits)])[0]
        assert arrived == 6 + 4 + cycles_a_flit * (flits - 1)


def test_packets_on_one_link_share_it():
    # Two nodes of a row send to the third: its router passes a flit a cycle to it, 2 P in all.
    flits = 50
    network = cy.Network("mesh", (1, 3), virtual_channels=2)
    both = network.deliver([(0, 0, 2, flits), (0, 1, 2, flits)])
    assert max(both) >= 6 + 4 + 2 * flits - 1
    assert max(both) <= 6 + 8 + 2 * flits


def test_virtual_channels_pass_what_is_blocked():
    # The packet from 0 has the channel from 1 to 2 and waits there for the one from 2; a third one waits
    # behind it for that channel, or has another.
    packets = [(0, 2, 3, 60), (0, 0, 3, 60), (30, 1, 2, 1)]
    one, two = (
        cy.Network("mesh", (1, 4), virtual_channels=channels).deliver(packets)[2] for channels in (1, 2)
    )
    assert one > 60
    assert two < 30 + 6 + 4 + 6


@pytest.mark.parametrize("switching", SWITCHING)
@pytest.mark.parametrize("routing", ["xy", "yx"])
def test_a_full_torus_does_not_deadlock(switching, routing):
    depth = 1 if switching == "wormhole" else 6
    network = cy.Network("torus", (4, 4), routing=routing, depth=depth, switching=switching)
    packets = [(0, node, (node + step) % 16, 6) for node in range(16) for step in range(16)] * 4
    arrived = network.deliver(packets)
    assert arrived.min() > 0
    assert arrived.max() >= 6 * len(packets) / 16


def other(node, draw):
    """Another node of the 8×8."""
    while (end := (draw.randrange(8), draw.randrange(8))) == node:
        pass
    return end


DRAWS = {
    "uniform": other,
    "transpose": lambda node, _: node[::-1],
    "hotspot": lambda node, draw: (4, 4) if node != (4, 4) and draw.random() < 0.1 else other(node, draw),
}


@pytest.mark.parametrize("pattern", DRAWS)
@pytest.mark.parametrize(("flits", "load"), [(1, 0.2), (1, 0.5), (1, 0.8), (4, 0.8)])
def test_latency_under_traffic(pattern, flits, load):
    # The reference draws packets by itself: other random numbers, the same rates.
    network = cy.Network("mesh", (8, 8), virtual_channels=2, depth=8)
    rate = load * network.traffic(pattern, packet=flits, rate=[], cycles=4000).saturation
    (measured,) = network.traffic(pattern, packet=flits, rate=rate, seed=7)
    expected = Mesh().mean_latency(DRAWS[pattern], rate, flits, seed=3, warmup=300, cycles=800 + 400 * flits)
    assert measured["latency"] == pytest.approx(expected, rel=0.05)
    assert measured["throughput"] == pytest.approx(measured["offered"], rel=0.02)
    assert measured["zero_load"] <= measured["latency"] <= measured["latency_99"]
    assert measured["zero_load"] == pytest.approx(6 + 4 * measured["hops"] + flits - 1)


def test_no_rate_beyond_what_links_pass():
    # The first link of the first row passes 7 flows of a transposition; one in the middle of a row what the
    # four nodes to one side send to the other half, of uniform traffic 4 · 32 / 63 of a node's rate.
    network = cy.Network("mesh", (8, 8), virtual_channels=4)
    assert 0.12 < network.traffic("transpose", rate=[], cycles=4000).saturation <= 1 / 7 * 1.02
    uniform = network.traffic("uniform", rate=[], cycles=4000).saturation
    assert 0.3 < uniform <= 63 / 128 * 1.02
    beyond = network.traffic("uniform", rate=[0.9 * uniform, 1.0], cycles=3000)
    assert [record["saturated"] for record in beyond] == [False, True]
    assert beyond[1]["latency"] == math.inf
    assert beyond[1]["throughput"] < 0.5
    assert beyond[0]["busiest_link"] <= beyond[1]["busiest_link"] <= 1


def test_traffic_is_that_of_its_seed():
    network = cy.Network("torus", (4, 4))
    first = network.traffic("uniform", packet=3, rate=[0.1, 0.2], seed=1, cycles=2000)
    assert first.records == network.traffic("uniform", packet=3, rate=[0.1, 0.2], seed=1, cycles=2000).records
    assert first.records[1:] == network.traffic("uniform", packet=3, rate=0.2, seed=1, cycles=2000).records
    assert first.records != network.traffic("uniform", packet=3, rate=[0.1, 0.2], seed=2, cycles=2000).records


@pytest.mark.parametrize(
    ("pattern", "hops"), [("transpose", 6.0), ("complement", 8.0), ("tornado", 3.0 * 2), ("neighbor", 3.5)]
)
def test_patterns(pattern, hops):
    # Of the transposition the diagonal sends nothing; half way round of 8, less one, is 3 on a torus.
    network = cy.Network("torus" if pattern == "tornado" else "mesh", (8, 8))
    (measured,) = network.traffic(pattern, rate=0.05, cycles=20_000)
    assert measured["hops"] == pytest.approx(hops, rel=0.02)


def test_rates_are_found():
    study = cy.Network("mesh", (4, 4)).traffic("uniform", cycles=2000)
    assert len(study) == 10
    assert not study[0]["saturated"]
    assert study[-1]["rate"] == study.saturation
    latencies = [record["latency"] for record in study]
    assert latencies == sorted(latencies)
    assert study.to_csv().startswith("rate,offered,throughput,")
    assert "uniform, 1 flit: mesh 4×4, xy, 2 virtual channels of 8 flits" in study.caption
    assert "uniform" in study[:3]._repr_html_()


def test_latencies_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    study = cy.Network("mesh", (4, 4)).traffic(rate=[0.1, 0.3, 1.0], cycles=1000)
    figure = study.plot(path=tmp_path / "latency.svg")
    (ax,) = figure.axes
    mean, upper, crosses = ax.lines
    assert mean.get_xdata().tolist() == [0.1, 0.3]
    assert crosses.get_xdata() == [1.0]
    assert (upper.get_ydata() >= mean.get_ydata()).all()
    study.plot(ax=ax)
    assert len(ax.get_legend().texts) == 2
    assert (tmp_path / "latency.svg").exists()


def test_studies_end_when_they_are_interrupted():
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        cy.Network("mesh", (32, 32)).traffic(rate=0.2, cycles=10_000_000)
    assert time.monotonic() - start < 5


def test_text_of_networks():
    network = cy.Network("torus", (4, 4), virtual_channels=4, switching="cut_through")
    assert repr(network) == (
        "cy.Network(topology='torus', shape=(4, 4), virtual_channels=4, switching='cut_through')"
    )
    assert eval(repr(network)) == network
    assert str(network) == "torus 4×4, xy, 4 virtual channels of 8 flits, cut_through"


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"topology": "torus", "virtual_channels": 1}, "CYC408", "can deadlock"),
        ({"topology": "ring"}, "CYC402", "mesh, torus"),
        ({"routing": "valiant"}, "CYC402", "xy, yx"),
        ({"switching": "circuit"}, "CYC402", "wormhole, cut_through"),
        ({"shape": (8, 0)}, "CYC401", "shape"),
        ({"shape": ()}, "CYC401", "dimensions"),
        ({"shape": (1 << 10, 1 << 10)}, "CYC401", "nodes"),
        ({"shape": "8x8"}, "CYC402", "tuple"),
        ({"depth": 0}, "CYC401", "depth"),
        ({"depth": 1 << 40}, "CYC401", "depth"),
        ({"depth": 1.5}, "CYC402", "integer"),
        ({"virtual_channels": 65}, "CYC401", "virtual_channels"),
        ({"router_latency": 0}, "CYC401", "router_latency"),
        ({"link_latency": 0}, "CYC401", "link_latency"),
        ({"credit_latency": -1}, "CYC401", "credit_latency"),
    ],
)
def test_networks_that_are_refused(fields, code, words):
    with pytest.raises(cy.ShapeError) as refusal:
        cy.Network(**fields)
    assert refusal.value.code == code
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"pattern": "tonado"}, "CYC402", "tornado"),
        ({"pattern": "transpose", "shape": (2, 8)}, "CYC401", "square"),
        ({"rate": -0.1}, "CYC401", "positive"),
        ({"rate": 1.5}, "CYC401", "0 .. 1"),
        ({"rate": "fast"}, "CYC402", "a number"),
        ({"packet": 0}, "CYC401", "packet"),
        ({"packet": 9, "switching": "cut_through"}, "CYC401", "depth=9"),
        ({"packet": 9, "switching": "store_and_forward"}, "CYC401", "depth=9"),
        ({"hotspot": 2.0}, "CYC401", "share"),
        ({"cycles": 0}, "CYC401", "cycles"),
        ({"warmup": -1}, "CYC401", "warmup"),
        ({"seed": 0.5}, "CYC402", "integer"),
    ],
)
def test_traffic_that_is_refused(arguments, code, words):
    fields = {name: arguments[name] for name in ("shape", "switching") if name in arguments}
    rest = {name: value for name, value in arguments.items() if name not in fields}
    with pytest.raises(cy.ShapeError) as refusal:
        cy.Network(**fields).traffic(**{"rate": 0.1, **rest})
    assert refusal.value.code == code
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("packets", "code"),
    [
        ([(0, 0, 64, 1)], "CYC401"),
        ([(0, -1, 3, 1)], "CYC401"),
        ([(-1, 0, 3, 1)], "CYC401"),
        ([(0, 0, 3, 0)], "CYC401"),
        ([(0, 0, 3)], "CYC402"),
        ([0, 0, 3, 1], "CYC402"),
        ([(0.5, 0, 3, 1)], "CYC402"),
    ],
)
def test_packets_that_are_refused(packets, code):
    with pytest.raises(cy.ShapeError) as refusal:
        cy.Network().deliver(packets)
    assert refusal.value.code == code


def test_the_text_of_a_refused_network(golden_refusal):
    golden_refusal(
        "torus-with-one-channel",
        cy.ShapeError,
        "CYC408",
        lambda: cy.Network("torus", (8, 8), virtual_channels=1),
    )


def test_no_packets():
    assert cy.Network().deliver(np.empty((0, 4), dtype=np.int64)).shape == (0,)
