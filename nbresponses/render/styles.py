"""The look of the HTML: inline styles only, which notebooks keep where they strip style sheets, classes and scripts.

Greys are half-transparent, so that they fit light and dark pages; JupyterLab's own colours are used where it has them.
"""

from __future__ import annotations

__all__ = [
    "BADGE",
    "BODY",
    "CARD",
    "CELL",
    "CODE",
    "DETAILS",
    "ERROR",
    "HEAD",
    "IMAGE",
    "INSIDE",
    "LINE",
    "LINK",
    "MUTED",
    "NOTICE",
    "PRE",
    "QUOTE",
    "SCROLL",
    "SUMMARY",
    "TABLE",
]

_MONO = "font-family:var(--jp-code-font-family, monospace)"
_EDGE = "1px solid rgba(127,127,127,0.3)"

BODY = "overflow-x:auto;overflow-wrap:break-word;line-height:1.5"
MUTED = "opacity:0.7;font-size:85%"
LINE = f"margin-top:0.8em;padding-top:0.3em;border-top:{_EDGE};{MUTED}"
PRE = (
    "margin:0.5em 0;padding:0.6em 0.8em;overflow:auto;max-height:30em;white-space:pre-wrap;border-radius:4px;"
    f"background-color:rgba(127,127,127,0.1);line-height:1.4;{_MONO}"
)
CODE = f"padding:0.1em 0.3em;border-radius:3px;background-color:rgba(127,127,127,0.15);{_MONO}"
DETAILS = "margin:0.5em 0;padding-left:0.8em;border-left:3px solid rgba(127,127,127,0.3)"
SUMMARY = "cursor:pointer;opacity:0.75"
CARD = f"margin:0.6em 0;border:{_EDGE};border-radius:6px;overflow:hidden"
HEAD = "padding:0.35em 0.8em;background-color:rgba(127,127,127,0.1)"
BADGE = "opacity:0.7;font-size:85%;margin-left:0.25em"
INSIDE = "padding:0.1em 0.8em 0.3em"
TABLE = "border-collapse:collapse;margin:0.5em 0"
CELL = f"border:{_EDGE};padding:0.25em 0.6em;text-align:"
QUOTE = "margin:0.5em 0;padding-left:0.8em;border-left:3px solid rgba(127,127,127,0.3);opacity:0.85"
LINK = "color:inherit;text-decoration:underline"
SCROLL = "overflow-x:auto"
IMAGE = "max-width:100%;height:auto;border-radius:4px"
NOTICE = "margin:0.6em 0;padding:0.4em 0.8em;border-left:3px solid rgb(200,140,0);background-color:rgba(200,140,0,0.1)"
ERROR = "margin:0.6em 0;padding:0.4em 0.8em;border-left:3px solid rgb(205,60,60);background-color:rgba(205,60,60,0.1)"
