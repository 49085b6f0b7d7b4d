"""State of the rewriting of a kernel's text: its open loops and branches, and its names."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from cyclotron.language.syntax.array_names import ArrayNames
from cyclotron.language.syntax.expressions import Expressions
from cyclotron.language.syntax.names import Names
from cyclotron.language.syntax.source import Source
from cyclotron.language.syntax.trees import located, walk

_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_CONTAINERS = (list, dict, set, bytearray, deque, defaultdict)


@dataclass(frozen=True)
class EarlyExit:
    """The early exit of an open loop.

    Attributes
    ----------
    flag : str
        The name of its flag in the intermediate language.
    carried : dict of str to str
        For each name that it assigns anew the one of the array that keeps it.
    numbers : collection of str
        Those of them that hold numbers before the loop, or may.
    in_place : collection of str
        Those of them that the loop changes in place where they turn out to be arrays.
    later : dict of str to str
        For each name that only the loop assigns and that is read after it, the one of its last value.
    assigned : dict of str to (int, int)
        For each of these the position in the text from which on an iteration has assigned it.
    unrolled : int or None
        Of a loop that Python runs while tracing, under how many conditions on indices it stands.
    loop : ast.For or None
        That loop.
    """

    flag: str
    carried: dict[str, str]
    numbers: Collection[str] = ()
    in_place: Collection[str] = ()
    later: Mapping[str, str] = field(default_factory=dict)
    assigned: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    unrolled: int | None = None
    loop: ast.For | None = None


@dataclass
class RewriteState:
    """State of a rewriting, which statements change in the order of the text.

    Attributes
    ----------
    source : Source
        The kernel.
    max_steps : int
        The most iterations of a `while`.
    statement : callable
        Rewrites one statement, of any kind.
    numbers : frozenset of str
        Parameters that hold numbers, where the text may add arrays to them.
    names : Names
        Which names hold symbolic values here, and which must not be read.
    arrays : ArrayNames
        Which names may hold arrays here.
    indices : list of str
        Those of the open loops.
    exits : list of EarlyExit
        Those of the open loops, also of loops that Python runs while tracing.
    guards : set of str
        Names that no text has, which say whether iterations go on.
    items : set of str
        Names that loops over arrays give what these hold: numbers, or arrays of less axes.
    of_host : set of str
        Names that `with cy.host()` assigns in a loop.
    branches : int
        How many conditions on indices are open.
    recorded : int
        How many conditions that may be of data are open.
    containers : set of str
        Names that may hold lists, dicts and sets of Python's.
    loop_names : list of set of str
        For each open loop the names that its body assigns.
    types : dict of str to ast.expr
        Types of names as declared, `total: float = ...`.
    form : {"single", "tuple", "dict"} or None
        How the results are returned; None before the first `return`.
    results : tuple of str
        The names of the last `return`.
    il : str
        The name under which the module `il` is used.
    """

    source: Source
    max_steps: int
    statement: Callable[[RewriteState, ast.stmt], list[ast.stmt]]
    numbers: frozenset[str] = frozenset()
    names: Names = field(init=False)
    arrays: ArrayNames = field(init=False)
    indices: list[str] = field(default_factory=list)
    exits: list[EarlyExit] = field(default_factory=list)
    guards: set[str] = field(default_factory=set)
    items: set[str] = field(default_factory=set)
    of_host: set[str] = field(default_factory=set)
    branches: int = 0
    recorded: int = 0
    containers: set[str] = field(init=False)
    loop_names: list[set[str]] = field(default_factory=list)
    types: dict[str, ast.expr] = field(default_factory=dict)
    form: str | None = None
    results: tuple[str, ...] = ()
    il: str = field(init=False)
    _used: set[str] = field(init=False)

    def __post_init__(self) -> None:
        nodes = list(walk(self.source.node))
        self._used = {node.id for node in nodes if isinstance(node, ast.Name)}
        self._used |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        self.il = self.unused("il")
        self.names = Names(self.source)
        self.arrays = ArrayNames(self.source, self.numbers)
        self.containers = {
            target.id
            for node in nodes
            if isinstance(node, ast.Assign) and self._is_container(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def _is_container(self, value: ast.expr) -> bool:
        made = self.source.meaning(value.func) if isinstance(value, ast.Call) else None
        return isinstance(value, _DISPLAYS) or any(made is one for one in _CONTAINERS)

    def unused(self, base: str) -> str:
        """Return a name like this that the kernel does not use, which it does from now on."""
        names = itertools.chain([base], (f"{base}{k}" for k in itertools.count(2)))
        name = next(name for name in names if name not in self._used)
        self._used.add(name)
        return name

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Rewrite statements in order."""
        result = [located(new, old) for old in body for new in self.statement(self, old)]
        return result or [ast.copy_location(ast.Pass(), body[0])]

    def expressions(self) -> Expressions:
        """Return a rewriter of expressions that stand here."""
        return Expressions(self.source, self.il, self.names, self.indices, self.unused, self.has_items)

    def has_items(self, node: ast.expr) -> bool:
        """Return whether a loop over this may be one over arrays."""
        return self.arrays.may_be_array(node) or self.of_items(node)

    def of_items(self, node: ast.expr) -> bool:
        """Return whether an expression reads what loops over arrays take of them."""
        return any(isinstance(part, ast.Name) and part.id in self.items for part in walk(node))

    def rewrite(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression."""
        return self.expressions().rewrite(node)

    def test(self, node: ast.expr) -> ast.expr:
        """Rewrite a test that may be of data."""
        return self.expressions().test(node)

    def unrolled_loops(self) -> list[ast.stmt]:
        """Return the open loops that Python runs while tracing."""
        return [one.loop for one in self.exits if one.loop is not None]

    def in_python_loop(self) -> bool:
        """Return whether Python runs the innermost open loop while tracing."""
        return bool(self.exits) and self.exits[-1].unrolled is not None
