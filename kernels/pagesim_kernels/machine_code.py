"""What is in a compiled kernel: registers, spills, shared memory, and the instructions of its main loop.

Reads the assembly that NVIDIA's ``cuobjdump`` (it comes with Triton) prints of a cubin, and the AMD assembly that
Triton keeps. The main loop is the innermost one with the most matrix instructions. Knows nothing about attention.
"""

import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple


class Code(NamedTuple):
    """``registers`` a thread; ``spills``: instructions that move registers to memory and back."""

    registers: int
    spills: int
    loop: tuple[str, ...]  # the main loop's instructions


class Counts(NamedTuple):
    """Instructions of a loop, for one warp.

    ``wide``: 16-byte reads from global memory (``asynchronous`` if they go straight to shared memory); ``narrow``:
    reads of fewer bytes; ``integer``: address arithmetic and comparisons.
    """

    instructions: int
    integer: int
    wide: int
    asynchronous: int
    narrow: int
    matrix: int


NVIDIA = {
    "integer": r"IMAD(?!.*WIDE\.F)|IADD|LEA|ISETP|SHF|LOP3|PRMT|SEL|VIADD|IABS|UIADD|UIMAD|ULEA|USHF|ULOP|UISETP|USEL|"
    r"MOV|UMOV|R2UR|PLOP|VIMNMX|IMNMX|UIMNMX|UVIADD",
    "wide": r"(LDG|LDGSTS)\S*\.128",
    "asynchronous": r"LDGSTS\S*\.128",
    "narrow": r"(LDG|LDGSTS)\b(?!\S*\.128)",
    "matrix": r"HMMA|HGMMA|IMMA|QGMMA|QMMA|OMMA|UTC\w*MMA|DMMA",
}
AMD = {
    "integer": r"v_(add|sub|mul|mad|lshl|lshr|ashr|and|or|xor|bfe|cndmask|cmp)\w*_?[ui]\d\d|v_(and|or|xor)|s_(add|"
    r"sub|mul|lshl|lshr|ashr|and|or|xor|cmp|cselect|mov)",
    "wide": r"(global|buffer)_load_dwordx4",
    "asynchronous": r"(global|buffer)_load_lds_dwordx4",
    "narrow": r"(global|buffer)_load_(?!dwordx4|lds)",
    "matrix": r"v_mfma",
}


def counts(loop: tuple[str, ...], patterns: dict[str, str]) -> Counts:
    def matching(name: str) -> int:
        return sum(bool(re.match(patterns[name], instruction)) for instruction in loop)

    return Counts(
        len(loop), matching("integer"), matching("wide"), matching("asynchronous"),
        matching("narrow"), matching("matrix"),
    )  # fmt: skip


def nvidia_code(cubin: bytes, tools: Path) -> Code:
    """``tools``: the folder with cuobjdump."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        text = _output(tools / "cuobjdump", "-sass", path)
        usage = _output(tools / "cuobjdump", "-res-usage", path)
    body = []  # (address, instruction without its predicate)
    for address, instruction in re.findall(r"/\*([0-9a-f]{4,})\*/\s+(.+?);", text):
        body.append((int(address, 16), re.sub(r"^@!?U?P\w+\s+", "", instruction)))
    jumps = []
    for address, instruction in body:
        target = re.match(r"BRA\S*.*\s(?:`\(\S+\)|0x([0-9a-f]+))", instruction)
        if target and target.group(1) and int(target.group(1), 16) < address:
            jumps.append((int(target.group(1), 16), address))
    loops = [
        tuple(instruction for address, instruction in body if first <= address <= last)
        for first, last in jumps
    ]
    registers = re.search(r"\bREG:(\d+)", usage)
    spills = sum(instruction.startswith(("LDL", "STL")) for _, instruction in body)
    return Code(int(registers.group(1)) if registers else 0, spills, _main(loops, NVIDIA["matrix"]))


def amd_code(assembly: str) -> Code:
    lines = [line.split(";")[0].strip() for line in assembly.splitlines()]
    label_at = {line[:-1]: at for at, line in enumerate(lines) if re.fullmatch(r"\.LBB\w+:", line)}
    loops = []
    for at, line in enumerate(lines):
        target = re.match(r"s_c?branch\w*\s+(\.LBB\w+)", line)
        if target and label_at.get(target.group(1), at) < at:
            body = lines[label_at[target.group(1)] : at + 1]
            loops.append(tuple(line for line in body if line and not line.startswith(".")))

    def figure(name: str) -> int:
        found = re.search(rf"\.{name}:\s*(\d+)", assembly)
        return int(found.group(1)) if found else 0

    spills = figure(
        "vgpr_spill_count"
    )  # scalar registers spill into vector registers, not into memory
    return Code(figure("vgpr_count"), spills, _main(loops, AMD["matrix"]))


def _main(loops: list[tuple[str, ...]], matrix: str) -> tuple[str, ...]:
    def weight(loop: tuple[str, ...]) -> tuple[int, int]:
        return sum(bool(re.match(matrix, instruction)) for instruction in loop), -len(loop)

    return max(loops, key=weight, default=())


def _output(program: Path, *arguments: str | Path) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr
