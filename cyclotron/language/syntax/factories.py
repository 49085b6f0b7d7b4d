"""Functions made of syntax trees, with the globals and free variables of the function that a tree is from."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

from cyclotron.language.syntax.trees import completed, copied, walk


def strip_signature(node: ast.FunctionDef, body: list[ast.stmt]) -> ast.FunctionDef:
    """A function with another body, and without decorators, defaults and annotations."""
    arguments = copied(node.args)
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
    for argument in walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    new = copy.copy(node)  # keeps fields that only newer Pythons have
    new.args, new.body, new.decorator_list, new.returns = arguments, body, [], None
    return completed(new)


def factory_of(node: ast.FunctionDef, file: str, parameters: Sequence[str], owner: str = "") -> CodeType:
    """Compile ``def factory(*parameters)``, which returns the function of a complete tree.

    It stands in a class there, whose names are not seen inside: its own name is the kernel's. Private names
    of a method, ``self.__w``, are those of its class, the `owner`.
    """
    factory = ast.parse("def factory(): return None").body[0]
    assert isinstance(factory, ast.FunctionDef)
    factory.args.args = [ast.arg(arg=name) for name in parameters]
    # Python writes the name of the class, less the underscores before it, into private names.
    scope = ast.parse(f"class {'_' * 5}{owner.lstrip('_')}: pass").body[0]
    assert isinstance(scope, ast.ClassDef)
    own = ast.Attribute(ast.Name(scope.name, ast.Load()), node.name, ast.Load())
    factory.body = [scope, ast.Return(value=own)]
    module = completed(ast.Module(body=[factory], type_ignores=[]))
    scope.body = [node]  # complete already
    return compile(module, file, "exec")


def instantiate(factory: CodeType, function: FunctionType, *values: Any) -> Callable[..., Any]:
    """Call a compiled factory in the globals of a function."""
    local: dict[str, Any] = {}
    exec(factory, function.__globals__, local)
    result: Callable[..., Any] = local["factory"](*values)
    return result
