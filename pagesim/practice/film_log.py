"""A film of a learner's memory, told in pagesim's own events, as a log that can be shown and viewed.

One operation is one step. Tables may be wrong: every change of a table is told so that the log can be read to its
end. Knows nothing about exercises.
"""

from collections.abc import Sequence
from pathlib import Path

from pagesim.core import events as ev
from pagesim.core.types import Geometry
from pagesim.practice.film import Film, Shot, Table
from pagesim.replay.log import LogWriter, UnknownEvent, log_header, remark
from pagesim.replay.run_state import RunState

STEP_NS = 1_000_000
FREED = "it was freed"
MOST_NOTES = 3
Told = ev.Event | UnknownEvent


def write_film(
    path: Path, film: Film, *, title: str, law: str, sentence: str, last_line: str = ""
) -> int:
    """Write a log whose last step is the one that broke the law. Returns the number of its events.

    ``last_line`` is the last call that was made; if it did not come back, there is no shot of it. Raises InputError
    where the log cannot be written.
    """
    geometry = Geometry(film.num_blocks, film.block_size)
    lost = [last_line] if film.shots and film.shots[-1].line != last_line else []
    events = film_events(film, [*lost, sentence])
    facts = {"title": title, "law": law, "sentence": sentence, "opens_at": len(events)}
    facts |= _where_broken(film, events, last_line if lost else "")
    header = log_header(geometry, **facts, allocator="yours")
    with LogWriter(path, header) as log:
        for event in events:
            log.apply(event)
    return len(events)


def _where_broken(film: Film, events: Sequence[Told], lost_line: str) -> dict[str, object]:
    """From which event on the law is broken: the last call; and what the last picture does not show."""
    line = lost_line or (film.shots[-1].line if film.shots else "")
    places = [place for place, event in enumerate(events, start=1) if event == remark(line)]
    notes = film.shots[-1].remarks if film.shots and not lost_line else []
    rest = [f"and {len(notes) - MOST_NOTES} more"] if len(notes) > MOST_NOTES else []
    return {
        "broken_at": places[-1] if places else len(events),
        "notes": [*notes[:MOST_NOTES], *rest],
    }


def film_events(film: Film, closing: Sequence[str]) -> list[Told]:
    """All events; the last are remarks with the closing sentences, in the midst of the last step."""
    teller = _Teller(film)
    for number, shot in enumerate(film.shots):
        teller.tell(number, shot)
    if teller.events and isinstance(teller.events[-1], ev.StepDone):
        teller.events.pop()
    teller.events += map(remark, closing)
    return teller.events


class _Teller:
    """Turns shot after shot into events, and keeps the state they lead to."""

    def __init__(self, film: Film) -> None:
        self.events: list[Told] = []
        self._state = RunState(Geometry(film.num_blocks, film.block_size))
        self._prompts: dict[int, int] = {}
        self._longest: dict[int, int] = {}
        for shot in film.shots:
            for seq, tokens in (*shot.written.items(), *shot.waiting.items()):
                self._longest[seq] = max(self._longest.get(seq, 1), tokens)

    def tell(self, number: int, shot: Shot) -> None:
        self._prompts = shot.prompts
        self._sampled(shot)
        self.events.append(remark(shot.line))
        self._leave(shot)
        self._evict(shot)
        for seq in shot.tables:
            if seq not in shot.waiting:
                self._table(seq, shot)
        for copy in shot.copies:
            self._emit(ev.BlockCopied(*copy))
        self._publish(shot)
        self._plan(number, shot)
        self.events += map(remark, shot.remarks)
        self._emit(ev.StepDone(number, (number + 1) * STEP_NS))

    def _emit(self, event: ev.Event) -> None:
        self._state.apply(event)
        self.events.append(event)

    def _sampled(self, shot: Shot) -> None:
        """Tokens past those a sequence began with are outputs."""
        grown: list[int] = []
        for seq, view in self._state.sequences.items():
            tokens = shot.written.get(seq, shot.waiting.get(seq, 0))
            grown += [seq] * max(tokens - view.tokens, 0)
        if grown:
            self._emit(ev.TokensSampled(tuple(grown), (0,) * len(grown)))

    # -- who comes and goes ------------------------------------------------------------------------------

    def _leave(self, shot: Shot) -> None:
        for seq, view in list(self._state.sequences.items()):
            if seq in shot.waiting:
                if view.status == "running":
                    by, to = shot.grower or (seq, view.tokens + 1)
                    self._emit(ev.SequencePreempted(seq, view.written, by, to, "recompute"))
                    self._release(seq)
            elif seq not in shot.tables:
                if len(view.table):
                    self._release(seq)
                self._emit(ev.SequenceFinished(seq, view.outputs, FREED))
        for seq, tokens in shot.waiting.items():
            self._submit(seq, tokens)

    def _submit(self, seq: int, tokens: int) -> None:
        if seq not in self._state.sequences:
            prompt = max(self._prompts.get(seq, tokens), 1)
            more = max(self._longest.get(seq, prompt) - prompt, 1)
            self._emit(ev.RequestSubmitted(seq, f"seq{seq}", 0, prompt, more, 0))

    def _release(self, seq: int) -> None:
        table, counts = self._state.sequences[seq].table, self._state.ref_counts
        if isinstance(table, range):
            self._emit(ev.TableFreed(seq, table))
        else:
            last = [block for block in dict.fromkeys(table) if counts[block] == table.count(block)]
            self._emit(ev.TableFreed(seq, tuple(reversed(last))))

    # -- tables ------------------------------------------------------------------------------------------

    def _table(self, seq: int, shot: Shot) -> None:
        table, tokens = shot.tables[seq], shot.written.get(seq, 0)
        if isinstance(table, range) and self._overlaps(seq, table):
            slots = f"slots {table.start} to {table.stop - 1}"
            self.events.append(remark(f"seq{seq} has {slots}, which others hold: not shown here"))
            return
        known = self._state.sequences.get(seq)
        if known is None or known.status != "running":
            self._begin(seq, shot, table, tokens)
            return
        if isinstance(table, range) or isinstance(known.table, range):
            if table != known.table:
                self._again(seq, table, min(known.written, tokens))
            return
        old, new = list(known.table), table
        if len(new) < len(old) or known.written > tokens or not self._replaced(seq, old, new):
            self._again(seq, new, min(known.written, tokens))
        else:
            self._append(seq, new[len(old) :])

    def _begin(self, seq: int, shot: Shot, table: Table, tokens: int) -> None:
        parent = self._state.sequences.get(shot.forks.get(seq, seq))
        resumed = int(seq in self._state.sequences)
        if parent is not None and parent.seq != seq:
            self._submit(seq, tokens - parent.outputs)  # which are the child's own, too
            self._emit(ev.SequenceForked(parent.seq, seq, tokens))
            self._append(seq, table)
            return
        self._submit(seq, tokens)
        found = 0
        if shot.findable is not None:
            cached = self._state.cached
            while found < len(table) and table[found] in cached:
                found += 1
        length = max(tokens, self._state.sequences[seq].tokens)
        cached_tokens = min(found * self._state.geometry.block_size, max(tokens - 1, 0))
        is_all_new = not any(map(self._is_there, table))
        if found or is_all_new:  # the sentence about shared blocks says: found in the cache
            self._append(seq, table)
            self._emit(ev.SequenceAdmitted(seq, length, cached_tokens, resumed))
        else:
            self._emit(ev.SequenceAdmitted(seq, length, 0, resumed))
            self._append(seq, table)

    def _overlaps(self, seq: int, run: range) -> bool:
        return any(
            view.table.start < run.stop and run.start < view.table.stop
            for view in self._state.sequences.values()
            if view.seq != seq and isinstance(view.table, range) and len(view.table)
        )

    def _replaced(self, seq: int, old: list[int], new: Sequence[int]) -> bool:
        """Tell changed places as copy-on-write, if all are: a free block instead of one."""
        counts = self._state.ref_counts
        pairs = [(a, b) for a, b in zip(old, new, strict=False) if a != b]
        fresh = [b for _, b in pairs]
        if any(old.count(a) > 1 for a, _ in pairs) or any(b in counts for b in fresh):
            return False
        if len(set(fresh)) < len(fresh):
            return False
        for a, b in pairs:
            self._emit(ev.BlockReplaced(seq, a, b))
        return True

    def _again(self, seq: int, table: Table, tokens: int) -> None:
        """Tell any other change: the table goes, and the new one comes."""
        known = self._state.sequences[seq].table
        if not isinstance(known, range) and not isinstance(table, range):
            told = f"the table of seq{seq} went from {known} to {table}"
            self.events.append(remark(f"{told}: shown as given back and taken anew"))
        self._release(seq)
        length = self._state.sequences[seq].tokens
        self._emit(ev.SequenceAdmitted(seq, length, tokens, 1))
        self._append(seq, table)

    def _append(self, seq: int, table: Table) -> None:
        """Append blocks in the order of the table: such as nobody lists are taken, others shared."""
        if isinstance(table, range):
            if len(table):
                self._emit(ev.BlocksTaken(seq, table, len(table)))
            return
        start = 0
        while start < len(table):
            shared, stop = self._is_there(table[start]), start + 1
            while stop < len(table) and self._is_there(table[stop]) == shared:
                if table[stop] in table[start:stop]:
                    break
                stop += 1
            blocks = tuple(table[start:stop])
            if shared:
                self._emit(ev.BlocksShared(seq, blocks))
            else:
                size = self._state.geometry.block_size
                self._emit(ev.BlocksTaken(seq, blocks, size * len(blocks)))
            start = stop

    def _is_there(self, block: int) -> bool:
        return block in self._state.ref_counts or block in self._state.cached

    # -- the cache ---------------------------------------------------------------------------------------

    def _evict(self, shot: Shot) -> None:
        if shot.findable is not None:
            for block in [block for block in self._state.cached if block not in shot.findable]:
                self._emit(ev.BlockEvicted(block))

    def _publish(self, shot: Shot) -> None:
        for block in shot.findable or ():
            if block not in self._state.cached:
                holders = self._state.holders(block)
                self._emit(ev.BlocksPublished(holders[0].seq if holders else 0, (block,)))

    # -- the step ----------------------------------------------------------------------------------------

    def _plan(self, number: int, shot: Shot) -> None:
        sequences = self._state.sequences
        grown = [
            (seq, tokens - sequences[seq].written)
            for seq, tokens in shot.written.items()
            if seq in sequences and tokens > sequences[seq].written
        ]
        seqs, counts = tuple([seq for seq, _ in grown]), tuple([count for _, count in grown])
        self._emit(ev.StepPlanned(number, seqs, counts, len(shot.waiting), 0))
