"""Machines as plain data: dicts, TOML files, and what the C++ core takes."""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import machine_memories
from .errors import ShapeError
from .link_maps import LinkMap
from .machine_memories import Memory
from .machine_parts import PE, UNITS, Chiplets, Control, Link, Unit, wrong_type

if TYPE_CHECKING:
    from .machine import Machine

__all__ = ["from_core", "from_dict", "to_core", "to_dict", "to_toml"]

# The names of the core, which have units.
_LINK = {
    "latency": "latency_cycles",
    "response_latency": "response_latency_cycles",
    "words_per_cycle": "words_per_cycle",
    "depth": "depth",
}
_CONTROL = {"latency": "latency_cycles", "hop": "hop_cycles", "setup": "setup_cycles"}


def to_core(machine: Machine) -> dict[str, Any]:
    """See `Machine.to_core`."""
    pe = machine.pe
    return {
        "grid": list(machine.grid or ()),
        "topology": ["custom"] if machine.link_maps else list(machine.topologies),
        "link": _link_to_core(machine.link),
        "broadcast": _link_to_core(machine.broadcast),
        "pe": {
            "memory_bytes": pe.memory,
            "flops_per_cycle": pe.flops_per_cycle,
            "cycles": dict(pe.cycles),
            **{name: _plain(getattr(pe, name)) for name in UNITS},
            "registers": pe.registers,
            "banks": pe.banks,
            "channels": pe.channels,
        },
        "links": [(list(offset), _link_to_core(link)) for offset, link in machine.links.items()],
        "memories": {name: machine_memories.to_core(memory) for name, memory in machine.memories.items()},
        "clock_hz": machine.clock,
        "broadcasts": [(axis, _link_to_core(link)) for axis, link in machine.broadcasts.items()],
        "spread": machine.spread,
        "link_maps": [(one.map, one.link and _link_to_core(one.link)) for one in machine.link_maps],
        "chiplets": machine.chiplets
        and {"shape": list(machine.chiplets.shape), "link": _link_to_core(machine.chiplets.link)},
        "control": machine.control
        and {name: getattr(machine.control, field) for field, name in _CONTROL.items()},
    }


def from_core(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the machine that the C++ core reports, in the form of `to_core`."""
    pe = data["pe"]
    parts: dict[str, Any] = {name: Unit(**pe[name]) if pe[name] else None for name in UNITS}
    parts |= {name: pe[name] for name in ("registers", "banks", "channels")}
    return {
        # A program's grid may be a part of the one that link maps are for.
        "grid": None if data["link_maps"] else tuple(data["grid"]) or None,
        "topology": _topology_from_core(data),
        "link": _link_from_core(data["link"]),
        "broadcast": _link_from_core(data["broadcast"]),
        "pe": PE(pe["memory_bytes"], pe["flops_per_cycle"], dict(pe["cycles"]), **parts),
        "links": {tuple(offset): _link_from_core(link) for offset, link in data["links"]},
        "memories": {name: machine_memories.from_core(memory) for name, memory in data["memories"].items()},
        "clock": data["clock_hz"],
        "broadcasts": {axis: _link_from_core(link) for axis, link in data["broadcasts"]},
        "spread": data["spread"],
        "chiplets": data["chiplets"]
        and Chiplets(tuple(data["chiplets"]["shape"]), _link_from_core(data["chiplets"]["link"])),
        "control": data["control"]
        and Control(**{field: data["control"][name] for field, name in _CONTROL.items()}),
    }


def _topology_from_core(data: Mapping[str, Any]) -> Any:
    if data["link_maps"]:
        return tuple(LinkMap(text, link and _link_from_core(link)) for text, link in data["link_maps"])
    return data["topology"][0] if len(data["topology"]) == 1 else tuple(data["topology"])


def to_dict(machine: Machine) -> dict[str, Any]:
    """See `Machine.to_dict`."""
    result: dict[str, Any] = _plain(machine)
    links = {",".join(map(str, offset)): link for offset, link in result.pop("links").items()}
    memories = result.pop("memories")
    networks = {str(axis): link for axis, link in result.pop("broadcasts").items()}
    named = {"links": links, "memories": memories, "broadcasts": networks}
    return {**result, **{name: entries for name, entries in named.items() if entries}}


def from_dict(data: Mapping[str, Any], kind: type[Machine]) -> dict[str, Any]:
    """Return the fields of the machine that `to_dict` describes; see `Machine.from_dict`."""
    values = dict(_known("machine", data, kind))
    if isinstance(values.get("topology"), list):
        values["topology"] = [_link_map(one) for one in values["topology"]]
    for field in ("link", "broadcast"):
        if field in values:
            values[field] = Link(**_known(field, values[field], Link))
    if "broadcasts" in values:
        networks = _mapping("broadcasts", values["broadcasts"])
        values["broadcasts"] = {
            int(axis) if str(axis).isdecimal() else axis: Link(**_known(f"broadcasts.{axis}", link, Link))
            for axis, link in networks.items()
        }
    if "chiplets" in values:
        parts = dict(_known("chiplets", values["chiplets"], Chiplets))
        if "link" in parts:
            parts["link"] = Link(**_known("chiplets.link", parts["link"], Link))
        values["chiplets"] = Chiplets(**parts)
    if "control" in values:
        values["control"] = Control(**_known("control", values["control"], Control))
    if "pe" in values:
        parts = dict(_known("pe", values["pe"], PE))
        for name in UNITS:
            if name in parts:
                parts[name] = Unit(**_known(f"pe.{name}", parts[name], Unit))
        values["pe"] = PE(**parts)
    if "links" in values:
        links = _mapping("links", values["links"])
        values["links"] = {
            _offset(key): Link(**_known(f"links.{key}", link, Link)) for key, link in links.items()
        }
    if "memories" in values:
        values["memories"] = {
            name: Memory(**_known(f"memories.{name}", memory, Memory))
            for name, memory in _mapping("memories", values["memories"]).items()
        }
    return values


def _link_map(entry: Any) -> Any:
    """A name of a topology, or the table of a link map."""
    if not isinstance(entry, Mapping):
        return entry
    fields = dict(_known("topology", entry, LinkMap))
    if "map" not in fields:
        raise wrong_type(
            "a link map in `topology`", entry, 'its map, for example {map = "(i) -> ((i + 1) % 8)"}'
        )
    if "link" in fields:
        fields["link"] = Link(**_known("topology.link", fields["link"], Link))
    return LinkMap(**fields)


def to_toml(machine: Machine) -> str:
    """Return the text of a TOML file with the entries of `to_dict`."""
    return "\n".join(_toml_table("", to_dict(machine))).lstrip() + "\n"


def _link_to_core(link: Link) -> dict[str, int]:
    return {name: getattr(link, field) for field, name in _LINK.items()}


def _link_from_core(data: Mapping[str, int]) -> Link:
    return Link(**{field: data[name] for field, name in _LINK.items()})


def _plain(value: Any) -> Any:
    """Return a value as dicts, lists and numbers; fields that are None are left out."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {name: _plain(field) for name, field in fields.items() if field is not None}
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


def _toml_table(name: str, table: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table, then those of the tables in it; empty ones are left out."""
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = [f"{_toml_key(key)} = {_toml(value)}" for key, value in table.items() if key not in inner]
    if name and lines:
        lines = ["", f"[{name}]", *lines]
    for key, value in inner.items():
        lines += _toml_table(f"{name}.{_toml_key(key)}" if name else _toml_key(key), value)
    return lines


def _toml(value: object) -> str:
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


def _known(what: str, data: object, kind: type) -> Mapping[str, Any]:
    """Return data if it is a mapping whose keys are fields of the class."""
    names = [field.name for field in dataclasses.fields(kind)]
    for key in _mapping(what, data):
        if key not in names:
            close = difflib.get_close_matches(str(key), names, 1)
            hint = f"did you mean `{close[0]}`? " if close else ""
            raise ShapeError(
                f"`{what}` has no field `{key}`", code="CYC402", help=f"{hint}it has: {', '.join(names)}"
            )
    return _mapping(what, data)


def _mapping(what: str, data: object) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise wrong_type(what, data, "a table of its fields")
    return data


def _offset(key: object) -> tuple[int, ...]:
    try:
        return tuple(int(step) for step in str(key).split(","))
    except ValueError:
        raise ShapeError(
            f"machine `links` has the key `{key}`",
            code="CYC402",
            help='give the offset of a hop, for example "0,1"',
        ) from None
