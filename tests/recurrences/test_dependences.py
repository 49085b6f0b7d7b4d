"""Statements and dependences: what AutoSA's page shows, and an independent enumeration of every pair."""

import itertools
import re

import pytest

import cyclotron as cy
from cyclotron.compiler.dependences import Dependences


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def solve(L, B):
    X = cy.empty_like(B)
    for i in range(B.shape[0]):
        for r in range(B.shape[1]):
            X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))) / L[i, i]
    return X


@cy.kernel
def cholesky(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = cy.sqrt(A[j, j] - sum(L[j, k] * L[j, k] for k in range(j)))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return L


@cy.kernel
def skipping(A):
    P = cy.empty_like(A)
    for i in range(A.shape[0]):
        if i < 2:
            P[i] = A[i]
        else:
            P[i] = P[i - 2] + A[i]
    return P


@cy.kernel
def nested(A, v):
    Y = cy.empty((A.shape[0],))
    for i in range(A.shape[0]):
        Y[i] = sum(A[i, k] * sum(v[m] for m in range(k + 1)) for k in range(A.shape[1])) - sum(
            A[i, k] for k in range(A.shape[1])
        )
    return Y


@cy.kernel
def convolution(x, w):
    y = cy.empty((x.shape[0] - w.shape[0] + 1,))
    for i in range(x.shape[0] - w.shape[0] + 1):
        y[i] = sum(x[i + r] * w[r] for r in range(w.shape[0]))
    return y


SQUARE = cy.spec((4, 4))
CASES = {
    "matmul": (matmul, (cy.spec((2, 4)), cy.spec((4, 3)))),
    "solve": (solve, (SQUARE, cy.spec((4, 2)))),
    "cholesky": (cholesky, (SQUARE,)),
    "skipping": (skipping, (cy.spec(6),)),
    "nested": (nested, (cy.spec((3, 4)), cy.spec(4))),
    "convolution": (convolution, (cy.spec(7), cy.spec(3))),
}


def three():
    return matmul.recurrences(cy.spec((3, 3)), cy.spec((3, 3)))


# An oracle of its own: isl's notation, read as Python conditions over small boxes.


def condition(text):
    text = re.sub(r"(\d)([A-Za-z_])", r"\1*\2", text.replace("'", "_"))
    return re.sub(r"(?<![<>=])=(?!=)", "==", text)


def pairs(relation):
    """All pairs (source, target) of a relation, by trying every point of a box."""
    found = set()
    for piece in relation.strip("{} ").split(";"):
        mapping, _, where = piece.partition(" : ")
        left, right = (re.fullmatch(r"\s*\w+\[(.*)\]\s*", side).group(1) for side in mapping.split(" -> "))
        names, forms = left.split(", "), right.split(", ")
        primed = [form.replace("'", "_") for form in forms if form.endswith("'")]
        assert primed in ([], [form.replace("'", "_") for form in forms])
        for values in itertools.product(range(-1, 8), repeat=len(names) + len(primed)):
            scope = dict(zip([*names, *primed], values, strict=True))
            if not where or eval(condition(where), {}, scope):
                target = tuple(eval(condition(form), {}, scope) for form in forms)
                found.add((values[: len(names)], target))
    return found


def points(domain):
    return {source for source, _ in pairs(re.sub(r"(\w+\[.*?\])", r"\1 -> \1", domain, count=1))}


def element(access):
    return dict(pairs(access.relation))


@pytest.mark.parametrize("name", CASES)
def test_every_pair_touches_one_element(name):
    """AS-017: both ends of each dependence, of every kind, touch the same element in the right way."""
    kernel, args = CASES[name]
    recurrences = kernel.recurrences(*args)
    statements = {statement.name: statement for statement in recurrences.statements}
    ends = {"flow": (True, False), "anti": (False, True), "output": (True, True), "read": (False, False)}
    for item in recurrences.dependences:
        wanted = ends[item.kind]
        first, second = (
            [element(a) for a in statements[s].accesses if a.tensor == item.tensor and a.write == write]
            for s, write in zip((item.source, item.target), wanted, strict=True)
        )
        related = pairs(item.relation)
        assert related
        for p, q in related:
            assert {e[p] for e in first} & {e[q] for e in second}, (item, p, q)
        for index, (least, greatest) in zip(item.indices, item.ranges, strict=True):
            a, b = (statements[s].indices.index(index) for s in (item.source, item.target))
            steps = [q[b] - p[a] for p, q in related]
            assert (min(steps), max(steps)) == (least, greatest)


@pytest.mark.parametrize("name", CASES)
def test_flow_and_read_reach_every_reader_from_the_last_writer(name):
    """AS-014: for every read of a computed element, the chain of dependences leads back to its writer."""
    kernel, args = CASES[name]
    recurrences = kernel.recurrences(*args)
    computed = {a.tensor for s in recurrences.statements for a in s.writes}
    before = {}
    for item in recurrences.dependences.of("flow", "read"):
        for p, q in pairs(item.relation):
            before.setdefault((item.target, q, item.tensor), set()).add((item.kind, item.source, p))
    writes = {}
    for statement in recurrences.statements:
        for access in statement.writes:
            for point, index in element(access).items():
                writes.setdefault((access.tensor, index), set()).add((statement.name, point))
    for statement in recurrences.statements:
        for access in statement.reads:
            if access.tensor not in computed:
                continue
            for point, index in element(access).items():
                writers = writes[access.tensor, index]
                todo, seen, reached = [(statement.name, point)], set(), set()
                while todo:
                    at = todo.pop()
                    if at in seen:
                        continue
                    seen.add(at)
                    for kind, source, p in before.get((*at, access.tensor), ()):
                        if kind == "flow":
                            reached.add((source, p))
                        else:
                            todo.append((source, p))
                assert reached & writers, (statement.name, point, access.text)


@pytest.mark.parametrize("name", CASES)
def test_read_dependences_join_all_readers_of_an_input(name):
    """AS-019: the read dependences of an input join all points that one access brings one element to."""
    kernel, args = CASES[name]
    recurrences = kernel.recurrences(*args)
    inputs = {a.tensor for s in recurrences.statements for a in s.reads}
    inputs -= {a.tensor for s in recurrences.statements for a in s.writes}
    for statement in recurrences.statements:
        for access in statement.reads:
            if access.tensor not in inputs:
                continue
            groups = {}
            for point, index in element(access).items():
                groups.setdefault(index, set()).add(point)
            edges = set()
            for item in recurrences.dependences.of("read", source=statement.name):
                if item.tensor == access.tensor:
                    edges |= pairs(item.relation)
            for readers in groups.values():
                reached, todo = set(), [min(readers)]
                while todo:
                    at = todo.pop()
                    reached.add(at)
                    near = {q for p, q in edges if p == at} | {p for p, q in edges if q == at}
                    todo += [p for p in near & readers if p not in reached]
                assert reached == readers


def test_iteration_domains():
    """AS-009: the iteration domain of S1 in isl's notation."""
    domains = three().domains
    assert list(domains) == ["S0", "S1"]
    assert domains["S1"] == "{ S1[i, j, k] : 0 <= i <= 2 and 0 <= j <= 2 and 0 <= k <= 2 }"
    assert points(domains["S1"]) == set(itertools.product(range(3), repeat=3))


def test_access_relations():
    """AS-010: A[i, k], B[k, j] and C[i, j]."""
    accesses = three().accesses["S1"]
    assert [(a.text, a.write) for a in accesses] == [
        ("A[i, k]", False),
        ("B[k, j]", False),
        ("C[i, j]", False),
        ("C[i, j]", True),
    ]
    assert str(accesses[0]).startswith("{ S1[i, j, k] -> A[i, k] : ")


def test_schedules():
    """AS-011: the order of the text."""
    assert three().schedules["S1"] == "{ S1[i, j, k] -> [i, j, k] }"


def test_three_dependences_of_matmul():
    """AS-020: D1, D2 and D3 with distances (0, 0, 1), (0, 1, 0) and (1, 0, 0)."""
    found = three().dependences.of("flow", "read", source="S1", target="S1")
    assert [(d.kind, d.tensor, d.distance) for d in found] == [
        ("flow", "C", (0, 0, 1)),
        ("read", "A", (0, 1, 0)),
        ("read", "B", (1, 0, 0)),
    ]
    assert all(d.is_uniform for d in found)
    assert found[0].relation == (
        "{ S1[i, j, k] -> S1[i, j, k+1] : 0 <= i <= 2 and 0 <= j <= 2 and 0 <= k <= 1 }"
    )


def test_a_value_comes_once_and_is_passed_on():
    """AS-016, AS-020: X comes from the diagonal to the first row that reads it, then goes on along i."""
    found = solve.recurrences(SQUARE, cy.spec((4, 2))).dependences
    assert [(d.kind, d.tensor, d.source, d.target, d.distance) for d in found.of("flow", "read")] == [
        ("flow", "X", "S1", "S1", (0, 0, 1)),
        ("flow", "X", "S0", "S1", (0, 0)),
        ("flow", "X", "S2", "S1", (1, 0)),
        ("flow", "X", "S1", "S2", (0, 0)),
        ("flow", "X", "S0", "S2", (0, 0)),
        ("read", "L", "S1", "S1", (0, 1, 0)),
        ("read", "X", "S1", "S1", (1, 0, 0)),
        ("read", "L", "S2", "S2", (0, 1)),
    ]
    assert pairs(found[2].relation) == {((j, r), (j + 1, r, j)) for j in range(3) for r in range(2)}


def test_anti_and_output_dependences_of_the_sum():
    """AS-017: of every kind."""
    dependences = three().dependences
    assert {d.kind for d in dependences} == {"flow", "anti", "output", "read"}
    for kind in ("anti", "output"):
        assert dependences.of(kind, source="S1")[0].distance == (0, 0, 1)


def test_all_loops_of_matmul_are_eligible():
    """AS-021: i, j and k."""
    assert [(loop.index, loop.eligible) for loop in three().space_loops] == [
        ("i", True),
        ("j", True),
        ("k", True),
    ]


def test_a_flow_over_two_steps_is_not_eligible():
    """AS-016: the reason names the dependence and its length."""
    (loop,) = skipping.recurrences(cy.spec(6)).space_loops
    assert not loop.eligible
    assert "the flow dependence of P from S1 to S1 goes 2 steps along i, more than a neighbour" in str(loop)


def test_a_dependence_that_is_not_uniform_is_not_eligible():
    """AS-015: constraint 2."""
    recurrences = cholesky.recurrences(cy.spec((5, 5)))
    loops = {loop.index: loop for loop in recurrences.space_loops}
    assert "is not uniform: 1 to 4 steps along j" in loops["j"].reasons[0]
    assert loops["i"].eligible
    assert loops["k"].eligible
    varying = next(d for d in recurrences.dependences if not d.is_uniform)
    assert varying.distance is None
    assert varying.distance_text == "(1..4)"
    assert varying.direction == "(<)"


def test_only_flow_and_read_count_for_the_length():
    """AS-018: an output dependence over two steps needs no message."""

    @cy.kernel
    def even(A):
        y = cy.empty((A.shape[0],))
        for i in range(A.shape[0]):
            y[i] = sum(A[i, 2 * k] for k in range(A.shape[1] // 2))
        return y

    recurrences = even.recurrences(cy.spec((3, 6)))
    assert [loop.eligible for loop in recurrences.space_loops] == [True, True]
    outputs = recurrences.dependences.of("output", source="S1")
    assert [d.distance for d in outputs] == [(0, 1)]


def test_several_sums_have_cells_of_their_own():
    recurrences = nested.recurrences(cy.spec((3, 4)), cy.spec(4))
    kinds = [statement.kind for statement in recurrences.statements]
    assert kinds == ["start", "start", "accumulate", "accumulate", "start", "accumulate", "assign"]
    cells = {a.tensor for s in recurrences.statements for a in s.writes}
    assert cells == {"Y", "Y_k", "Y_k_2", "Y_k_m"}


def test_dependences_are_a_sequence_that_prints_as_a_table():
    dependences = three().dependences
    assert isinstance(dependences[:2], Dependences)
    assert len(dependences[:2]) == 2
    assert dependences == three().dependences
    assert len({dependences, three().dependences}) == 1
    lines = str(dependences).split("\n")
    assert lines[0].split() == ["kind", "tensor", "relation", "indices", "distance"]
    assert len(lines) == 2 + len(dependences)
    assert "S1[i, j, k] -&gt; S1[i, j, k+1]" in dependences._repr_html_()
    assert str(dependences[0]) == dependences[0].relation


def test_large_shapes_cost_no_more():
    small, large = (matmul.recurrences(cy.spec((n, n)), cy.spec((n, n))) for n in (3, 3000))
    assert [d.distance for d in small.dependences] == [d.distance for d in large.dependences]


def test_recurrences_print_compare_and_verify_as_before():
    recurrences = three()
    assert str(recurrences).startswith("recurrences matmul\n  A : input float64[3, 3]")
    assert repr(recurrences) == str(recurrences)
    assert recurrences == three()
    assert recurrences != solve.recurrences(SQUARE, SQUARE)
    assert recurrences.indices == ("i", "j", "k")
    recurrences.verify()
