"""The settings that `pagesim sweep` can vary, and how lists of their values are written.

``AXES`` is the registry: by the name of the field in ``Options`` (and the allocator), what its values are called
and how one is read. Knows nothing about running.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from pagesim.cli import options as opt
from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.sim.sweep import Axis, Value

MOST_POINTS = 1_000
SEPARATOR, UP_TO = ",", ".."
_NUMBER_AND_UNIT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%]*)")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. ``read`` turns one typed value into what ``Options`` takes; it raises InputError.

    ``size`` says how large a value is; ``None`` for names, which have none. ``unit`` is the size's on the axis of a
    figure, and what it is divided by there; ``None`` where sizes are not drawn to scale.
    """

    label: str
    read: "Callable[[str], Value]"
    size: "Callable[[Value], float] | None" = None
    unit: tuple[str, int] | None = None


# -- one value ---------------------------------------------------------------------------------------


def _whole(least: int) -> "Callable[[str], int]":
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < least:
            raise InputError(f"{_shown(text)} is not a whole number of {least} or more")
        return int(text)

    return read


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{_shown(text)} is not a number above 0")
    return value


def _memory(text: str) -> str:
    from pagesim.planner.units import parse_bytes

    parse_bytes(text)
    return text


def _memory_size(value: "Value") -> float:
    from pagesim.planner.units import parse_bytes

    return parse_bytes(str(value))


def _watermark(text: str) -> str:
    from pagesim.sim.policies import parse_watermark

    parse_watermark(text)
    return "".join(text.split())


def _watermark_size(value: "Value") -> float:
    """A share counts as less than a block."""
    from pagesim.sim.policies import parse_watermark

    blocks, share = parse_watermark(str(value))
    return float(share or blocks)


def _order(text: str) -> str:
    from pagesim.sim.policies import order_named

    return order_named(text).name


def _victim(text: str) -> str:
    from pagesim.sim.policies import victim_named

    return victim_named(text).name


def _preempt(text: str) -> str:
    from pagesim.sim.policies import preempt_mode_named

    return preempt_mode_named(text).name


def _model(text: str) -> str:
    from pagesim.planner.facts import model

    return model(text).key


def _gpu(text: str) -> str:
    from pagesim.planner.facts import gpu

    return gpu(text).key


def _allocator(text: str) -> str:
    from pagesim.sim.allocators import ALLOCATORS

    return _one_of(text, ALLOCATORS)


def _placer(text: str) -> str:
    from pagesim.core.memories import PLACERS

    return _one_of(text, PLACERS)


def _rules(text: str) -> str:
    return _one_of(text, opt.RULES)


def _samples_as(text: str) -> str:
    return _one_of(text, opt.SAMPLES_AS)


def _freed_blocks_go(text: str) -> str:
    from pagesim.sim.allocators import FREED_BLOCKS_GO

    return _one_of(text, FREED_BLOCKS_GO)


def _one_of(text: str, names: Iterable[str]) -> str:
    if text not in names:
        raise InputError(f"{_shown(text)} is not known; there are {', '.join(names)}")
    return text


_TOKENS, _GIB, _PLAIN = ("tokens", 1), ("GiB", 2**30), ("", 1)
AXES: dict[str, Setting] = {
    "allocator": Setting("allocator", _allocator),
    "placer": Setting("placer", _placer),
    "block_size": Setting("block size", _whole(1), float, _TOKENS),
    "kv_memory": Setting("KV memory", _memory, _memory_size, _GIB),
    "host_memory": Setting("host memory", _memory, _memory_size, _GIB),
    "watermark": Setting("watermark", _watermark, _watermark_size),
    "order": Setting("order", _order),
    "victim": Setting("victim", _victim),
    "preempt": Setting("preempt", _preempt),
    "rules": Setting("rules", _rules),
    "max_num_seqs": Setting("sequences allowed", _whole(1), float, _PLAIN),
    "max_tokens_per_step": Setting("tokens per step", _whole(1), float, _PLAIN),
    "max_model_len": Setting("max model length", _whole(1), float, _TOKENS),
    "model": Setting("model", _model),
    "gpu": Setting("GPU", _gpu),
    "tensor_parallel": Setting("GPUs", _whole(1), float, _PLAIN),
    "rate": Setting("arrivals per s", _positive, float, _PLAIN),
    "cv": Setting("variation of gaps", _positive, float, _PLAIN),
    "prompt_tokens": Setting("prompt length", _whole(1), float, _TOKENS),
    "output_tokens": Setting("output length", _whole(1), float, _TOKENS),
    "prefix_tokens": Setting("prefix length", _whole(1), float, _TOKENS),
    "samples": Setting("samples", _whole(1), float, _PLAIN),
    "samples_as": Setting("samples as", _samples_as),
    "freed_blocks_go": Setting("freed blocks go", _freed_blocks_go),
    "seed": Setting("seed", _whole(0)),
}


# -- lists of values ---------------------------------------------------------------------------------


def option_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def read_axis(name: str, text: str) -> "Axis":
    """The values of one option: a list with commas, in which ``8..256`` stands for 8, 16, 32 ... 256.

    Raises InputError, with the option's name, for anything else.
    """
    from pagesim.sim.sweep import Axis

    setting = AXES[name]
    values: list[Value] = []
    try:
        for part in text.split(SEPARATOR):
            values.extend(_values(setting, part.strip()))
            if len(values) > MOST_POINTS:
                raise InputError(f"more than {MOST_POINTS:,} values were given; give fewer")
        _check_different(setting, values)
    except InputError as error:
        raise InputError(f"{option_name(name)}: {error}") from None
    return Axis(name, tuple(values))


def _values(setting: Setting, part: str) -> "Iterator[Value]":
    if not part:
        raise InputError(
            "an empty value was given; write values with a comma between, such as 8,16"
        )
    first, dots, last = part.partition(UP_TO)
    if dots and setting.size is not None:
        yield from _doubled(setting, first.strip(), last.strip())
    else:
        yield setting.read(part)


def _doubled(setting: Setting, first: str, last: str) -> "Iterator[Value]":
    """``first``, twice that, and so on up to ``last``, which must be one of them."""
    assert setting.size is not None
    start, stop = setting.size(setting.read(first)), setting.size(setting.read(last))
    if start > stop:
        raise InputError(f"{first}{UP_TO}{last} runs backwards; write {last}{UP_TO}{first}")
    if start <= 0:
        raise InputError(f"{first}{UP_TO}{last} doubles from {first} and stays there; begin above")
    before, factor = first, 1
    while True:
        text = _times(first, factor)
        value = setting.read(text)
        if setting.size(value) > stop:
            raise InputError(
                f"{first}{UP_TO}{last} doubles to {before} and then {text}, never {last}; "
                f"write {first}{UP_TO}{before} or {first}{UP_TO}{text}"
            )
        yield value
        if setting.size(value) == stop:
            return
        before, factor = text, 2 * factor


def _times(text: str, factor: int) -> str:
    """The number in ``text`` times ``factor``, exactly, with the unit it has."""
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None:
        raise InputError(f"{_shown(text)} cannot begin a range; write a plain number")
    number = format(Decimal(match[1]) * factor, "f")
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return number + match[2]


def _check_different(setting: Setting, values: "list[Value]") -> None:
    seen: dict[Value, Value] = {}
    for value in values:
        meant = value if setting.size is None else setting.size(value)
        if meant in seen:
            same = value == seen[meant]
            what = f"{value} is" if same else f"{seen[meant]} and {value} are the same, which is"
            raise InputError(f"{what} listed twice; give each value once")
        seen[meant] = value


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
