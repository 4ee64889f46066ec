"""What a learner has done so far, kept between sessions in one small JSON file.

The file has named sections (``lessons``, ``interview``, ...), each an object that its owner alone writes. It lies in
the folder that ``PAGESIM_HOME`` names, or in the user's data folder. Knows nothing about what sections mean.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pagesim.core.errors import InputError

Section = dict[str, Any]
FILE = "progress.json"


def home() -> Path:
    """The folder that progress is kept in; it need not exist yet."""
    named = os.environ.get("PAGESIM_HOME")
    if named:
        return Path(named)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    else:
        base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "pagesim"


def read_section(name: str) -> Section:
    """A section as it was last written; empty if never, or if the file is damaged (it is then left as it is)."""
    found = _read().get(name)
    return found if isinstance(found, dict) else {}


def update_section(name: str, change: Callable[[Section], None]) -> None:
    """Read a section, let ``change`` alter it, and write it back, as one act: two programs lose nothing of each
    other's. A damaged file is set aside under another name first. Raises InputError where it cannot be written."""
    folder = home()
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / f"{FILE}.lock"):
            everything = _read()
            if not everything and path.exists() and path.read_bytes().strip() not in (b"", b"{}"):
                path.replace(folder / f"{FILE}.damaged")
            section = everything.get(name)
            if not isinstance(section, dict):
                section = {}
            change(section)
            if not section and name not in everything:
                return
            everything[name] = section
            fresh = folder / f"{FILE}.new"
            fresh.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n", "utf-8")
            fresh.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"progress cannot be kept in {folder}: {reason}; let PAGESIM_HOME name another folder"
        ) from None


def can_keep() -> str | None:
    """``None``, or a sentence that says why nothing can be kept."""
    try:
        update_section("", lambda _: None)
    except InputError as error:
        return str(error)
    return None


def damage() -> str | None:
    """``None``, or a sentence that says that the file cannot be read, and what becomes of it."""
    path = home() / FILE
    try:
        text = path.read_bytes().strip()
    except OSError:
        return None
    if not text or _read():
        return None
    return f"{path} is damaged: it will be kept as {FILE}.damaged, and you start anew"


def _read() -> dict[str, Any]:
    try:
        found = json.loads((home() / FILE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the file's lock; where the system has none of this kind, hold nothing."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
