"""The runs of a comparison as one page: their logs go to files while they run, so that memory stays what it was.

Knows nothing about what is compared.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING

from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.core.types import Geometry
    from pagesim.replay.log import LogWriter
    from pagesim.sim.simulate import Contender


def checked_page(output: Path | None) -> None:
    """Raises InputError for a file that is no .html or cannot be there: before anything is run."""
    if output is None:
        return
    from pagesim.cli.export import check_output

    check_output(output, (".html",))
    if output.is_dir() or not output.parent.is_dir():
        raise InputError(f"{output} cannot be written: no such folder; name another file")


class RunLogs:
    """A log a run, in a temporary folder that is gone afterwards."""

    def __init__(self, facts: Mapping[str, object]) -> None:
        """``facts`` are what all headers tell."""
        self._facts = facts
        self._logs: list[tuple[str, Path]] = []
        self._writers: list[LogWriter] = []
        self._stack = ExitStack()

    def __enter__(self) -> "RunLogs":
        folder = TemporaryDirectory(prefix="pagesim-")
        self._folder = Path(self._stack.enter_context(folder))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def listen(self, contender: "Contender", geometry: "Geometry") -> "Sequence[LogWriter]":
        """A writer of the contender's events."""
        from pagesim.replay.log import LogWriter, log_header
        from pagesim.sim.rerun import how_to_repeat

        name, allocator, settings = contender
        config = settings.scheduler_config(allocator, geometry)
        repeat = how_to_repeat(allocator, settings.memory, config, settings.cost)
        header = log_header(geometry, **{**self._facts, **repeat})
        path = self._folder / f"{len(self._logs)}.jsonl"
        self._logs.append((name, path))
        self._writers.append(self._stack.enter_context(LogWriter(path, header)))
        return self._writers[-1:]

    def write_page(self, output: Path, *, quietly: bool) -> None:
        """``quietly``: what there is to say goes to standard error."""
        from pagesim.cli.player_file import write_player

        for writer in self._writers:
            writer.close()
        write_player(self._logs, output, quietly=quietly)
