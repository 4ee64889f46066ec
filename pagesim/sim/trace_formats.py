"""The trace formats that pagesim reads, as a table: which column or key holds what.

Knows nothing about reading files. A format is recognised by its columns alone; names are compared
in lower case, with blanks around them dropped.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from pagesim.sim.trace_values import date_time_to_ns, milliseconds_to_ns, seconds_to_ns

TOKENS_PER_HASH = 512


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """Where a format keeps what a request is made of.

    ``needs`` are columns a file must have beside ``prompt`` and ``output``. ``time`` is read by
    ``to_ns`` and may be absent unless ``needs`` names it: then all requests wait from the start.
    With ``zero_is_failed`` a row of 0 output tokens is a request that failed: skipped and counted.
    ``hash_ids`` names one id for each ``TOKENS_PER_HASH`` prompt tokens; equal ids, equal prefix.
    """

    about: str
    prompt: str
    output: str
    time: str
    to_ns: Callable[[str], int]
    id: str | None = None
    hash_ids: str | None = None
    needs: tuple[str, ...] = ()
    zero_is_failed: bool = False

    def fits(self, columns: Collection[str]) -> bool:
        """Does a file with these columns have this format?"""
        return all(name in columns for name in (self.prompt, self.output, *self.needs))

    @property
    def reads(self) -> tuple[str, ...]:
        """All columns it knows of."""
        wanted = (self.prompt, self.output, self.time, self.id, self.hash_ids)
        return tuple(name for name in wanted if name is not None)

    @property
    def columns(self) -> str:
        """The columns as a person would write them, optional ones in brackets."""
        names = [self.time] if self.time in self.needs else []
        names += [self.prompt, self.output]
        names += [name for name in self.needs if name != self.time]
        optional = [name for name in (self.time, self.id) if name and name not in names]
        return ",".join(names) + "".join(f"[,{name}]" for name in optional)


AZURE = TraceFormat(
    about="Azure LLM inference trace",
    prompt="contexttokens",
    output="generatedtokens",
    time="timestamp",
    to_ns=date_time_to_ns,
    needs=("timestamp",),
)
BURSTGPT = TraceFormat(
    about="BurstGPT trace",
    prompt="request tokens",
    output="response tokens",
    time="timestamp",
    to_ns=seconds_to_ns,
    needs=("timestamp", "model"),
    zero_is_failed=True,
)
VIDUR = TraceFormat(
    about="Vidur trace",
    prompt="num_prefill_tokens",
    output="num_decode_tokens",
    time="arrived_at",
    to_ns=seconds_to_ns,
)
MOONCAKE = TraceFormat(
    about="Mooncake trace",
    prompt="input_length",
    output="output_length",
    time="timestamp",
    to_ns=milliseconds_to_ns,
    hash_ids="hash_ids",
    needs=("timestamp", "hash_ids"),
)
PLAIN = TraceFormat(
    about="lengths",
    prompt="prompt_tokens",
    output="output_tokens",
    time="arrival_s",
    to_ns=seconds_to_ns,
    id="id",
)

CSV_FORMATS = (AZURE, BURSTGPT, VIDUR, PLAIN)
JSONL_FORMATS = (MOONCAKE, PLAIN)
