"""`cy.Schedule` as a value: chaining, equality, printing, files, and what it refuses."""

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cyclotron as cy
from cyclotron.schedule.schedule import Movement, Reassociation, Schedule

NAMES = ["i", "j", "k", "l", "row"]
TENSORS = ["A", "B", "C", "W2"]


@st.composite
def schedules(draw):
    order = draw(st.permutations(NAMES))
    split = draw(st.integers(0, len(order)))
    end = draw(st.integers(split, len(order)))
    schedule = Schedule().space(*order[:split]).time(*order[split:end])
    for tensor in draw(st.lists(st.sampled_from(TENSORS), unique=True)):
        kind = draw(st.sampled_from(["stream", "broadcast", "prefetch"]))
        along = draw(st.lists(st.sampled_from(NAMES), unique=True))
        schedule = getattr(schedule, kind)(tensor, along=along)
    for index in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=2)):
        schedule = schedule.reassociate(index, parts=draw(st.integers(1, 9)), into=f"{index}_blocks")
    schedule = schedule.stages(*draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3)))
    ordered = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    return schedule.inwards(*ordered[:2]).descending(*ordered[2:])


def full():
    return (
        cy.Schedule()
        .space("i", "j")
        .time("k")
        .stream("A", along="j")
        .broadcast("B", along=["i"])
        .prefetch("W")
    )


def test_chaining_collects_space_time_and_movements():
    schedule = full()
    assert schedule.space_indices == ("i", "j")
    assert schedule.time_indices == ("k",)
    assert schedule.movements == (
        Movement("A", "stream", ("j",)),
        Movement("B", "broadcast", ("i",)),
        Movement("W", "prefetch", ()),
    )
    assert schedule.movement("B") == Movement("B", "broadcast", ("i",))
    assert schedule.movement("X") is None


def test_each_method_returns_a_new_value():
    start = cy.Schedule().space("i")
    start.time("k")
    start.stream("A")
    assert start == cy.Schedule().space("i")
    with pytest.raises(dataclasses.FrozenInstanceError):
        start.space_indices = ("j",)


def test_rerunning_a_cell_changes_nothing():
    once = full()
    twice = once.space("i", "j").time("k").stream("A", along="j").prefetch("W")
    assert twice == once


def test_a_later_movement_replaces_the_former():
    schedule = cy.Schedule().stream("A", along="j").broadcast("A", along="i")
    assert schedule.movements == (Movement("A", "broadcast", ("i",)),)


def test_indices_can_change_sides_after_clearing_one():
    assert cy.Schedule().space("i", "j").time("k").time().space("i", "k").time("j").time_indices == ("j",)


def test_equality_and_hash_ignore_the_order_of_movements():
    one = cy.Schedule().stream("A").broadcast("B")
    other = cy.Schedule().broadcast("B").stream("A")
    assert one == other
    assert len({one, other}) == 1
    assert one != cy.Schedule().stream("A")


def test_repr_is_one_line_if_it_fits():
    assert (
        repr(cy.Schedule().space("i", "j").time("k").stream("A", along="j"))
        == 'cy.Schedule().space("i", "j").time("k").stream("A", along="j")'
    )
    assert repr(full()).startswith('(cy.Schedule()\n    .space("i", "j")\n')


def test_str_is_short():
    assert str(full()) == "space i, j; time k; stream A along j; broadcast B along i; prefetch W"
    assert str(cy.Schedule()) == "space -; time -"


@given(schedules())
def test_repr_rebuilds_it(schedule):
    assert eval(repr(schedule), {"cy": cy}) == schedule


@given(schedules())
def test_dict_core_and_pickle_round_trips(schedule):
    assert Schedule.from_dict(schedule.to_dict()) == schedule
    assert Schedule.from_core(schedule.to_core()) == schedule
    assert pickle.loads(pickle.dumps(schedule)) == schedule


@given(schedules())
def test_file_round_trip(tmp_path_factory, schedule):
    path = tmp_path_factory.mktemp("schedule") / "s.toml"
    schedule.save(path)
    assert Schedule.load(path) == schedule


def test_dict_accepts_short_forms():
    data = {
        "space": ["i", "j"],
        "time": "k",
        "stream": {"A": "j"},
        "broadcast": {"B": ["i"]},
        "prefetch": "W",
    }
    assert Schedule.from_dict(data) == full()


def test_toml_written_by_hand(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(
        'space = ["i", "j"]\ntime = ["k"]\nprefetch = ["W"]\n[stream]\nA = "j"\n[broadcast]\nB = "i"\n'
    )
    assert Schedule.load(path) == full()


def test_reassociations():
    schedule = cy.Schedule().space("l").reassociate("k", parts=4, into="l")
    assert repr(schedule) == 'cy.Schedule().reassociate("k", parts=4, into="l").space("l")'
    assert str(schedule) == "space l; time -; reassociate k into l, 4 parts"
    assert schedule.to_dict()["reassociate"] == {"k": {"parts": 4, "into": "l"}}
    assert '<td style="text-align:left">k into l, 4 parts</td>' in schedule._repr_html_()
    assert schedule.reassociations == (Reassociation("k", 4, "l"),)
    # A later one replaces the former; none takes it back.
    assert schedule.reassociate("k", parts=2, into="m").reassociations == (Reassociation("k", 2, "m"),)
    assert schedule.reassociate("k") == cy.Schedule().space("l")
    both = schedule.reassociate("j", parts=2, into="m")
    assert both == cy.Schedule().space("l").reassociate("j", parts=2, into="m").reassociate(
        "k", parts=4, into="l"
    )
    assert hash(schedule) != hash(cy.Schedule().space("l"))


def test_stages_keep_their_order():
    schedule = cy.Schedule().space("i", "j").stages("j", "i")
    assert repr(schedule) == 'cy.Schedule().stages("j", "i").space("i", "j")'
    assert str(schedule) == "space i, j; time -; stages j, i"
    assert schedule.to_dict()["stages"] == ["j", "i"]
    assert schedule != schedule.stages("i", "j")
    assert schedule.stages() == cy.Schedule().space("i", "j")


def test_inwards():
    schedule = cy.Schedule().space("i", "j").inwards("j", "i")
    assert repr(schedule) == 'cy.Schedule().inwards("i", "j").space("i", "j")'
    assert str(schedule) == "space i, j; time -; inwards i, j"
    assert schedule.to_dict()["inwards"] == ["i", "j"]
    assert "<th" in schedule._repr_html_()
    assert ">i, j</td>" in schedule._repr_html_()
    # Later ones replace the former; none takes them back.
    assert schedule.inwards("j").inward_indices == ("j",)
    assert schedule.inwards() == cy.Schedule().space("i", "j")
    assert hash(schedule) != hash(schedule.inwards())


def test_descending():
    schedule = cy.Schedule().space("i").descending("k", "j")
    assert repr(schedule) == 'cy.Schedule().descending("j", "k").space("i")'
    assert str(schedule) == "space i; time -; descending j, k"
    assert schedule.to_dict()["descending"] == ["j", "k"]
    assert "<th" in schedule._repr_html_()
    assert schedule.descending("j").descending_indices == ("j",)
    assert schedule.descending() == cy.Schedule().space("i")
    assert schedule.reorders_reductions
    assert not schedule.descending().reorders_reductions


def test_html_escapes_and_names_every_part():
    text = full()._repr_html_()
    assert "A along j" in text
    assert "<script" not in text


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda: cy.Schedule().space(3), "CYC301", "of type int"),
        (lambda: cy.Schedule().space("i", None), "CYC301", "NoneType"),
        (lambda: cy.Schedule().time("i * j"), "CYC314", "`i * j`"),
        (lambda: cy.Schedule().stream("A", along="i+j"), "CYC301", "`i+j`"),
        (lambda: cy.Schedule().fold(i=0), "CYC301", "0 parts"),
        (lambda: cy.Schedule().fold(i="cyclic"), "CYC301", "cyclic"),
        (lambda: cy.Schedule().rotate("k", by=3), "CYC301", "of type int"),
        (lambda: cy.Schedule().place("A", 1.5), "CYC301", "of type float"),
        (lambda: cy.Schedule().place("A", "i*j"), "CYC314", "`i*j`"),
        (lambda: cy.Schedule().panels("k", 0), "CYC301", "0 panels"),
        (lambda: cy.Schedule().panels("k", 2.0), "CYC301", "2.0 panels"),
        (lambda: Schedule.from_dict({"place": ["A"]}), "CYC301", "of type list"),
        (lambda: Schedule.from_dict({"panels": 3}), "CYC301", "of type int"),
        (lambda: cy.Schedule().reassociate("k", parts=0, into="l"), "CYC301", "into 0 parts"),
        (lambda: cy.Schedule().reassociate("k", into="l"), "CYC301", "into None parts"),
        (lambda: cy.Schedule().reassociate("k", parts=2), "CYC301", "blocks of `k` is None"),
        (lambda: cy.Schedule().reassociate("k", parts=2, into="2l"), "CYC301", "`2l`"),
        (lambda: Schedule(reassociations=(("k", 2, "l"),)), "CYC301", "of type tuple"),
        (lambda: cy.Schedule().inwards("i", "i"), "CYC303", "`i` is named twice in inwards"),
        (lambda: cy.Schedule().inwards("2i"), "CYC301", "`2i`"),
        (lambda: cy.Schedule().descending("i", "i"), "CYC303", "`i` is named twice in descending"),
        (
            lambda: cy.Schedule().descending("i").inwards("i"),
            "CYC303",
            "`i` is reduced inwards and descending",
        ),
        (lambda: cy.Schedule().stages("i", "j", "i"), "CYC303", "`i` is named twice in stages"),
        (lambda: Schedule.from_dict({"inwards": 3}), "CYC301", "of type int"),
        (lambda: Schedule.from_dict({"reassociate": {"k": 4}}), "CYC301", "{'k': 4}"),
        (lambda: Schedule.from_dict({"reassociate": ["k"]}), "CYC301", "of type list"),
        (
            lambda: cy.Schedule().reassociate("k", 2, "l").reassociate("j", 2, "l"),
            "CYC303",
            "`l` is in 2 reassociations",
        ),
        (
            lambda: Schedule(reassociations=(Reassociation("k", 2, "l"), Reassociation("k", 2, "m"))),
            "CYC303",
            "`k` is in 2 reassociations",
        ),
        (lambda: cy.Schedule().stream(["A", "B"]), "CYC301", "of type list"),
        (lambda: cy.Schedule().stream("A", along=np.array(2)), "CYC301", "of type ndarray"),
        (lambda: Schedule.from_dict({"space": np.array(2)}), "CYC301", "of type ndarray"),
        (lambda: cy.Schedule().reduce("i", np.array([1, 2])), "CYC301", "reduction over `i`"),
        (lambda: cy.Schedule().fold("i"), "CYC301", "of type str"),
        (lambda: cy.Schedule().fold(3), "CYC301", "of type int"),
        (lambda: cy.Schedule().explain("i"), "CYC301", "of type str"),
        (lambda: cy.Schedule().stream("A", along=1), "CYC301", "of type int"),
        (lambda: cy.Schedule().stream("A", along={"i": 1}), "CYC301", "of type dict"),
        (lambda: Movement("A", "teleport"), "CYC301", "teleport"),
        (lambda: Schedule((), (), ("A",)), "CYC301", "of type str"),
        (lambda: Schedule.from_dict({"spaec": ["i"]}), "CYC301", "spaec"),
        (lambda: Schedule.from_dict(["i"]), "CYC301", "of type list"),
        (lambda: Schedule.from_dict({"stream": 3}), "CYC301", "of type int"),
        (lambda: cy.Schedule().space("i", "j").time("j"), "CYC302", "`j` is in space (i, j) and in time (j)"),
        (lambda: cy.Schedule().time("i").space("i"), "CYC302", "`i`"),
        (lambda: cy.Schedule().space("i", "i"), "CYC303", "(i, i)"),
        (lambda: cy.Schedule().stream("A", along=["j", "j"]), "CYC303", "(j, j)"),
        (lambda: Schedule((), (), (Movement("A", "stream"), Movement("A", "prefetch"))), "CYC303", "`A`"),
    ],
)
def test_refusals_name_what_is_wrong(make, code, words):
    with pytest.raises(cy.ScheduleError) as caught:
        make()
    assert caught.value.code == code
    assert words in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(cy.ScheduleError, match=f"{path.name}` cannot be read"):
            cy.Schedule.load(path)


@pytest.mark.parametrize("content", [b"space = [", b"\xff\xfe", b'space = ["i"]\nspace = ["j"]'])
def test_a_file_that_is_not_toml_is_named(tmp_path, content):
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(cy.ScheduleError, match=r"broken\.toml"):
        Schedule.load(path)
