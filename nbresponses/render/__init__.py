"""Response → blocks → Markdown, HTML and plain text. Pure, and the one place where HTML is made.

Everything from a model or a server is untrusted here: it is escaped, cleaned and never loaded from elsewhere.
"""

from __future__ import annotations

from .untrusted import clean

__all__ = ["clean"]
