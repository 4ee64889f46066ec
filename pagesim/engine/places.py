"""Where downloaded models lie: the user's cache folder, as each system has it. Creates nothing."""

import sys
from collections.abc import Mapping
from pathlib import Path

APP = "pagesim"


def cache_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """``PAGESIM_CACHE`` if it is set, else what the system wants; a variable that is empty or relative is as none."""
    chosen = environ.get("PAGESIM_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if platform == "win32":
        local = environ.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / APP / "Cache"
    if platform == "darwin":
        return home / "Library" / "Caches" / APP
    xdg = Path(environ.get("XDG_CACHE_HOME") or "")
    return (xdg if xdg.is_absolute() else home / ".cache") / APP
