"""Where a run's log goes that is to be viewed at once: the file that was named, or a temporary one.

Knows nothing about runs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def log_to_view(log: Path | None, name: str, *, view: bool) -> Iterator[Path | None]:
    """The file to write the log to, if any; a temporary one is gone afterwards."""
    if log is not None or not view:
        yield log
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="pagesim-") as folder:
        yield Path(folder) / f"{Path(name).stem}.jsonl"
