"""One HTML file with the player and its runs in it, which asks for nothing from anywhere.

The page's policy forbids it to: only the one script and the one style sheet whose hashes are named may run, and
nothing may be fetched. What comes from a log stands in a block of data, and gets onto the screen as text alone.
Knows nothing about what is shown.
"""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape

from pagesim.web.bundle import Json
from pagesim.web.script import player_script, player_style

MOST_BYTES = 10_000_000

PAGE_STYLE = """
html { height: 100%; }
body { margin: 0; min-height: 100%; }
noscript { display: block; padding: 2rem; font-family: system-ui, sans-serif; }
"""
ABOVE_STYLE = """
body > nav { display: flex; gap: 1.5rem; padding: 0.5rem max(1rem, calc((100% - 1448px) / 2)); background: Canvas;
  color: CanvasText; font: 14px/1.5 system-ui, sans-serif; border-bottom: 1px solid #8884; }
body > nav a { color: inherit; flex: 0 1 auto; min-width: 0; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
body > nav a:first-child { flex: none; margin-right: auto; font-weight: 600; }
body > nav a:focus-visible { outline: 3px solid #2f9bd8; outline-offset: -3px; }
"""
START = """
const data = JSON.parse(document.getElementById("pagesim-data").textContent);
mount(document.getElementById("player"), data, { page: true });
"""
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">{head}
<title>{title}</title>
<style>{style}</style>
</head>
<body>{above}
<main id="player"><noscript>This page needs JavaScript. <code>pagesim view</code> shows the same run in a terminal,
and <code>pagesim export LOG@STEP -o frame.html</code> one step of it without any script.</noscript></main>
<script type="application/json" id="pagesim-data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def player_page(payload: Json, title: str, *, head: str = "", above: str = "") -> str:
    """The whole file. ``payload`` is ``page_payload``'s; ``head`` and ``above`` are markup: what else is in its head,
    and a ``<nav>`` above the player."""
    script = player_script() + START
    style = player_style() + PAGE_STYLE + (ABOVE_STYLE if above else "")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return PAGE.format(
        policy=policy,
        title=escape(title),
        head=f"\n{head}" if head else "",
        above=f"\n{above}" if above else "",
        style=style,
        data=embedded(payload),
        script=script,
    )


def embedded(value: object) -> str:
    """JSON that can stand inside a ``<script>``: nothing in it can end the element or begin another. Plain ASCII."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
