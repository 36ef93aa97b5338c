"""Response → blocks → Markdown, HTML and plain text. Pure, and the one place where HTML is made.

Everything from a model or a server is untrusted here: it is escaped, cleaned and never loaded from elsewhere. No I/O,
no clock, no IPython.
"""

from __future__ import annotations

from nbresponses.render.blocks import Block, Key
from nbresponses.render.bundle import bundle, metadata, unfinished
from nbresponses.render.html import block_html, status_html, to_html
from nbresponses.render.markdown import to_markdown
from nbresponses.render.pictures import Picture, image_type, read_picture
from nbresponses.render.reading import Preview, blocks, item_blocks
from nbresponses.render.status import StatusLine, duration
from nbresponses.render.text import block_text, to_text
from nbresponses.render.untrusted import clean

__all__ = [
    "Block",
    "Key",
    "Picture",
    "Preview",
    "StatusLine",
    "block_html",
    "block_text",
    "blocks",
    "bundle",
    "clean",
    "duration",
    "image_type",
    "item_blocks",
    "metadata",
    "read_picture",
    "status_html",
    "to_html",
    "to_markdown",
    "to_text",
    "unfinished",
]
