"""Texts that compute the same in other words; a step is kept only where plain Python has the same result."""

import ast
import copy
import random

import numpy as np
from mutations import is_element, plain, replaced

_NAMES = ("p", "q", "u", "v", "w", "row", "col", "step", "a", "b", "c0", "inner")
_TENSORS = ("P", "Q", "R", "S", "T", "V", "W", "Y", "Z", "M", "N", "O")


def _bodies(tree):
    return [
        body
        for node in ast.walk(tree)
        for body in (getattr(node, "body", None), getattr(node, "orelse", None))
        if isinstance(body, list) and body
    ]


def _parsed(text):
    return ast.parse(text).body[0].value if "\n" not in text else ast.parse(text).body


def rename(tree, rng):
    """Give all indices, tensors and numbers other names."""
    names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
    names += [argument.arg for argument in tree.body[0].args.args if argument.arg not in names]
    keep = {"cy", "np", "range", "sum", "n", "m", "len"}
    small, large = (
        iter([name for name in rng.sample(pool, len(pool)) if name not in names])
        for pool in (_NAMES, _TENSORS)
    )
    new = {
        name: next(large if name[0].isupper() else small)
        for name in names
        if name not in keep and len(name) <= 2 and not name.startswith("t")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = new.get(node.arg, node.arg)
    return tree


def commute(tree, rng):
    """Swap the operands of sums and products; spell differences as sums."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.BinOp) or rng.random() < 0.5:
            continue
        if isinstance(node.op, ast.Add | ast.Mult) and not _is_integer(node):
            node.left, node.right = node.right, node.left
        elif isinstance(node.op, ast.Sub) and not _is_integer(node):
            node.left, node.right, node.op = ast.UnaryOp(ast.USub(), node.right), node.left, ast.Add()
    return tree


def _is_integer(node):
    """Tell indices, which have no element in them."""
    return not any(is_element(inner) or isinstance(inner, ast.Call) for inner in ast.walk(node)) and not any(
        isinstance(inner, ast.Name) and inner.id[0] == "t" for inner in ast.walk(node)
    )


def reciprocal(tree, rng):
    """Multiply by one over the divisor."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and rng.random() < 0.7:
            if isinstance(node.left, ast.Constant):
                continue
            node.op = ast.Mult()
            node.right = ast.BinOp(ast.Constant(1.0), ast.Div(), node.right)
    return tree


def assignment(tree, rng):
    """Spell `x -= y` as `x = x - y` or `x += -y`, and back."""
    for body in _bodies(tree):
        for at, node in enumerate(body):
            if rng.random() < 0.5:
                continue
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
                if rng.random() < 0.5 and isinstance(node.op, ast.Sub):
                    body[at] = ast.AugAssign(node.target, ast.Add(), ast.UnaryOp(ast.USub(), node.value))
                else:
                    load = copy.deepcopy(node.target)
                    load.ctx = ast.Load()
                    body[at] = ast.Assign([node.target], ast.BinOp(load, node.op, node.value))
            elif (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.BinOp)
                and ast.unparse(node.targets[0]) == ast.unparse(node.value.left)
            ):
                body[at] = ast.AugAssign(node.targets[0], node.value.op, node.value.right)
    return tree


def _places_of_sums(tree):
    for body in _bodies(tree):
        for at, node in enumerate(body):
            if not isinstance(node, ast.Assign):
                continue
            for inner in ast.walk(node.value):
                if isinstance(inner, ast.Call) and getattr(inner.func, "id", "") == "sum":
                    yield body, at, node, inner


def _fresh(tree):
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return next(name for name in (f"t{number}" for number in range(99)) if name not in names)


def _loop(generator, statement):
    loop = generator.generators[0]
    return ast.For(loop.target, loop.iter, [statement], [])


def accumulate(tree, rng):
    """Spell a sum as a loop: on a number, or on the element that it is assigned to."""
    places = list(_places_of_sums(tree))
    if not places:
        return tree
    body, at, node, call = rng.choice(places)
    generator = call.args[0]
    value, target = node.value, node.targets[0]
    difference = isinstance(value, ast.BinOp) and value.right is call and isinstance(value.op, ast.Sub)
    quotient = (
        isinstance(value, ast.BinOp)
        and isinstance(value.op, ast.Div)
        and isinstance(value.left, ast.BinOp)
        and value.left.right is call
        and isinstance(value.left.op, ast.Sub)
    )
    if (difference or quotient) and rng.random() < 0.6:
        first = value.left.left if quotient else value.left
        name = ast.Name(_fresh(tree)) if rng.random() < 0.5 else target
        last = ast.BinOp(name, ast.Div(), value.right) if quotient else name
        body[at : at + 1] = [
            ast.Assign([name], first),
            _loop(generator, ast.AugAssign(name, ast.Sub(), generator.elt)),
            *([] if name is target and not quotient else [ast.Assign([target], last)]),
        ]
        return tree
    if value is call and rng.random() < 0.5:
        name = target
    else:
        name = ast.Name(_fresh(tree))
    body[at : at + 1] = [
        ast.Assign([name], ast.Constant(0.0)),
        _loop(generator, ast.AugAssign(name, ast.Add(), generator.elt)),
        *([] if name is target else [replaced(node, call, name)]),
    ]
    return tree


def temporary(tree, rng):
    """Give an element, a product or a sum a name of its own before the statement that reads it."""
    places = [
        (body, at, node, inner)
        for body in _bodies(tree)
        for at, node in enumerate(body)
        if isinstance(node, ast.Assign | ast.AugAssign)
        for inner in _whole_values(node.value)
    ]
    if places:
        body, at, node, inner = rng.choice(places)
        name = ast.Name(_fresh(tree))
        body[at : at + 1] = [ast.Assign([name], inner), replaced(node, inner, name)]
    return tree


def _whole_values(node):
    """Find what stands in a statement outside of its generators."""
    if isinstance(node, ast.GeneratorExp):
        return
    if is_element(node) or (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "sum"):
        yield node
        return
    if isinstance(node, ast.BinOp) and not _is_integer(node):
        yield node
    for inner in ast.iter_child_nodes(node):
        yield from _whole_values(inner)


def split_sum(tree, rng):
    """Add up the first places of a sum apart from the others."""
    calls = [call for _, _, _, call in _places_of_sums(tree)]
    if not calls:
        return tree
    call = rng.choice(calls)
    first, second = copy.deepcopy(call), copy.deepcopy(call)
    low, high = _ends(call.args[0].generators[0].iter)
    if low is None:
        return tree
    middle = _cut(low, high, rng)
    first.args[0].generators[0].iter.args = [low, middle]
    second.args[0].generators[0].iter.args = [middle, high]
    return replaced(tree, call, ast.BinOp(first, ast.Add(), second))


def _ends(call):
    if len(call.args) == 1:
        return ast.Constant(0), call.args[0]
    return (call.args[0], call.args[1]) if len(call.args) == 2 else (None, None)


def _cut(low, high, rng):
    """Return a place after the first one of a range, or before the last one."""
    end, operator = rng.choice([(low, ast.Add()), (high, ast.Sub())])
    return ast.BinOp(end, operator, ast.Constant(1))


def split_loop(tree, rng):
    """Run the first or the last place of a loop apart, or each of its statements in a loop of its own."""
    places = [
        (body, at) for body in _bodies(tree) for at, node in enumerate(body) if isinstance(node, ast.For)
    ]
    if not places:
        return tree
    body, at = rng.choice(places)
    loop = body[at]
    low, high = _ends(loop.iter)
    if len(loop.body) > 1 and (low is None or rng.random() < 0.7):
        cut = rng.randrange(1, len(loop.body))
        body[at : at + 1] = [
            ast.For(loop.target, loop.iter, loop.body[:cut], []),
            ast.For(loop.target, loop.iter, loop.body[cut:], []),
        ]
    elif low is not None:
        first, second = copy.deepcopy(loop), copy.deepcopy(loop)
        middle = _cut(low, high, rng)
        first.iter.args, second.iter.args = [low, middle], [middle, high]
        body[at : at + 1] = [first, second]
    return tree


def interchange(tree, rng):
    """Change the order of two loops, of two statements, or the direction of a loop."""
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)]
    nests = [node for node in loops if len(node.body) == 1 and isinstance(node.body[0], ast.For)]
    way = rng.random()
    if nests and way < 0.6:
        outer = rng.choice(nests)
        inner = outer.body[0]
        outer.target, inner.target = inner.target, outer.target
        outer.iter, inner.iter = inner.iter, outer.iter
    elif way < 0.8:
        bodies = [body for body in _bodies(tree) if len(body) > 1]
        body = rng.choice(bodies)
        at = rng.randrange(len(body) - 1)
        body[at], body[at + 1] = body[at + 1], body[at]
    elif loops:
        loop = rng.choice(loops)
        low, high = _ends(loop.iter)
        if low is not None:
            one = ast.Constant(1)
            loop.iter.args = [
                ast.BinOp(high, ast.Sub(), one),
                ast.BinOp(low, ast.Sub(), one),
                ast.Constant(-1),
            ]
    return tree


def condition(tree, rng):
    """Run a loop over all places of an axis, and ask inside for those that count."""
    loops = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.For)
        and len(node.iter.args) == 1
        and isinstance(node.iter.args[0], ast.Name)
        and node.iter.args[0].id not in ("n", "m")
    ]
    if loops and "n" in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
        loop = rng.choice(loops)
        end = loop.iter.args[0]
        test = ast.Compare(ast.Name(loop.target.id), [ast.Lt()], [end])
        loop.iter.args = [ast.Name("n")]
        loop.body = [ast.If(test, loop.body, [])]
    return tree


def shift(tree, rng):
    """Count a loop from one more."""
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For) and len(node.iter.args) <= 2]
    if not loops:
        return tree
    loop = rng.choice(loops)
    low, high = _ends(loop.iter)
    one, index = ast.Constant(1), loop.target.id
    loop.iter.args = [ast.BinOp(low, ast.Add(), one), ast.BinOp(high, ast.Add(), one)]

    class Shift(ast.NodeTransformer):
        def visit_Name(self, node):
            return ast.BinOp(node, ast.Sub(), one) if node.id == index else node

    loop.body = [Shift().visit(node) for node in loop.body]
    return tree


STEPS = {
    "rename": rename,
    "commute": commute,
    "reciprocal": reciprocal,
    "assignment": assignment,
    "accumulate": accumulate,
    "temporary": temporary,
    "split_sum": split_sum,
    "split_loop": split_loop,
    "interchange": interchange,
    "condition": condition,
    "shift": shift,
}


def _strict_range(*arguments):
    """Return a range whose end is not before its start: those of split ones are then parts of it."""
    start, stop, step = (0, *arguments, 1) if len(arguments) == 1 else (*arguments, 1)[:3]
    if (stop - start) * step < 0:
        raise IndexError("a range that ends before its start")
    return range(start, stop, step)


def _is_scoped(tree):
    """Tell whether no index is read outside of its loop."""
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.GeneratorExp)]
    reads = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            reads.setdefault(node.id, set()).add(node)
    for index in {target.id for loop in loops for target in _targets(loop)}:
        inside = set()
        for loop in loops:
            if index in [target.id for target in _targets(loop)]:
                inside |= {node for part in _run(loop) for node in ast.walk(part)}
        if not reads.get(index, set()) <= inside:
            return False
    return True


def _targets(loop):
    return [loop.target] if isinstance(loop, ast.For) else [one.target for one in loop.generators]


def _run(loop):
    return loop.body if isinstance(loop, ast.For) else [loop.elt]


def _same(a, b):
    return len(a) == len(b) and all(
        x.shape == y.shape and np.allclose(x, y, rtol=1e-9, atol=1e-11, equal_nan=True)
        for x, y in zip(a, b, strict=True)
    )


def rewritten(text, given, rng, steps=4):
    """Return a text that says the same, and the names of the steps that led to it.

    `given` are lists of arguments on which plain Python must have one result.
    """
    expected = [plain(text, *arguments) for arguments in given]
    done = []
    text = ast.unparse(ast.parse(text.strip())) + "\n"
    for _ in range(8 * steps):
        if len(done) == steps:
            break
        name = rng.choice(list(STEPS))
        tree = STEPS[name](ast.parse(text), rng)
        new = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        if new == text or not _is_scoped(ast.parse(new)):
            continue
        try:
            same = all(
                _same(plain(new, *arguments, range=_strict_range), e)
                for arguments, e in zip(given, expected, strict=True)
            )
        except (IndexError, NameError, ZeroDivisionError):
            continue
        if same:
            text = new
            done.append(name)
    return text, done


def rewrites(text, given, seed):
    """Endless rewrites of a text, of one to five steps each."""
    rng = random.Random(seed)
    while True:
        yield rewritten(text, given, rng, rng.randint(1, 5))
