"""Texts for users name tensors as the kernel's text does: no version of a name, no number of an operation."""

import inspect
import re

import numpy as np
import pytest
import test_corpus

import cyclotron as cy

RANDOM = np.random.default_rng(0)
LINE, GRID, MATRIX = RANDOM.random(8), RANDOM.random((6, 6)), RANDOM.random((4, 4)) + 4 * np.eye(4)
MADE = re.compile(
    r"\b[A-Za-z]\w*_(?:new|out|kept|next|local|hit|runs|goes_on\w*|\d+)\b|\b(?:copy|logic)\d+|\^\w+"
)


@cy.kernel
def in_place(u):
    for _t in range(3):
        for i in range(1, 7):
            u[i] = 0.5 * (u[i - 1] + u[i + 1])
    return u


@cy.kernel
def whole_array(u):
    for _t in range(3):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - u[:-2])
    return u


@cy.kernel
def heat(u):
    for _t in range(3):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += 0.2 * (around - 4 * u[1:-1, 1:-1])
    return u


@cy.kernel
def rebinding(x):
    x = x + 1
    x = x * 2
    x[0] = 3
    x[1:] = x[:-1] + x[1:]
    return x


@cy.kernel
def conjugate_gradients(A, b):
    x = cy.zeros_like(b)
    res = b.copy()
    p = res.copy()
    rs = res @ res
    for _t in range(3):
        Ap = A @ p
        al = rs / (p @ Ap)
        x = x + al * p
        res = res - al * Ap
        new = res @ res
        p = res + (new / rs) * p
        rs = new
    return x


@cy.kernel
def swap(u):
    new = u.copy()
    for _t in range(4):
        new[1:-1] = 0.5 * (u[2:] + u[:-2])
        u, new = new, u
    return u


@cy.kernel(max_steps=20)
def until_settled(u, tolerance):
    change = cy.max(cy.abs(u))
    while change > tolerance:
        new = u.copy()
        new[1:-1] = (u[:-2] + u[2:]) / 2
        change = cy.max(cy.abs(new - u))
        u = new
    return u


@cy.kernel
def left_early(u):
    s = 0.0
    for i in range(8):
        s += u[i]
        if s > 2:
            break
    return s


@cy.kernel
def branches(u):
    y = cy.zeros_like(u)
    for i in range(1, 8):
        if u[i] > 0.5:
            y[i] = y[i - 1] + u[i] * 2
        else:
            y[i] = -u[i]
    u[:] = y
    return u


@cy.kernel
def elimination(A):
    for k in range(4):
        for i in range(k + 1, 4):
            A[i, k] /= A[k, k]
            for j in range(k + 1, 4):
                A[i, j] -= A[i, k] * A[k, j]
    return A


@cy.kernel
def smoothed(u):
    for _t in range(2):
        v = u.copy()
        for i in range(1, 7):
            u[i] = 0.5 * (v[i - 1] + v[i + 1])
    return u


@cy.kernel
def awkward(copy3, u_1):
    t0 = copy3 + u_1
    for part in range(3):
        for step in range(1, 7):
            t0[step] = t0[step - 1] * u_1[step + 1] if step > 3 else u_1[step]
        u_1[1:] = t0[:-1] - u_1[1:]
    return t0, u_1


CASES = {
    in_place: (LINE,),
    whole_array: (LINE,),
    heat: (GRID,),
    rebinding: (LINE,),
    conjugate_gradients: (MATRIX, LINE[:4]),
    swap: (LINE,),
    until_settled: (LINE, 0.3),
    left_early: (LINE,),
    branches: (LINE,),
    elimination: (MATRIX,),
    smoothed: (LINE,),
}


def labels(figure):
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in figure.findobj(Text))


def check(texts):
    found = {what: MADE.findall(text) for what, text in texts.items()}
    assert not {what: names for what, names in found.items() if names}


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.name)
def test_programs_and_runs_name_what_the_kernel_names(kernel, tmp_path):
    program = kernel.compile(*CASES[kernel])
    result = cy.run(program, backend="sim")
    result.save_trace(tmp_path / "trace.json")
    check(
        {
            "explain": str(program.explain()),
            "html": program.explain()._repr_html_(),
            "channels": "\n".join(channel["name"] for channel in program.channels),
            "depths": str(program.least_depths()),
            "accounting": str(result.accounting()),
            "critical path": str(result.critical_path()),
            "statistics": str(result.stats["channels"]),
            "trace": (tmp_path / "trace.json").read_text(),
            "array": labels(program.plot.array()),
            "stalls": labels(result.plot.stalls()),
        }
    )


@pytest.mark.parametrize("kernel", [whole_array, heat, in_place], ids=lambda kernel: kernel.name)
def test_pictures_of_points_name_statements_by_their_lines(kernel):
    text = labels(kernel.compile(*CASES[kernel]).plot.iteration_space())
    check({"iteration space": text})
    assert "the statement at line " in text


def test_what_a_loop_is_asked_reads_as_words():
    text = str(until_settled.compile(LINE, 0.3).explain())
    line = until_settled.__wrapped__.__code__.co_firstlineno + 3
    assert f"whether the loop at line {line} goes on" in text
    assert f"whether the loop goes on at line {line}" in text
    text = str(left_early.compile(LINE).explain())
    line = left_early.__wrapped__.__code__.co_firstlineno + 5
    assert f"whether the loop ends at line {line}" in text


def test_each_channel_has_a_name_and_names_before_that_are_of_all_alike():
    program = conjugate_gradients.compile(*CASES[conjugate_gradients])
    names = [channel["name"] for channel in program.channels]
    assert len(set(names)) == len(names)
    numbered = [name for name in names if name.endswith("number 2)")]
    assert numbered
    one, old = numbered[0], numbered[0].removesuffix(", number 2)") + ")"

    def changed(name):
        return [
            n
            for n, c in zip(names, program.with_depths({name: 77}).channels, strict=True)
            if c["depth"] == 77
        ]

    assert changed(one) == [one]
    assert set(changed(old)) == {n for n in names if n.startswith(old[:-1] + ",")}
    assert set(changed(old.partition(" (")[0])) == {
        n for n in names if n.startswith(old.partition(" (")[0] + " (")
    }
    assert changed(program.channel_flows[names.index(one)]) == [one]


@cy.kernel
def out_of_bounds(x):
    x = x + 1
    for i in range(4):
        x[i] = x[i + 9]
    return x


@cy.kernel
def too_many_subscripts(x):
    x = x + 1
    for i in range(4):
        x[i, i] = 3
    return x


@cy.kernel
def unknown_method(x):
    x = x + 1
    return x.foo


@cy.kernel
def chosen(x):
    for t in range(3):
        x = x + 1 if t > 0 else x
    return x


REFUSED = [
    (out_of_bounds, {}, "`x[i+9]` is `x[9]` at i = 0, but `x` has shape (8)"),
    (too_many_subscripts, {}, "`x` has 1 axis but 2 subscripts"),
    (unknown_method, {}, "`x.foo` is not known of arrays"),
    (chosen, {}, "`x` itself, or another array, is chosen"),
    (whole_array, {"schedule": cy.Schedule().space("i").time("-_t")}, "`u` is needed at point"),
    (whole_array, {"schedule": cy.Schedule().space("i").broadcast("v")}, "it has: u"),
]


@pytest.mark.parametrize(("kernel", "options", "message"), REFUSED)
def test_errors_name_what_the_kernel_names(kernel, options, message):
    with pytest.raises(cy.CyclotronError) as caught:
        kernel.compile(LINE, **options)
    assert message in str(caught.value)
    check({"error": str(caught.value)})


# A name, with the line and number that tell versions apart, and the letter of an operand's slot.
NAME = re.compile(r"[^\W\d]\w*(?:@\d+(?:_\d+)?)?(?:\.[a-z]\b)?")
NUMBERED = re.compile(r"(?:t|tmp|N|Φ)\d+|Σ|Π")  # temporaries, nodes of a graph, interfaces
OF_LOOPS = re.compile(r"whether_the_(?:loop|branch|other_branch)_\w+|while_at_line_\d+_goes_on_after_\d+")
WORDS = set(
    re.findall(
        r"\w+",
        """
    Export Inject InnerSend LowerSum Outer OuterSend PE PEs Propagate Relay Send True Turn a
    absolute add address adds affine after again all along and anew are arrive as at b bool both bound by
    bytes c calls carries choose class code compute computed computes controller copy costs cycle
    data dataflow descending divide does done each ends equal everywhere exit false first first_maximum
    first_minimum float64 flows for form
    from full function goes graph greater grid growing handed held holds hop i if in induced input int64
    interfaces inwards is it iteration its j keeps line live load loaded local logical_and logical_not
    logical_or loop lower matmul maximum middle minimum multiply negative no none number of on one operands
    or outermost output over own partial pe point queues range receive receives recurrences reductions relay
    result right_side role rules run runs send sends slot space spaces statement stationary step
    steps store stored streams subtract sum temporary tensors that the their tiles time to to_int64
    transfer transpose_b true unit unless uses value way where whether while with worker workers
        """,
    )
)


def listings(kernel, arguments):
    program = kernel.compile(*arguments)
    texts = {
        "classes": "\n".join(map(str, program.classes)),
        "recurrences": str(program.recurrences),
        "dataflow": str(program.dataflow).replace("ᵀ", " "),
        "memory": str(program.memory),
        "graph": str(kernel.graph(*arguments)),
        "explain": str(program.explain()),
        "channels": "\n".join(channel["name"] for channel in program.channels),
        "roles": str(program.roles),
        "schedule": str(program.schedule),
    }
    # Spaces of the dataflow are numbered operators, and its flows have a letter, as in the paper.
    for space in program.dataflow.spaces:
        texts["dataflow"] = re.sub(rf"\b{space.name}\b", "", texts["dataflow"])
    return texts


def unknown_names(what, text, own):
    """Names that are neither the kernel's own nor words."""
    text = re.sub(r"(?<=[\])])_|_(?={)|(?<=\d)x(?=\d)|[ᵀ⟨⟩]", " ", text)  # `[i]_u`, `max_{i}`, 2x2
    for name in sorted(set(NAME.findall(text))):
        # The output of a kernel that assigns its input is `u_out` in `Result.outputs`, too.
        base = re.split(r"[@.]", name)[0].removeprefix("statement_in_").removesuffix("_out")
        is_known = base in own | WORDS or (what == "dataflow" and base[:-1] in own)
        if not is_known and not NUMBERED.fullmatch(name) and not OF_LOOPS.fullmatch(base):
            yield name


CASES_OF_NAMES = {**CASES, awkward: (LINE, LINE)}
ALL = {kernel.name: (kernel, arguments) for kernel, arguments in CASES_OF_NAMES.items()} | {
    name: (entry.kernel, test_corpus.arguments(entry, entry.sizes[0]))
    for name, entry in test_corpus.ENTRIES.items()
}


@pytest.mark.parametrize("name", ALL)
def test_listings_have_the_names_of_the_kernel_and_words(name):
    kernel, arguments = ALL[name]
    own = set(NAME.findall(inspect.getsource(kernel.__wrapped__)))
    texts = listings(kernel, arguments)
    found = {what: list(unknown_names(what, text, own)) for what, text in texts.items()}
    assert not {what: names for what, names in found.items() if names}
