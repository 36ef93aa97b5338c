"""A progress bar made of text (tqdm), for what takes long. In a saved notebook it stays what it was.

tqdm's own bar for notebooks is a widget, which a saved notebook shows as an error when it is opened again.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["progress_bar"]


def progress_bar(total: int, **options: Any) -> Any:
    """A `tqdm` bar: in a notebook in the cell's output, elsewhere on standard error, which a pipe does not take."""
    from tqdm.std import tqdm

    return tqdm(total=total, file=sys.stdout if "ipykernel" in sys.modules else sys.stderr, **options)
