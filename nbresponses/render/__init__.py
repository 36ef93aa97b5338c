"""Response → blocks → Markdown, HTML and plain text. Pure, and the one place where HTML is made.

Everything from a model or a server is untrusted here: it is escaped, cleaned and never loaded from elsewhere. No I/O,
no clock, no IPython.
"""

from __future__ import annotations

from .blocks import Block, Key
from .bundle import bundle, metadata
from .html import block_html, status_html, to_html
from .markdown import to_markdown
from .pictures import Picture, image_type, read_picture
from .reading import Preview, blocks, item_blocks
from .status import StatusLine, duration
from .text import block_text, to_text
from .untrusted import clean

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
]
