"""What a process may use up, set by the process itself; as much of it as the system knows.

Knows nothing about what runs under the limits.
"""

import sys
from contextlib import suppress
from pathlib import Path

FILE_MIB = 64
OPEN_FILES = 256
DEEPEST = 20_000
"""So deep calls may nest, whatever ``sys.setrecursionlimit`` is asked for: much deeper only fills the memory."""


def set_limits(memory_mib: int, cpu_seconds: int) -> None:
    """From now on: so much more memory than now, so much processor time, no large files, no core dumps."""
    set_limit = sys.setrecursionlimit
    sys.setrecursionlimit = lambda limit: set_limit(min(limit, DEEPEST))
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = [
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, FILE_MIB << 20),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
    ]
    if sys.platform == "linux":
        limits.append((resource.RLIMIT_AS, _address_space() + (memory_mib << 20)))
    for what, most in limits:
        with suppress(ValueError, OSError):
            _, hard = resource.getrlimit(what)
            least = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (least, least))


def _address_space() -> int:
    """Bytes of address space in use."""
    import resource

    return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
