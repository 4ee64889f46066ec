"""What a learner has done in a folder of exercises, kept in one small JSON file in that folder.

Beside it stands the digest of each file as it was given; a later pagesim may give another. A damaged
file is set aside and begun anew. Knows nothing about what the exercises are.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

MARK = ".pagesim-practice.json"
FORMAT = 1
NUM_HINTS = 3


@dataclass(frozen=True, slots=True)
class Record:
    """One exercise. ``passed`` by the last check, when the file had this ``digest``; ``solved`` by any check so far.

    ``hints`` were shown, ``checks`` were made, and ``gave_up``: the solution was shown before any check passed.
    """

    passed: bool = False
    digest: str = ""
    solved: bool = False
    hints: int = 0
    checks: int = 0
    gave_up: bool = False

    def checked(self, digest: str, *, passed: bool) -> "Record":
        return replace(
            self,
            passed=passed,
            digest=digest,
            solved=self.solved or passed,
            checks=self.checks + 1,
        )

    def hinted(self) -> "Record":
        return replace(self, hints=min(self.hints + 1, NUM_HINTS))

    def given_up(self) -> "Record":
        return replace(self, gave_up=True)

    def begun_anew(self) -> "Record":
        """The file is as it was given; what was shown stays shown."""
        return replace(self, passed=False, digest="")


def digest_of(file: Path) -> str:
    """Of a file's bytes; empty where it cannot be read."""
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        return ""


def read_records(folder: Path) -> dict[str, Record]:
    """By exercise, as far as they can be read."""
    found = _read(folder / MARK).get("exercises")
    if not isinstance(found, dict):
        return {}
    return {str(name): _record(plain) for name, plain in found.items()}


def read_given(folder: Path) -> dict[str, str]:
    """The digests of the files when they were given, by exercise, as far as they can be read."""
    found = _read(folder / MARK).get("given")
    if not isinstance(found, dict):
        return {}
    return {str(name): digest for name, digest in found.items() if isinstance(digest, str)}


def note_given(folder: Path, digests: dict[str, str]) -> None:
    """These files have just been written as they are given. Raises OSError."""
    with _locked(folder):
        write_mark(folder, _exercises(folder), read_given(folder) | digests)


def update_record(folder: Path, name: str, change: Callable[[Record], Record]) -> Record:
    """Change what is known of one exercise, as one act, and leave the others as they are. Raises OSError."""
    with _locked(folder):
        kept = _exercises(folder)
        record = change(_record(kept.get(name)))
        write_mark(folder, kept | {name: asdict(record)}, read_given(folder))
        return record


def _exercises(folder: Path) -> dict[str, object]:
    """All that is known of the exercises, as it stands in the file. A damaged one is set aside. Raises OSError."""
    path = folder / MARK
    everything = _read(path)
    if not everything and path.exists() and path.read_bytes().strip():
        path.replace(path.with_name(f"{MARK}.damaged"))
    exercises = everything.get("exercises")
    return dict(exercises) if isinstance(exercises, dict) else {}


def write_mark(folder: Path, exercises: dict[str, object], given: dict[str, str]) -> None:
    """Write the file, whole or not at all. Raises OSError."""
    everything = {"format": FORMAT, "exercises": exercises, "given": given}
    fresh = folder / f"{MARK}.new"
    fresh.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n", "utf-8")
    fresh.replace(folder / MARK)


def _read(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _record(plain: object) -> Record:
    if not isinstance(plain, dict):
        return Record()
    digest, hints = plain.get("digest"), _whole(plain.get("hints"))
    return Record(
        passed=plain.get("passed") is True,
        digest=digest if isinstance(digest, str) else "",
        solved=plain.get("solved") is True,
        hints=min(hints, NUM_HINTS),
        checks=_whole(plain.get("checks")),
        gave_up=plain.get("gave_up") is True,
    )


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One program at a time, where the system has locks of this kind."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
