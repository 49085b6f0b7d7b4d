"""Contents of a result: the PEs that compute in each cycle, its trace, how it shows in a notebook."""

import base64
import collections
import io
import json
import re
import sys
import xml.etree.ElementTree as ET

import chrome_trace
import numpy as np
import pytest
from kernels import cholesky_scalar, matmul, prefix_sum, solve_scalar

import cyclotron as cy
from cyclotron.analysis.chrome_trace import metadata
from cyclotron.analysis.perfetto_trace import packed
from cyclotron.plot import heat_map_svg
from cyclotron.support.svg import heat_map_png


def run(kernel, *arguments, space=("i", "j"), **options):
    program = kernel.compile(*arguments, schedule=cy.Schedule().space(*space))
    return cy.run(program, backend="sim", **options)


RUNS = {
    "matmul": lambda **options: run(matmul, np.ones((3, 5)), np.ones((5, 4)), **options),
    "cholesky": lambda **options: run(cholesky_scalar, np.eye(6), **options),
    "solve": lambda **options: run(solve_scalar, np.eye(5), np.ones((5, 2)), space=("i",), **options),
    "one": lambda **options: run(prefix_sum, np.ones(7), space=(), **options),
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("functional", [True, False])
def test_active_counts_the_events_of_each_cycle(name, functional):
    result = RUNS[name](functional=functional)
    spelt = [sum(e["start"] <= t < e["end"] for e in result.events) for t in range(result.cycles)]
    assert result.active.tolist() == spelt
    assert result.active.dtype == np.int64
    assert result.active.sum() == result.stats["busy"].sum()


def test_the_wavefront_of_a_product_grows_and_shrinks_by_one_diagonal():
    """An n×n output-stationary array: PE (i, j) computes from cycle i + j for n cycles."""
    schedule = cy.Schedule().space("i", "j").stream("A", along="j").stream("B", along="i")
    result = cy.run(matmul.compile(np.eye(3), np.eye(3), schedule=schedule), backend="sim")
    assert result.active.tolist() == [1, 3, 6, 7, 6, 3, 1]


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({"event_limit": 10}, "event_limit=60"),
        ({"event_limit": 59, "functional": False}, "event_limit=60"),
        ({"event_limit": 0}, "event_limit large enough"),
        ({"event_limit": 0, "functional": False}, "event_limit large enough"),
    ],
)
def test_dropped_events_are_told_with_the_limit_that_keeps_them(options, limit):
    with pytest.raises(cy.ExecutionError, match=limit) as caught:
        RUNS["matmul"](**options).active
    assert caught.value.code == "CYC717"
    assert RUNS["matmul"](event_limit=60).active.sum() == 60


def trace_of(result, tmp_path):
    result.save_trace(tmp_path / "trace.json")
    return json.loads((tmp_path / "trace.json").read_text())


def test_a_trace_is_in_the_time_of_the_clock(tmp_path):
    """At 2 MHz a cycle takes half of a microsecond."""
    program = matmul.compile(np.ones((3, 5)), np.ones((5, 4)), schedule=cy.Schedule().space("i", "j"))

    def slices(machine):
        trace = trace_of(cy.run(program.with_machine(machine), backend="sim"), tmp_path)
        return [(e["ts"], e.get("dur", 0)) for e in trace["traceEvents"] if e["ph"] != "M"]

    cycles, seconds = slices(cy.Machine()), slices(cy.Machine(clock=2e6))
    assert seconds == [(start / 2, length / 2) for start, length in cycles]
    assert len(cycles) > 60


@pytest.mark.parametrize("clock", [None, 1e3, 700e6, 1e9, 3e9])
def test_slices_of_any_clock_meet_but_do_not_overlap(clock, tmp_path):
    """Whole nanoseconds, as Perfetto keeps them: it leaves out what overlaps by a rounding error."""
    program = matmul.compile(np.ones((3, 5)), np.ones((5, 4)), schedule=cy.Schedule().space("i", "j"))
    cy.run(program.with_machine(cy.Machine(clock=clock)), backend="sim").save_trace(tmp_path / "trace.json")
    events = chrome_trace.check(tmp_path / "trace.json")
    assert sum(event.get("cat") == "compute" for event in events) == 60


def binary_slices(path):
    """The slices and flows of a file in Perfetto's format, by its own messages, nested as it nests them."""
    messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    trace = messages.Trace.FromString(path.read_bytes())
    threads, processes, notes = {}, {}, {}
    open_slices, slices, flows = collections.defaultdict(list), [], {"s": {}, "f": {}}
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            if track.HasField("thread"):
                threads[track.uuid] = track.thread
                assert processes[track.parent_uuid].pid == track.thread.pid
            else:
                processes[track.uuid] = track.process
            continue
        event, time = packet.track_event, packet.timestamp
        arguments = {
            note.name: [one.int_value for one in note.array_values]
            if note.array_values
            else note.string_value or note.int_value
            for note in event.debug_annotations
        }
        if event.type == messages.TrackEvent.TYPE_INSTANT:
            notes = arguments
            continue
        tid = threads[event.track_uuid].tid
        if event.type == messages.TrackEvent.TYPE_SLICE_END:
            begun = open_slices[tid].pop()
            slices.append((*begun[1:], time - begun[0], begun[0]))
            continue
        (kind,) = event.categories
        open_slices[tid].append((time, tid, kind, event.name, repr(sorted(arguments.items()))))
        for phase, ids in (("s", event.flow_ids), ("f", event.terminating_flow_ids)):
            for flow in ids:
                assert flow not in flows[phase]
                flows[phase][flow] = (tid, event.name)
    assert not any(open_slices.values())
    names = {thread.tid: (thread.pid, thread.thread_name) for thread in threads.values()}
    return sorted(slices), flows, names, notes


@pytest.mark.parametrize("name", RUNS)
def test_a_binary_trace_tells_the_same(name, tmp_path):
    result = RUNS[name]()
    trace = trace_of(result, tmp_path)
    result.save_trace(tmp_path / "trace.pftrace")
    slices, flows, names, notes = binary_slices(tmp_path / "trace.pftrace")
    events = trace["traceEvents"]

    def nanoseconds(time):
        return round(1000 * time)

    def told(arguments):  # an empty list is no annotation
        return repr(sorted((name, value or 0) for name, value in arguments.items()))

    assert slices == sorted(
        (e["tid"], e["cat"], e["name"], told(e["args"]), nanoseconds(e["dur"]), nanoseconds(e["ts"]))
        for e in events
        if e["ph"] == "X"
    )
    assert slices
    for phase in "sf":
        ends = {e["id"]: e["tid"] for e in events if e["ph"] == phase}
        assert {flow: tid for flow, (tid, _) in flows[phase].items()} == ends
    threads = {e["tid"]: (e["pid"], e["args"]["name"]) for e in events if e["name"] == "thread_name"}
    assert names == threads
    assert notes == {key: value or 0 for key, value in trace["otherData"].items()}


def test_slices_that_begin_or_end_together_stay_nested(tmp_path):
    pytest.importorskip("perfetto")
    ids = {"pid": 1, "tid": 1}
    events = [*metadata("process", ids, "PEs", 1), *metadata("thread", ids, "PE 0", 1)]
    spans = {"outer": (0, 10), "first": (0, 4), "last": (4, 6), "next": (10, 2), "point": (10, 0)}
    for name, (start, length) in spans.items():
        events.append({"ph": "X", "cat": "c", "name": name, "ts": start, "dur": length, **ids, "args": {}})
    (tmp_path / "trace.pftrace").write_bytes(packed({"traceEvents": events, "otherData": {}}))
    slices, *_ = binary_slices(tmp_path / "trace.pftrace")
    assert {one[2]: (one[5] // 1000, one[4] // 1000) for one in slices} == spans


def test_a_binary_trace_without_its_package_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "perfetto", None)
    with pytest.raises(cy.BackendUnavailable, match="perfetto is not installed") as caught:
        RUNS["matmul"]().save_trace(tmp_path / "trace.pftrace")
    assert caught.value.code == "CYC722"
    assert not list(tmp_path.iterdir())


WAITS = {"compute": "busy", "send": "stall_full", "wait": "stall_empty"}


@pytest.mark.parametrize("name", RUNS)
def test_a_trace_follows_the_format(name, tmp_path):
    """Chrome's trace event format: the fields that every event and each kind of event must have."""
    result = RUNS[name]()
    trace = trace_of(result, tmp_path)
    assert trace["otherData"] == {
        "kernel": result.program.kernel_name,
        "cycles": result.cycles,
        "events_dropped": 0,
        "messages_dropped": 0,
        "memory_requests_dropped": 0,
    }
    threads, processes = {}, {}
    for event in trace["traceEvents"]:
        assert event["ph"] in ("M", "X", "s", "f")
        assert all(isinstance(event[key], int) for key in ("pid", "tid"))
        assert isinstance(event["ts"], (int, float))
        assert min(event["pid"], event["tid"]) > 0  # 0 is the idle task
        assert event["ts"] >= 0
        if event["ph"] != "M":
            assert isinstance(event["name"], str)
            assert event.get("dur", 0) >= 0
            assert (event["pid"], event["tid"]) in threads  # named before it is used
        elif event["name"].endswith("_name"):
            assert isinstance(event["args"]["name"], str)
            known = threads if event["name"] == "thread_name" else processes
            key = (event["pid"], event["tid"]) if known is threads else event["pid"]
            assert key not in known
            known[key] = event["args"]["name"]
        else:
            assert event["name"] in ("process_sort_index", "thread_sort_index")
            assert isinstance(event["args"]["sort_index"], int)
    assert len({tid for _, tid in threads}) == len(threads)
    assert {pid for pid, _ in threads} == set(processes)
    slices = {kind: [e for e in trace["traceEvents"] if e.get("cat") == kind] for kind in WAITS}
    assert len(slices["compute"]) == len(result.events)
    for kind, cycles in WAITS.items():
        assert sum(event["dur"] for event in slices[kind]) == result.stats[cycles].sum()


def test_every_message_is_an_arrow_between_its_slices(tmp_path):
    for name in RUNS:
        result = RUNS[name]()
        trace = trace_of(result, tmp_path)["traceEvents"]
        assert [e["ts"] for e in trace] == sorted(e["ts"] for e in trace)
        check_arrows(trace, result.messages)


def check_arrows(trace, messages):
    """Each id once starts and once ends, later, in the last nanosecond of the last slice on its track."""
    nanosecond = 1e-3
    open_slice, starts, ends = {}, {}, {}
    for event in trace:
        track = event["pid"], event["tid"]
        if event["ph"] == "X":
            open_slice[track] = event
        elif event["ph"] in ("s", "f"):
            kind, known = ("send", starts) if event["ph"] == "s" else ("receive", ends)
            around = open_slice[track]
            assert around["cat"] == kind
            assert around["name"] == f"{kind} {event['name']}"
            end = around["ts"] + around["dur"]
            assert event["ts"] == (end - nanosecond if around["dur"] else end)
            assert event["id"] not in known
            known[event["id"]] = {**event, "ts": end}
    assert set(starts) == set(ends)
    found = sorted(
        (
            starts[n]["ts"],
            starts[n]["tid"] - 1,
            ends[n]["ts"],
            ends[n]["tid"] - 1,
            starts[n]["name"] == ends[n]["name"],
        )
        for n in starts
    )
    told = (
        (int(m["sent"]), int(m["sender"]), int(m["received"]), int(m["receiver"]), True) for m in messages
    )
    assert found == sorted(told)
    assert all(start <= end for start, _, end, _, _ in found)


def test_a_broadcast_is_one_slice_with_an_arrow_to_each_receiver(tmp_path):
    schedule = cy.schedules.summa(matmul)
    result = cy.run(matmul.compile(np.ones((3, 2)), np.ones((2, 4)), schedule=schedule), backend="sim")
    trace = trace_of(result, tmp_path)["traceEvents"]
    check_arrows(trace, result.messages)
    assert sum(e.get("cat") == "send" for e in trace) == 3 * 2 + 2 * 4
    assert sum(e["ph"] == "s" for e in trace) == len(result.messages) == 3 * 2 * 3 + 2 * 4 * 2


def test_a_trace_draws_so_many_messages_at_most(tmp_path):
    result = RUNS["matmul"]()
    result.save_trace(tmp_path / "trace.json", message_limit=7)
    trace = json.loads((tmp_path / "trace.json").read_text())
    first = np.sort(result.messages["sent"], kind="stable")[:7]
    assert [e["ts"] for e in trace["traceEvents"] if e["ph"] == "s"] == first.tolist()
    assert trace["otherData"]["messages_dropped"] == len(result.messages) - 7
    assert sum(e.get("cat") == "compute" for e in trace["traceEvents"]) == 60


def test_tracks_are_the_pes_in_the_order_of_the_grid(tmp_path):
    trace = trace_of(RUNS["cholesky"](), tmp_path)["traceEvents"]
    names = [e["args"]["name"] for e in trace if e["name"] == "thread_name"]
    assert names == [f"PE {i}, {j}" for i in range(6) for j in range(i + 1)]
    rows = [e["args"]["name"] for e in trace if e["name"] == "process_name"]
    assert rows == [f"i = {i}" for i in range(6)]
    order = [e["args"]["sort_index"] for e in trace if e["name"] == "thread_sort_index"]
    assert order == sorted(order)


def test_slices_tell_operator_time_and_loops(tmp_path):
    result = RUNS["matmul"]()
    first = next(e for e in trace_of(result, tmp_path)["traceEvents"] if e.get("cat") == "compute")
    event = result.events[0]
    assert first["name"] == event["operator"]
    assert (first["ts"], first["dur"]) == (event["start"], event["end"] - event["start"])
    assert first["args"]["loops"] == event["loops"][: event["depth"]].tolist()


def cells(svg):
    """The percentage of each cell, spelt out from the pieces of one colour, in their order."""
    root = ET.fromstring(svg)
    columns, rows = (int(n) for n in root.get("viewBox").split()[2:])
    found = np.full((rows, columns), -1)
    for number, path in enumerate(root.iter("{http://www.w3.org/2000/svg}path")):
        for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", path.get("d")):
            assert (found[int(y), int(x) : int(x) + int(width)] == -1).all()
            found[int(y), int(x) : int(x) + int(width)] = number
    return found


def test_the_map_has_a_cell_for_each_pe():
    shares = np.array([[0.0, 0.0, 1.0], [0.5, 1.0, 0.0]])
    svg = heat_map_svg(shares)
    np.testing.assert_array_equal(cells(svg), 2 * shares)
    assert re.findall(r'path fill="(#\w+)"', svg) == ["#440154", "#21918c", "#fde725"]
    assert "0% to 100% of the cycles computing" in svg


@pytest.mark.parametrize(
    ("shape", "expected"), [((5,), (1, 5)), ((2, 3, 4), (3, 4)), ((64, 64), (64, 64)), ((65, 200), (33, 50))]
)
def test_the_map_of_every_grid_is_small(shape, expected):
    svg = heat_map_svg(np.random.default_rng(0).random(shape))
    found = cells(svg)
    assert found.shape == expected
    assert (found >= 0).all()
    assert len(svg) < 100_000


def test_a_result_shows_its_map_above_its_accounting():
    result = RUNS["cholesky"]()
    text = result._repr_html_()
    ET.fromstring(f"<div>{re.sub('<(img [^>]*|br)>', '', text)}</div>")
    assert text.index("<img") < text.index("<table>")
    assert "down i: 0 to 5, right j: 0 to 5" in text
    # Notebooks that are not trusted take an image out of its place, but no <svg>.
    svg = base64.b64decode(re.search(r'src="data:image/svg\+xml;base64,(.*?)"', text).group(1)).decode()
    assert cells(svg).shape == (6, 6)
    assert "script" not in text
    assert f"<td>{result.cycles:,}</td>" in text
    other = cy.run(result.program, np.eye(6), backend="local")._repr_html_()
    assert "<img" not in other
    assert "<table>" in other


@pytest.mark.parametrize(
    ("shape", "size"), [((4, 6), (80, 120)), ((200, 100), (200, 200)), ((5,), (20, 100))]
)
def test_the_map_is_a_png_too(shape, size):
    image = pytest.importorskip("PIL.Image")
    shares = np.random.default_rng(0).random(shape)
    shares.flat[:2] = 0, 1
    with image.open(io.BytesIO(heat_map_png(shares))) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    assert pixels.shape == (*size, 3)
    if len(shape) == 1:
        assert pixels[0, 0].tolist() == [68, 1, 84]
        assert pixels[0, 25].tolist() == [253, 231, 37]
