"""Names that only a loop assigns which may end early, read after it: what Python leaves in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cyclotron.language.trace.conditions import truth
from cyclotron.language.trace.early_exit import unassigned
from cyclotron.language.trace.loop_carried import NUMBERS, LastValue, changed_type, check_same
from cyclotron.language.trace.loop_parts import known_test
from cyclotron.language.trace.statement import Scope
from cyclotron.language.trace.trace import active_trace
from cyclotron.language.values import broadcasting
from cyclotron.language.values.array import SymbolicArray, operand
from cyclotron.language.values.nodes import Constant
from cyclotron.language.values.region import is_empty
from cyclotron.language.values.scalar_type import ScalarType
from cyclotron.language.values.source_span import here
from cyclotron.language.values.tensor import SymbolicTensor


class _LastOfEnding(LastValue):
    """The last value of a name in a loop that may end early, in a tensor that stands still after the end.

    Where the loop may end before it has assigned the name, a flag tells so, of which a run makes an error.
    """

    def __init__(self, name: str, is_certain: bool) -> None:
        super().__init__(name)
        self._is_certain = is_certain
        self._flag: SymbolicTensor | None = None  # whether it has been assigned

    def __getitem__(self, key: tuple[()]) -> Any:
        value = super().__getitem__(key)
        if self._flag is not None:
            unassigned(self.name, self._flag)
        return value

    def place(self, held: Any, loop: Scope) -> SymbolicTensor | None:
        """The place for the value that an iteration leaves, which is noted as assigned."""
        if all(map(is_empty, loop.region)) or not isinstance(held, (SymbolicArray, *NUMBERS)):
            return None
        trace, value = active_trace(), operand(held)
        if self.last is None:
            shape = broadcasting.whole_numbers(value.shape, f"`{self.name}`")
            trace.make_older(self.declared(value, shape, 0), loop)
            if not self._is_certain:
                flag = trace.declare(f"{self.name}_assigned", (), None, "bool", 0, anywhere=True)
                self._flag = trace.make_older(flag, loop)
        assert self.last is not None
        tensor: SymbolicTensor = self.last[0]
        number = self.last[1]
        check_same(self.name, tensor, value)
        found = ScalarType(value.type.dtype, value.type.weak)
        if number is not None and number != found:
            raise changed_type(self.name, number, found)
        if self._flag is not None:
            trace.assign(self._flag, (), Constant(True, here()))
        return tensor


def later(*, name: str, ends: bool = False, begins: Callable[[], object] = lambda: False) -> LastValue:
    """``t_kept = il.later(name="t")``: a place for what the last iteration of a loop leaves in a name.

    A loop that may end early (`ends`) assigns it in its first iteration, where `begins` is known to be true.
    """
    return _LastOfEnding(name, known_test(truth(begins())) is True) if ends else LastValue(name)
