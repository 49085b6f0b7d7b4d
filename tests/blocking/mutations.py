"""One random change of a text, anywhere in its syntax tree: what it computes then may be anything."""

import ast
import copy
import math
import random

import numpy as np

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_RELATIONS = (ast.Lt, ast.LtE, ast.Eq, ast.Gt, ast.GtE, ast.NotEq)
_TENSORS = "ABCDFLUX"
_INDICES = "ijkr"


class NumPy:
    """Stand for `cy` in a text that plain Python runs: new elements are no numbers until assigned."""

    sqrt = staticmethod(np.sqrt)
    exp = staticmethod(np.exp)
    zeros = staticmethod(np.zeros)
    zeros_like = staticmethod(np.zeros_like)

    @staticmethod
    def empty(shape):
        return np.full(shape, math.nan)

    @staticmethod
    def empty_like(like):
        return np.full(like.shape, math.nan)


def plain(text, *arguments, **names):
    """Run a text as Python has it, with `names` beside Python's; return its results as a tuple of arrays."""
    scope = {"cy": NumPy, "np": np, **names}
    exec(compile(text, "text", "exec"), scope)
    with np.errstate(all="ignore"):
        results = scope["kernel"](*(np.array(argument) for argument in arguments))
    return tuple(np.array(result) for result in (results if isinstance(results, tuple) else (results,)))


def _bound(node, rng):
    """Move an end of a range, or leave out its first place."""
    which = rng.randrange(len(node.args))
    step = ast.Constant(rng.choice((1, -1)))
    node.args[which] = ast.BinOp(node.args[which], ast.Add(), step)


def _subscript(node, rng):
    """Name another element of the same tensor."""
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    which = rng.randrange(len(indices))
    new = rng.choice(
        [
            *(ast.Name(index) for index in _INDICES),
            ast.Constant(0),
            ast.BinOp(indices[which], rng.choice((ast.Add, ast.Sub))(), ast.Constant(1)),
        ]
    )
    if isinstance(node.slice, ast.Tuple):
        if rng.random() < 0.3:
            indices.reverse()
        else:
            indices[which] = new
    else:
        node.slice = new


def _value(node, rng):
    """Compute with one more or one less: the element negated, doubled, squared, or one more added."""
    old = copy.deepcopy(node)
    ways = [
        ast.UnaryOp(ast.USub(), old),
        ast.BinOp(ast.Constant(2.0), ast.Mult(), old),
        ast.BinOp(old, ast.Mult(), old),
        ast.BinOp(old, ast.Add(), ast.Constant(1.0)),
        ast.BinOp(old, ast.Add(), old),
        ast.Constant(1.0),
    ]
    return rng.choice(ways)


def is_range(node):
    """Tell a call of range."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def is_element(node):
    """Tell an element of a tensor."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and len(node.value.id) == 1


def _is_size(node):
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute)


def _statements(tree):
    return [
        body
        for node in ast.walk(tree)
        for body in (getattr(node, "body", None), getattr(node, "orelse", None))
        if isinstance(body, list) and node is not tree
    ]


def _change_statement(tree, rng):
    """Leave out a statement, say it twice, or change its place with the next; or loops with each other."""
    body = rng.choice([body for body in _statements(tree) if body] or [tree.body])
    at = rng.randrange(len(body))
    way = rng.random()
    if way < 0.3 and len(body) > 1:
        del body[at]
    elif way < 0.5:
        body.insert(at, copy.deepcopy(body[at]))
    elif way < 0.7 and at + 1 < len(body):
        body[at], body[at + 1] = body[at + 1], body[at]
    elif isinstance(body[at], ast.For):
        inner = body[at].body[0]
        if isinstance(inner, ast.For) and rng.random() < 0.5:
            for part in ("target", "iter"):
                old = getattr(body[at], part)
                setattr(body[at], part, getattr(inner, part))
                setattr(inner, part, old)
        else:  # the last statement leaves the loop
            body.insert(at + 1, body[at].body.pop())
            if not body[at].body:
                del body[at]


def _change_expression(tree, rng):
    loads = [n for n in ast.walk(tree) if is_element(n) and isinstance(n.ctx, ast.Load)]
    kinds = [
        ([n for n in ast.walk(tree) if is_range(n)], _bound),
        ([n for n in ast.walk(tree) if is_element(n)], _subscript),
        ([n for n in ast.walk(tree) if isinstance(n, ast.BinOp)], _operator),
        ([n for n in ast.walk(tree) if isinstance(n, ast.AugAssign)], _operator),
        ([n for n in ast.walk(tree) if isinstance(n, ast.Compare)], _relation),
        (loads, _tensor),
        ([n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, float)], _number),
    ]
    kinds = [kind for kind in kinds if kind[0]]
    if kinds:
        nodes, change = rng.choice(kinds)
        change(rng.choice(nodes), rng)


def _operator(node, rng):
    node.op = rng.choice(_OPERATORS)()


def _relation(node, rng):
    node.ops = [rng.choice(_RELATIONS)()]


def _tensor(node, rng):
    node.value = ast.Name(rng.choice(_TENSORS))


def _number(node, rng):
    node.value = rng.choice((0.0, 1.0, 2.0, -1.0, 0.5))


class _Replace(ast.NodeTransformer):
    def __init__(self, wanted, new):
        self.wanted, self.new = wanted, new

    def visit(self, node):
        return self.new if node is self.wanted else self.generic_visit(node)


def replaced(tree, wanted, new):
    """Put one node in place of another."""
    return _Replace(wanted, new).visit(tree)


def mutant(text, rng):
    """A text with one change, sometimes two."""
    tree = ast.parse(text.strip())
    for _ in range(1 if rng.random() < 0.8 else 2):
        way = rng.random()
        if way < 0.25:
            _change_statement(tree, rng)
        elif way < 0.8:
            _change_expression(tree, rng)
        else:
            values = [
                node
                for node in ast.walk(tree)
                if (is_element(node) and isinstance(node.ctx, ast.Load))
                or (isinstance(node, ast.BinOp) and not _is_size(node.left))
                or (isinstance(node, ast.Call) and not is_range(node))
            ]
            if not values:
                continue
            chosen = rng.choice(values)
            tree = replaced(tree, chosen, _value(chosen, rng))
        tree = ast.parse(ast.unparse(tree))
    return ast.unparse(tree) + "\n"


def mutants(text, seed):
    """Endless different mutants of a text."""
    rng = random.Random(seed)
    seen = {ast.unparse(ast.parse(text.strip())) + "\n"}
    while True:
        changed = mutant(text, rng)
        if changed not in seen:
            seen.add(changed)
            yield changed
