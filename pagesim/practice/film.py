"""What a learner's memory was after each operation, taken from the outside, as plain values.

Tables may be wrong in any way: what cannot be shown is described in a remark. Knows nothing about events.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from pagesim.practice.reading import NotReadableError, read_whole, read_wholes

Table = list[int] | range
MOST_SHOTS = 500
MOST_LISTED = 10_000
PAIRS = ("written", "forks", "waiting", "prompts")


class Shot(NamedTuple):
    """The memory after the operation ``line``.

    ``tables`` and ``written`` (tokens whose K and V are there) by sequence; a contiguous run is a range. ``forks``
    maps a child that has just begun to its parent. ``copies`` are (source, target, slots). ``findable`` blocks can
    be found by their content; ``None``: this memory has no cache. ``waiting`` sequences by their length. ``prompts``
    are the lengths that sequences began with, where they are known: what is more are outputs.
    ``grower`` is the sequence that made others wait, and the length it grows to.
    """

    line: str
    tables: dict[int, Table]
    written: dict[int, int]
    forks: dict[int, int]
    copies: list[tuple[int, int, int]]
    findable: list[int] | None
    waiting: dict[int, int]
    grower: tuple[int, int] | None
    remarks: list[str]
    prompts: dict[int, int]


class Film:
    """Shots of one memory, in order. One operation is one shot."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self.shots: list[Shot] = []

    def shot(
        self,
        line: str,
        tables: object,
        written: object = None,
        *,
        counts: object = None,
        forks: Mapping[int, int] | None = None,
        copies: Iterable[tuple[int, int, int]] = (),
        findable: object = None,
        waiting: Mapping[int, int] | None = None,
        grower: tuple[int, int] | None = None,
        prompts: Mapping[int, int] | None = None,
    ) -> None:
        """Keep what there is now. ``tables``, ``written``, ``counts`` (the learner's own reference counts, by block)
        and ``findable`` may come from the learner as they are; ``written`` ``None``: all that is held is full."""
        if len(self.shots) >= MOST_SHOTS:
            return
        remarks: list[str] = []
        shown = self._tables(tables, remarks)
        self.shots.append(
            Shot(
                line,
                shown,
                self._written(shown, written, remarks),
                dict(forks or {}),
                [copy for copy in copies if self._has(copy[0]) and self._has(copy[1])],
                None if findable is None else self._findable(findable, remarks),
                dict(waiting or {}),
                grower,
                remarks,
                dict(prompts or {}),
            )
        )
        if counts is not None:
            self._compare(shown, counts, remarks)

    def _has(self, block: int) -> bool:
        return 0 <= block < self.num_blocks

    def _tables(self, tables: object, remarks: list[str]) -> dict[int, Table]:
        if not isinstance(tables, Mapping):
            remarks.append(
                f"the tables are {type(tables).__name__}, not a dict: they are not shown"
            )
            return {}
        shown: dict[int, Table] = {}
        for key, value in list(tables.items())[:MOST_LISTED]:
            try:
                seq = read_whole(key)
                table = value if isinstance(value, range) else read_wholes(value)[:MOST_LISTED]
            except NotReadableError as error:
                remarks.append(f"a table is not shown: {error}")
                continue
            inside = [block for block in table if self._has(block)]
            if len(inside) < len(table):
                outside = next(block for block in table if not self._has(block))
                remarks.append(
                    f"the table of sequence {seq} lists block {outside}, which is not there (blocks are 0 to "
                    f"{self.num_blocks - 1}): it is left out here"
                )
            shown[seq] = table if len(inside) == len(table) else inside
        return shown

    def _written(
        self, tables: dict[int, Table], written: object, remarks: list[str]
    ) -> dict[int, int]:
        if written is None:
            return {seq: len(table) * self.block_size for seq, table in tables.items()}
        told = written if isinstance(written, Mapping) else {}
        found: dict[int, int] = {}
        for seq, table in tables.items():
            room = len(table) * self.block_size
            try:
                tokens = read_whole(told.get(seq, 0))
            except NotReadableError:
                tokens = 0
            if tokens > room:
                remarks.append(f"sequence {seq} has {tokens} tokens, and its table holds {room}")
            found[seq] = min(max(tokens, 0), room)
        return found

    def _findable(self, findable: object, remarks: list[str]) -> list[int]:
        try:
            blocks = read_wholes(findable)
        except NotReadableError:
            remarks.append("which blocks are findable cannot be read: none is shown")
            return []
        return sorted({block for block in blocks if self._has(block)})

    def _compare(self, tables: dict[int, Table], counts: object, remarks: list[str]) -> None:
        """Say where the learner's own counts are not what the tables say."""
        listed = [block for table in tables.values() for block in table]
        for block in range(min(self.num_blocks, MOST_LISTED)):
            try:
                told = read_whole(_entry(counts, block))
            except NotReadableError:
                continue
            true = listed.count(block)
            if told != true:
                tables_list = f"{true} {'table lists' if true == 1 else 'tables list'} it"
                remarks.append(f"your count of block {block} is {told}, and {tables_list}")

    # -- to another process and back ---------------------------------------------------------------------

    def to_plain(self) -> dict[str, object]:
        """JSON values."""
        shots = []
        for shot in self.shots:
            plain: dict[str, object] = shot._asdict()
            plain["tables"] = [
                [seq, {"range": [t.start, t.stop]} if isinstance(t, range) else t]
                for seq, t in shot.tables.items()
            ]
            for name in PAIRS:
                plain[name] = list(map(list, cast("dict[int, int]", plain[name]).items()))
            shots.append(plain)
        return {"num_blocks": self.num_blocks, "block_size": self.block_size, "shots": shots}

    @classmethod
    def from_plain(cls, plain: Mapping[str, object]) -> "Film":
        """What ``to_plain`` gave. KeyError, TypeError or ValueError if it is something else."""
        film = cls(read_whole(plain["num_blocks"]), read_whole(plain["block_size"]))
        for found in cast("list[dict[str, object]]", plain["shots"]):
            film.shots.append(_shot(found))
        return film


def _entry(counts: object, block: int) -> object:
    """The count of a block in a list or a dict; a dict may leave out blocks that nobody lists."""
    if isinstance(counts, Mapping):
        return counts.get(block, 0)
    if isinstance(counts, list | tuple) and block < len(counts):
        return counts[block]
    return None


def _shot(plain: Mapping[str, object]) -> Shot:
    pairs = {name: dict(cast("list[tuple[int, int]]", plain[name])) for name in PAIRS}
    tables: dict[int, Table] = {}
    for seq, table in cast("list[tuple[int, dict[str, list[int]] | list[int]]]", plain["tables"]):
        tables[seq] = range(*table["range"]) if isinstance(table, dict) else table
    copies = [(a, b, c) for a, b, c in cast("list[tuple[int, int, int]]", plain["copies"])]
    grower = cast("list[int] | None", plain["grower"])
    return Shot(
        str(plain["line"]),
        tables,
        pairs["written"],
        pairs["forks"],
        copies,
        cast("list[int] | None", plain["findable"]),
        pairs["waiting"],
        None if grower is None else (grower[0], grower[1]),
        [str(remark) for remark in cast("list[object]", plain["remarks"])],
        pairs["prompts"],
    )
