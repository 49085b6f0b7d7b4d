"""Program files with one instruction deleted, written twice, or in another's place."""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import cyclotron as cy
from cyclotron import _core

HEADER = 24


def changed_file(data: bytes, text: Any, values: bytes) -> bytes:
    """Return the file of `data` with another text, and its checksum."""
    written = json.dumps(text).encode()
    body = written + values
    sizes = struct.pack("<QII", len(body), zlib.crc32(body), len(written) if values else 0)
    return data[:8] + sizes + body


def text_of(data: bytes) -> tuple[Any, bytes]:
    """Return the text of a file as plain data, and the values of its constants."""
    (length,) = struct.unpack("<I", data[20:HEADER])
    end = HEADER + length if length else len(data)
    return json.loads(data[HEADER:end]), data[end:]


def mutants(program: cy.Program) -> Iterator[tuple[str, bytes]]:
    """Yield every file that differs from the program's by one instruction, with what was done."""
    data = program.core.to_bytes()
    text, _ = text_of(data)
    for c, pe_class in enumerate(text["classes"]):
        for at in range(len(pe_class["code"])):
            for verb in ("delete", "duplicate", "swap"):
                changed, values = text_of(data)
                code = changed["classes"][c]["code"]
                if verb == "delete":
                    del code[at]
                elif verb == "duplicate":
                    code.insert(at, code[at])
                elif at + 1 < len(code):
                    code[at], code[at + 1] = code[at + 1], code[at]
                yield f"{verb} {at} of class {c}", changed_file(data, changed, values)


def sample(program: cy.Program, most: int, generator: random.Random) -> list[tuple[str, bytes]]:
    """Return some of the mutants."""
    every = list(mutants(program))
    return every if len(every) <= most else generator.sample(every, most)


def inputs(program: cy.Program) -> list[Any]:
    """Return the arrays that a program was compiled for, which its file takes; numbers are part of it."""
    return [one for one in program.arguments if hasattr(one, "shape")]


def read(data: bytes) -> cy.Program:
    """Return the program of a file."""
    return cy.Program(_core.Program.from_bytes(data))
