"""From a kernel's syntax tree to the intermediate language: the expressions."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, ModuleType

import numpy as np

from cyclotron.language.functions.elementwise import where
from cyclotron.language.syntax.items import Items, is_container, items_of, strictness
from cyclotron.language.syntax.names import Names
from cyclotron.language.syntax.purity import impure_error, is_impure
from cyclotron.language.syntax.source import MISSING, Source, lookup
from cyclotron.language.syntax.trees import Replaced, call, copied, function_of, located, name, walk, words
from cyclotron.language.values.blocked import Blocked
from cyclotron.language.values.host_functions import is_of_user, reads_arrays

_REDUCTIONS: Mapping[object, str] = {
    **{getattr(builtins, name): name for name in ("sum", "max", "min", "any", "all")},
    math.prod: "prod",
}
_JOINS: Mapping[object, str] = {np.r_: "r_", np.c_: "c_"}
_CONVERSIONS: Mapping[object, str] = {np.array: "array", np.asarray: "asarray"}
_COMPUTED = (ast.BinOp, ast.UnaryOp, ast.Call, ast.IfExp)
_OBSERVERS = (str, repr, ascii, format, type)
"""Functions that tell of a value more than a number has: its text, its class."""
_CHANGES_OF_HOST = ("pop", "popitem", "popleft", "setdefault")
"""Methods of Python's containers that change them and give a value."""
_EXTREMA: Mapping[object, str] = {builtins.max: "maximum", builtins.min: "minimum"}
_SAME_NAMES = ("sqrt", "exp", "log", "sin", "cos", "sinh", "cosh", "tanh", "log1p", "expm1", "hypot")
_FUNCTIONS: Mapping[object, str] = {
    **{getattr(math, name): name for name in _SAME_NAMES},
    math.fabs: "absolute",
    math.pow: "power",
    math.atan2: "arctan2",
    math.isnan: "is_nan",
    math.isfinite: "is_finite",
}
_OF_ARRAYS = frozenset({"shape", "ndim", "size", "dtype", "T", "real", "imag", "flat"})
_CHOICES: Mapping[object, str] = {where: "where", np.where: "where"}
_OF_TWO = ("power", "hypot", "arctan2")


class Expressions(ast.NodeTransformer):
    """Rewrites expressions; `rewrite` leaves the original untouched."""

    def __init__(
        self,
        source: Source,
        il: str,
        names: Names,
        indices: list[str],
        unused: Callable[[str], str],
        has_items: Callable[[ast.expr], bool],
    ) -> None:
        self._source = source
        self._il = il
        self._names = names
        self._indices = indices
        self._unused = unused
        self._has_items = has_items

    def rewrite(self, node: ast.expr) -> ast.expr:
        """Return an expression in the intermediate language, with the positions of the original."""
        result: ast.expr = self.visit(copied(node))
        return located(result, node)

    def test(self, node: ast.expr) -> ast.expr:
        """As `rewrite` a test that may be of data: with `and`, `or` and `not` of what has no truth yet."""
        if isinstance(node, ast.BoolOp):
            joined = "every" if isinstance(node.op, ast.And) else "some"
            return self._call(node, joined, [function_of([], self.test(value)) for value in node.values])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._call(node, "no", [self.test(node.operand)])
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            values = [node.left, *node.comparators]
            pairs = [
                ast.copy_location(ast.Compare(left=left, ops=[op], comparators=[right]), node)
                for left, op, right in zip(values, node.ops, node.comparators, strict=False)
            ]
            return self._call(node, "every", [function_of([], self.test(pair)) for pair in pairs])
        return self.rewrite(node)

    def _test_perhaps_of_data(self, node: ast.expr) -> ast.expr:
        """A test in an expression; those of indices alone keep their form."""
        return self.visit(copied(node)) if self._is_of_indices(node) else self.test(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            self._names.load(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr == "__class__":
            node.value = self._known(node.value)
            return node
        if not isinstance(node.ctx, ast.Load) or not outside_attribute(self._source, node):
            return self._generic(node)
        return self._captured(self._generic(node), node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """An entry of a container of the host may be an array of the host."""
        at_index, base = self._names.is_symbolic(node.slice), node.value
        joins = lookup(_JOINS, self._source.meaning(base))
        result = self._generic(node)
        assert isinstance(result, ast.Subscript)
        if joins:
            result.value = located(ast.Attribute(name(self._il), joins, ast.Load()), base)
        key = _key(node.slice)
        if isinstance(node.ctx, ast.Load) and key is not None:
            return self._captured(result, key)
        stores = not isinstance(node.ctx, ast.Load)
        if (at_index and isinstance(base, ast.Call)) or ((at_index or stores) and self._is_item(base)):
            result.value = self._captured(result.value, "constant")
        return result

    def _is_item(self, node: ast.expr) -> bool:
        """Return whether a value is an item of a list at a place that no index of a loop tells."""
        if not isinstance(node, ast.Subscript) or _key(node.slice) is not None:
            return False
        return not self._names.is_symbolic(node.slice)

    def _captured(self, value: ast.expr, named: str) -> ast.expr:
        return self._call(value, "captured", [value], words(name=named))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = self.visit(node.test) if self._is_of_indices(node.test) else self.test(node.test)
        branches = [function_of([], self.visit(branch)) for branch in (node.body, node.orelse)]
        return self._call(node, "choose", [test, *branches])

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) == 1:
            if not isinstance(node.ops[0], (ast.In, ast.NotIn)):
                return self._generic(node)
            held = self._call(node, "one_of", [self.visit(node.left), self.visit(node.comparators[0])])
            return held if isinstance(node.ops[0], ast.In) else self._call(node, "no", [held])
        if not self._is_of_indices(node):
            return self.test(node)
        values = [self.visit(value) for value in (node.left, *node.comparators)]
        pairs: list[ast.expr] = []
        for position, operator in enumerate(node.ops):
            left, right = copied(values[position]), values[position + 1]
            pair = ast.Compare(left=left, ops=[operator], comparators=[right])
            pairs.append(ast.copy_location(pair, node))
        return self._call(node, "all_of", pairs)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        is_and = isinstance(node.op, ast.And)
        if self._is_of_indices(node):
            values = [self.visit(value) for value in node.values]
            return self._call(node, "all_of" if is_and else "any_of", values)
        values = [function_of([], self.visit(value)) for value in node.values]
        return self._call(node, "and_" if is_and else "or_", values)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if not isinstance(node.op, ast.Not):
            return self._generic(node)
        return self._call(node, "not_" if self._is_of_indices(node) else "no", [self.visit(node.operand)])

    def _is_of_indices(self, node: ast.expr) -> bool:
        """Return whether an expression is symbolic, and has nothing in it that may be data."""
        parts = any(isinstance(part, (ast.Subscript, ast.Call)) for part in walk(node))
        return not parts and self._names.is_symbolic(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = self._source.meaning(node.func)
        if is_impure(self._source, node.func, in_loop=bool(self._indices)):
            raise impure_error(self._source, node, "a kernel is recorded once")
        reduction, extremum, known = (
            lookup(table, function) for table in (_REDUCTIONS, _EXTREMA, _FUNCTIONS)
        )
        if reduction and node.args and isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp)):
            return self._reduction_call(node, reduction, node.args[0])
        plain = not node.keywords and not any(isinstance(argument, ast.Starred) for argument in node.args)
        if plain and node.args and any(function is one for one in _OBSERVERS):
            node.args[0] = self._known(node.args[0])
            return node
        if isinstance(node.func, ast.Attribute) and _is_text(node.func.value):
            node.args = list(map(self._known, node.args))
            for keyword in node.keywords:
                keyword.value = self._known(keyword.value)
            return node
        if function is builtins.next and node.args:
            node.args[0] = self._call(node, "host_items", [node.args[0]])
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES_OF_HOST:
            node.func.value = self._call(node, "host_items", [node.func.value])
        if hasattr(function, "call_within"):  # a kernel, which may change what names of this one hold
            node.args = list(map(self._shared, node.args))
            for keyword in node.keywords:
                keyword.value = self._shared(keyword.value)
        if plain and len(node.args) == 1 and isinstance(function, type) and _converts(function):
            return self._call(node, "converted", [node.func, self.visit(node.args[0])])
        if plain and len(node.args) == 1 and function is np.isscalar:
            return self._call(node, "is_scalar", [self.visit(node.args[0])])
        if plain and len(node.args) == 2 and function is isinstance:
            return self._call(node, "is_instance", [self.visit(argument) for argument in node.args])
        if plain and len(node.args) == 3 and lookup(_CHOICES, function) and self._is_of_indices(node.args[0]):
            return self._selection(node)
        if conversion := lookup(_CONVERSIONS, function):
            arguments = [ast.Constant(conversion), *map(self.visit, node.args)]
            named = [ast.keyword(one.arg, self.visit(one.value)) for one in node.keywords]
            return self._call(node, "converted_by_numpy", arguments, named)
        if not node.keywords:
            if extremum and len(node.args) > 1:
                return self._call(node, extremum, [self.visit(argument) for argument in node.args])
            if known and len(node.args) == (2 if known in _OF_TWO else 1):
                return self._call(node, known, [self.visit(argument) for argument in node.args])
        if isinstance(node.func, ast.Attribute):  # a method is no value
            owner, node.func = node.func, ast.Constant(None)
            owner.value = self.visit(owner.value)
            if owner.attr == "astype":
                owner.value = self._call(owner, "of_numpy", [owner.value])
            result = self._generic(node)
            assert isinstance(result, ast.Call)
            of_user = isinstance(function, FunctionType) and reads_arrays(function)  # of a module
            result.func = self._captured(owner, owner.attr) if of_user else owner
            if is_of_user(function) or self._is_object(owner):
                result.func = self._call(owner, "steady", [result.func])
            return result
        result = self._generic(node)
        if isinstance(result, ast.Call) and isinstance(result.func, ast.Lambda):
            result.args[:] = map(self._argument, result.args)
        if isinstance(result, ast.Call) and is_of_user(function):
            result.func = self._call(node.func, "steady", [result.func])
        return result

    def _argument(self, node: ast.expr) -> ast.expr:
        """An argument of a function of the text; an array is computed once, however often it is read."""
        return self._call(node, "array", [node], words(name="")) if isinstance(node, _COMPUTED) else node

    def _is_object(self, method: ast.Attribute) -> bool:
        """Return whether a method is that of an object of the user's around the kernel."""
        owner = self._source.meaning(method.value)
        if owner is MISSING or isinstance(owner, (ModuleType, np.ndarray, type)):
            return False
        return is_of_user(getattr(type(owner), method.attr, None))

    def _shared(self, node: ast.expr) -> ast.expr:
        return self._call(node, "shared", [node]) if isinstance(node, (ast.Name, ast.Subscript)) else node

    def _selection(self, node: ast.Call) -> ast.expr:
        """`cy.where` by a condition on indices: both values may need it, as a power that is negative else."""
        test, *branches = map(self.visit, node.args)
        return self._call(node, "select", [node.func, test, *(function_of([], one) for one in branches)])

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        node.value = self._known(node.value)
        if node.format_spec is not None:
            node.format_spec = self.visit(node.format_spec)
        return node

    def visit_Set(self, node: ast.Set) -> ast.expr:
        node.elts = list(map(self._known, node.elts))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if not (isinstance(node.op, ast.Mod) and _is_text(node.left)):
            return self._generic(node)
        node.right = self._known(node.right)
        return node

    def _known(self, node: ast.expr) -> ast.expr:
        """`il.known(x)`, where Python makes a text or a member of a set of it."""
        if isinstance(node, ast.Starred):
            node.value = self.visit(node.value)
            return node
        if isinstance(node, ast.Tuple):
            return ast.copy_location(ast.Tuple(elts=list(map(self._known, node.elts)), ctx=node.ctx), node)
        return self._call(node, "known", [self.visit(node)])

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        parameters = [argument.arg for argument in walk(node.args) if isinstance(argument, ast.arg)]
        with self._bound(parameters, symbolic=False):
            return self._generic(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        raise self._source.error(
            node,
            "CYC101",
            "`:=` is not supported in a kernel",
            "assign the variable in a statement of its own",
        )

    def visit_Await(self, node: ast.expr) -> ast.expr:
        raise self._source.error(
            node,
            "CYC101",
            f"`{self._source.text_of(node)}` is no recurrence",
            "return the results at the end",
        )

    visit_Yield = visit_YieldFrom = visit_Await  # noqa: N815

    def reduction(
        self, node: ast.AST, kind: str, body: ast.expr, clauses: Sequence[ast.comprehension]
    ) -> ast.expr:
        """Return `il.sum("k", start, stop, lambda k: body, where=lambda k: condition)`, nested per clause."""
        taken = self._of_arrays(clauses[0])
        if taken is not None:
            body, clauses = self._over_arrays(taken, body, clauses)
        comprehension, *rest = clauses
        index, bounds = self._clause(node, kind, comprehension)
        start, stop, *step = [ast.Constant(0), *bounds] if len(bounds) == 1 else bounds
        keywords = [ast.keyword(arg="step", value=value) for value in step]
        self._indices.append(index)
        with self._bound([index], symbolic=True):
            if rest:
                term = self.reduction(node, kind, body, rest)
            else:
                term = self.visit(copied(body))
            test = self._filter(comprehension.ifs)
        self._indices.pop()
        if test is not None:
            keywords.insert(0, ast.keyword(arg="where", value=function_of([index], test)))
        if rest and kind in ("max", "min"):
            keywords.append(ast.keyword(arg="skip_empty", value=ast.Constant(True)))
        return self._call(
            node, kind, [ast.Constant(index), start, stop, function_of([index], term)], keywords
        )

    def _of_arrays(self, clause: ast.comprehension) -> list[Items] | None:
        """The items that a clause takes of arrays: `for a, b in zip(x, y)`; None of others."""
        of_items = any(isinstance(part, ast.Name) and part.id == self._il for part in walk(clause.iter))
        if self._is_range(clause) or not (of_items or self._has_items(clause.iter)):
            return None
        return items_of(self._source, clause.target, clause.iter)

    def _over_arrays(
        self, taken: Sequence[Items], body: ast.expr, clauses: Sequence[ast.comprehension]
    ) -> tuple[ast.expr, list[ast.comprehension]]:
        """`x[v_at] ... for v_at in range(il.rows(x))` of `v ... for v in x`."""
        index = self._unused(f"{taken[0].target.id}_at")
        arrays = [copied(one.values) if one.values is not None else None for one in taken]
        arrays = [
            self._call(one.target, "items", [array]) if array is not None and one.first is None else array
            for one, array in zip(taken, arrays, strict=True)
        ]
        items = {one.target.id: one.at(index, array) for one, array in zip(taken, arrays, strict=True)}
        lengths = [copied(array) for array in arrays if array is not None]
        rows = self._call(taken[0].target, "rows", lengths, strictness(clauses[0].iter))
        counted = located(ast.Call(func=name("range"), args=[rows], keywords=[]), taken[0].target)
        put = Replaced(items)
        first = ast.comprehension(
            target=located(name(index, store=True), taken[0].target),
            iter=counted,
            ifs=[put.visit(copied(test)) for test in clauses[0].ifs],
            is_async=0,
        )
        return put.visit(copied(body)), [first, *(put.visit(copied(one)) for one in clauses[1:])]

    def _filter(self, tests: Sequence[ast.expr]) -> ast.expr | None:
        """All tests of a comprehension in one."""
        if len(tests) < 2:
            return self._test_perhaps_of_data(tests[0]) if tests else None
        if any(isinstance(part, (ast.Subscript, ast.Call)) for test in tests for part in walk(test)):
            return self.test(ast.copy_location(ast.BoolOp(op=ast.And(), values=list(tests)), tests[0]))
        return call(self._il, "all_of", [self.visit(copied(test)) for test in tests])

    def _clause(
        self, node: ast.AST, kind: str, comprehension: ast.comprehension
    ) -> tuple[str, list[ast.expr]]:
        """The index and the bounds of `for k in range(...)`."""
        iterated = comprehension.iter
        index = comprehension.target
        is_range = self._is_range(comprehension)
        if not isinstance(iterated, ast.Call) or not is_range or not isinstance(index, ast.Name):
            raise self._source.error(
                iterated,
                "CYC112",
                f"the reduction runs over `{self._source.text_of(iterated)}`, not over a range",
                f"write `{kind}(... for k in range(...))` with affine bounds",
            )
        return index.id, [self.visit(copied(bound)) for bound in iterated.args]

    def _is_range(self, clause: ast.comprehension) -> bool:
        return isinstance(clause.iter, ast.Call) and self._source.meaning(clause.iter.func) is builtins.range

    def _reduction_call(
        self, node: ast.Call, kind: str, generator: ast.GeneratorExp | ast.ListComp
    ) -> ast.expr:
        recorded = any(self._is_range(one) or self._of_arrays(one) for one in generator.generators)
        if not recorded and not self._over_indices(generator.generators):
            if kind in ("max", "min") and len(node.args) == 1 and not node.keywords:
                values = ast.ListComp(elt=generator.elt, generators=generator.generators)
                terms = ast.Starred(self.visit(ast.copy_location(values, generator)), ast.Load())
                return self._call(node, f"{kind}imum", [terms])
            return self._generic(node)  # over host values
        starts = [*node.args[1:], *(word.value for word in node.keywords if word.arg == "start")]
        others = [word for word in node.keywords if word.arg != "start"]
        if others or len(starts) > (kind in ("sum", "prod")):
            raise self._source.error(
                others[0].value if others else starts[0],
                "CYC112",
                f"`{kind}` of a reduction takes no further arguments",
                "combine the reduction with the value by an operator",
            )
        result = self.reduction(node, kind, generator.elt, generator.generators)
        if not starts:
            return result
        both = [self.visit(starts[0]), result]
        if kind == "sum":
            return self._call(node, "added", both, words(name="sum", renews=True))
        return self._call(node, "multiplied", both)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> ast.expr:
        if self._over_indices(node.generators):
            raise self._source.error(
                node,
                "CYC112",
                "a comprehension in a loop is no reduction",
                "write `sum(...)`, `max(...)` or another reduction over `for k in range(...)`",
            )
        parts = [part for one in node.generators for part in walk(one.target)]
        with self._bound([part.id for part in parts if isinstance(part, ast.Name)], symbolic=False):
            return self._generic(node)

    visit_GeneratorExp = visit_ListComp = visit_SetComp = visit_DictComp = _comprehension  # noqa: N815

    def _over_indices(self, clauses: Sequence[ast.comprehension]) -> bool:
        """Return whether the iterations of clauses may depend on the indices of loops around them."""
        values = [clause.iter for clause in clauses if self._names.is_symbolic(clause.iter)]
        return bool(self._indices) and not all(is_container(self._source, one) for one in values)

    def _generic(self, node: ast.expr) -> ast.expr:
        result: ast.expr = self.generic_visit(node)  # type: ignore[assignment]
        return result

    def _call(
        self, node: ast.AST, function: str, arguments: list[ast.expr], keywords: Sequence[ast.keyword] = ()
    ) -> ast.expr:
        return located(call(self._il, function, arguments, keywords), node)

    @contextmanager
    def _bound(self, parameters: Sequence[str], *, symbolic: bool) -> Iterator[None]:
        """Names that an inner scope binds, with no effect outside it."""
        outer = self._names
        self._names = outer.copy()
        for parameter in parameters:
            self._names.store(parameter, symbolic)
        try:
            yield
        finally:
            self._names = outer


def outside_attribute(source: Source, node: ast.Attribute) -> bool:
    """Return whether an attribute is of an object of the host, a method's own or one around the kernel."""
    root: ast.expr = node
    while isinstance(root, ast.Attribute) or (
        isinstance(root, ast.Subscript) and _key(root.slice) is not None
    ):
        root = root.value
    if not isinstance(root, ast.Name) or (node.attr in _OF_ARRAYS and root is not node.value):
        return False
    if root.id == source.owner_name:
        return True
    around, found = source.meaning(root), source.meaning(node)
    if isinstance(around, (ModuleType, type)):
        return isinstance(found, (np.ndarray, Blocked))
    return around is not MISSING and not isinstance(around, np.ndarray)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _key(node: ast.expr) -> str | None:
    """The text of a subscript of a mapping."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _converts(function: type) -> bool:
    """Return whether a type makes numbers of others: Python's and NumPy's do."""
    return function in (float, int, bool, complex) or issubclass(function, (np.number, np.bool_))
