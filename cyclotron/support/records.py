"""Records: dataclasses as dicts, TOML files and records of the C++ core, by the types and units of fields."""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from cyclotron import _core
from cyclotron.support.arguments import file_bytes
from cyclotron.support.errors import CyclotronError, Span

Record = TypeVar("Record")


def field(
    *,
    unit: str = "",
    key: Callable[[str], Any] | None = None,
    to_core: Callable[[Any], Any] | None = None,
    from_core: Callable[[Any], Any] | None = None,
    required: tuple[str, str] | None = None,
    **options: Any,
) -> Any:
    """Return a dataclass field that is read and written as follows.

    Parameters
    ----------
    unit : str, optional
        Of its number; the core has it in the field's name: ``latency_cycles``.
    key : callable, optional
        Reads the keys of a table in a file.
    to_core, from_core : callable, optional
        Convert its value, where the core has it in another form.
    required : tuple of str, optional
        Where a file has to have it: what lacks it, and what to give.
    **options
        As of `dataclasses.field`.
    """
    metadata = {"unit": unit, "key": key, "to_core": to_core, "from_core": from_core, "required": required}
    return dataclasses.field(metadata=metadata, **options)


def to_core(record: Any) -> Any:
    """Return the record of the C++ core that has the name of this one's class."""
    return getattr(_core, type(record).__name__)(**core_fields(record))


def core_fields(record: Any) -> dict[str, Any]:
    """Return the fields of a record as the core has them: names with units, records as the core's.

    Those whose metadata say that they are not ``in_core`` are left out.
    """

    def value(item: Any) -> Any:
        if dataclasses.is_dataclass(item):
            return to_core(item)
        if isinstance(item, Mapping):
            return {key: value(entry) for key, entry in item.items()}
        return [value(entry) for entry in item] if isinstance(item, tuple) else item

    return {
        _core_name(one): (one.metadata.get("to_core") or value)(getattr(record, one.name))
        for one in dataclasses.fields(record)
        if one.metadata.get("in_core", True)
    }


def fields_of_core(kind: type, record: Any) -> dict[str, Any]:
    """Return the fields of a class from a record of the core; those that it does not have are left out."""
    hints = _hints(kind)

    def value(item: Any, inner: type | None) -> Any:
        if inner is not None and type(item).__module__ == _core.__name__:
            return inner(**fields_of_core(inner, item))
        if isinstance(item, dict):
            return {key: value(entry, inner) for key, entry in item.items()}
        return tuple(value(entry, inner) for entry in item) if isinstance(item, list) else item

    result: dict[str, Any] = {}
    for one in dataclasses.fields(kind):
        if hasattr(record, _core_name(one)):
            item = getattr(record, _core_name(one))
            convert = one.metadata.get("from_core")
            result[one.name] = convert(item) if convert else value(item, _record_in(hints[one.name]))
    return result


def from_data(kind: type[Record], data: Mapping[str, Any], **given: Any) -> Record:
    """Return the record of a class from the core's plain data, with an entry for each field not given."""
    hints = _hints(kind)  # type: ignore[arg-type]

    def value(name: str) -> Any:
        item = data[name]
        return Span(*item) if hints[name] is Span else tuple(item) if isinstance(item, list) else item

    return kind(**{name: value(name) for name in hints if name not in given}, **given)


def to_dict(value: Any) -> Any:
    """Return a record as dicts, lists and numbers: None is left out, tables of records come last, if any."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hints = _hints(type(value))
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        tables = [name for name in fields if _is_table(hints[name])]
        ordered = [
            *(name for name in fields if name not in tables),
            *(name for name in tables if fields[name]),
        ]
        return {name: to_dict(fields[name]) for name in ordered if fields[name] is not None}
    if isinstance(value, Mapping):
        return {_key_text(key): to_dict(entry) for key, entry in value.items()}
    return [to_dict(entry) for entry in value] if isinstance(value, tuple) else value


class Reader:
    """Reads what `to_dict` returns, as a file may have it.

    Parameters
    ----------
    error : type
        Of an entry that is unknown or of the wrong type.
    code : str
        Of that error.
    """

    def __init__(self, error: type[CyclotronError], code: str) -> None:
        self.error = error
        self.code = code

    def wrong_type(self, what: str, value: object, wanted: str) -> CyclotronError:
        """Return the error of a value of another type."""
        return self.error(
            f"{what} is {value!r}, of type {type(value).__name__}", code=self.code, help=f"give {wanted}"
        )

    def mapping(self, what: str, data: object, wanted: str = "a table of its fields") -> Mapping[str, Any]:
        """Return data if it is a mapping."""
        if not isinstance(data, Mapping):
            raise self.wrong_type(what, data, wanted)
        return data

    def record(self, kind: type[Record], data: object, what: str, path: str | None = None) -> Record:
        """Return the record of a class that a mapping describes.

        Parameters
        ----------
        kind : type
            The class.
        data : object
            A mapping, which may leave out what has a default.
        what : str
            The record's name in errors.
        path : str, optional
            What the names of its fields begin with there; by default the record's.
        """
        table = self.mapping(what, data)
        fields = {one.name: one for one in dataclasses.fields(kind)}  # type: ignore[arg-type]
        for key in table:
            if key not in fields:
                import difflib

                longer = [name for name in fields if name.startswith(f"{key}_")]
                close = longer or difflib.get_close_matches(str(key), fields, 1)
                unit = ", with its unit" if longer else ""
                hint = f"did you mean `{close[0]}`{unit}? " if close else ""
                raise self.error(
                    f"`{what}` has no field `{key}`",
                    code=self.code,
                    help=f"{hint}it has: {', '.join(fields)}",
                )
        for name, one in fields.items():
            if name not in table and one.metadata.get("required"):
                owner, wanted = one.metadata["required"]
                raise self.wrong_type(owner, data, wanted)
        prefix = f"{what}." if path is None else path
        return kind(
            **{key: self._value(kind, fields[key], entry, prefix + key) for key, entry in table.items()}
        )

    def _value(self, kind: type, field: dataclasses.Field[Any], value: Any, path: str) -> Any:
        hint = _hints(kind)[field.name]
        inner = _record_in(hint)
        if inner is None:
            return value
        if _is_table(hint):
            entries = self.mapping(path, value).items()
            read_key = field.metadata.get("key") or (lambda key: key)
            return {read_key(key): self.record(inner, entry, f"{path}.{key}") for key, entry in entries}
        if {inner} == {*(get_args(hint) or (hint,))} - {type(None)}:
            return self.record(inner, value, path)
        if isinstance(value, list):
            return [self.record(inner, one, path) if isinstance(one, Mapping) else one for one in value]
        return value


def to_toml(data: Mapping[str, Any], *, depth: int = sys.maxsize) -> str:
    """Return the text of a TOML file; tables more than `depth` deep are written inline."""
    return "\n".join(_toml_table("", data, depth)).lstrip() + "\n"


def load_toml(path: str | Path, reader: Reader, *, kind: str, help: str | None = None) -> dict[str, Any]:
    """Return the entries of a TOML file.

    Parameters
    ----------
    path : str or Path
    reader : Reader
        Whose error is raised where the file cannot be read or is not TOML.
    kind : str
        The class that writes such files.
    help : str, optional
        Of the error where it is not TOML.
    """
    if sys.version_info >= (3, 11):  # few read files, and importing takes a while
        import tomllib
    else:
        import tomli as tomllib

    text = file_bytes(
        path, error=reader.error, code=reader.code, help=f"give the path of a file that {kind}.save wrote"
    )
    try:
        document: dict[str, Any] = tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise reader.error(f"`{path}` is not TOML: {error}", code=reader.code, help=help) from None
    return document


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _record_in(hint: Any) -> type | None:
    """Return the class of the records that a type has in it."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint
    return next(filter(None, map(_record_in, get_args(hint))), None)


def _is_table(hint: Any) -> bool:
    """Return whether a type is of mappings to records."""
    return get_origin(hint) is Mapping and _record_in(hint) is not None


def _core_name(field: dataclasses.Field[Any]) -> str:
    unit = field.metadata.get("unit")
    return f"{field.name}_{unit}" if unit else field.name


def _key_text(key: object) -> str:
    return ",".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _toml_table(name: str, table: Mapping[str, Any], depth: int) -> list[str]:
    """Return the lines of a table, then those of the tables in it; empty ones are left out."""
    inner = {key: value for key, value in table.items() if depth and isinstance(value, Mapping)}
    lines = [f"{_toml_key(key)} = {_toml(value)}" for key, value in table.items() if key not in inner]
    if name and lines:
        lines = ["", f"[{name}]", *lines]
    for key, value in inner.items():
        lines += _toml_table(f"{name}.{_toml_key(key)}" if name else _toml_key(key), value, depth - 1)
    return lines


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_toml_key(key)} = {_toml(entry)}' for key, entry in value.items())}}}"
    return _toml_string(value) if isinstance(value, str) else str(value)


def _toml_key(name: str) -> str:
    if name.isidentifier() and name.isascii():
        return name
    return _toml_string(name)


def _toml_string(text: str) -> str:
    # JSON's strings are TOML's, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
