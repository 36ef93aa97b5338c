"""What stands in a notebook → what a model can be shown: paths, pictures, figures, arrays, frames. Sends nothing.

Objects are told by what they can do, so no library is imported that the user has not imported already. Paths are read
here; a plain `str` is a path only where the caller says so (`image_part`, `file_part`), never where it could be a text.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbresponses.core.inputs import MAX_FILE_BYTES, MAX_IMAGE_BYTES, png, text_part
from nbresponses.core.inputs import file_part as _file_part
from nbresponses.core.inputs import image_part as _image_part
from nbresponses.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["file_part", "image_part", "table_part"]

_TABLE_BYTES = 200_000
_PNG_MODES = frozenset({"1", "L", "LA", "I;16", "P", "RGB", "RGBA"})  # of PIL
_OTHER_MODES = {"I": "I;16", "La": "LA", "PA": "RGBA", "RGBa": "RGBA"}  # what loses least; of all others RGB
_LINKS = ("https://", "http://", "data:")


def image_part(source: Any, *, detail: str | None = None) -> dict[str, Any]:
    """An image part from a path, a link, bytes, a PIL image, a matplotlib figure (or axes), or a numpy array.

    An array is height by width (by channels), of uint8, or of floats from 0 to 1. RequestError for anything else, for a
    path without a file, and above 50 MB.
    """
    if isinstance(source, str) and source.lower().startswith(_LINKS):
        return _image_part(source, detail=detail)
    if isinstance(source, (str, os.PathLike)):
        return _image_part(_read(source, "image", MAX_IMAGE_BYTES), detail=detail)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _image_part(bytes(source), detail=detail)
    figure = getattr(source, "figure", source)  # axes know their figure
    if hasattr(figure, "savefig"):
        return _image_part(_written(lambda out: figure.savefig(out, format="png", bbox_inches="tight")), detail=detail)
    if hasattr(source, "save") and hasattr(source, "mode"):
        return _image_part(_of_picture(source), detail=detail)
    if hasattr(source, "__array_interface__") or hasattr(source, "__array__"):
        return _image_part(_of_array(source), detail=detail)
    raise RequestError(
        "image", f"a path, a link, bytes, a PIL image, a figure or an array is expected, not {type(source).__name__}"
    )


def file_part(source: Any, *, filename: str | None = None) -> dict[str, Any]:
    """A file part from a path, bytes (with `filename`), an id ("file-…") or a link (https:).

    RequestError for anything else, for a path without a file, and above 50 MB.
    """
    if isinstance(source, str) and source.lower().startswith(_LINKS):
        return _file_part(source)
    if isinstance(source, str) and source.startswith(("file-", "file_")) and not Path(source).exists():
        return _file_part(source)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source).expanduser()
        return _file_part(_read(path, "file", MAX_FILE_BYTES), filename=filename or path.name)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _file_part(bytes(source), filename=filename)
    raise RequestError("file", f"a path, bytes, an id or a link is expected, not {type(source).__name__}")


def table_part(frame: Any, *, name: str = "", max_bytes: int = _TABLE_BYTES) -> dict[str, Any]:
    """A DataFrame (or Series) as a text part: its shape and types, then its rows as CSV.

    Rows beyond `max_bytes` of CSV are left out from the end, and the text says how many. RequestError where not
    even one row fits, and for what is no DataFrame.
    """
    if hasattr(frame, "to_frame") and not hasattr(frame, "columns"):
        frame = frame.to_frame()
    if not hasattr(frame, "to_csv") or not hasattr(frame, "dtypes"):
        raise RequestError("table", f"a DataFrame is expected, not {type(frame).__name__}")
    total = len(frame)
    shown = frame
    text = shown.to_csv()
    while (size := _bytes(text)) > max_bytes and len(shown) > 1:
        shown = shown.iloc[: max(1, min(len(shown) - 1, len(shown) * max_bytes // size))]
        text = shown.to_csv()
    if size > max_bytes:
        raise RequestError("table", f"one row takes more than {max_bytes} bytes as CSV")
    columns = ", ".join(f"{column} ({dtype})" for column, dtype in frame.dtypes.items())
    left_out = f"; the first {len(shown)} of them follow" if len(shown) < total else ""
    head = f"Table{f' {name}' if name else ''}: {total} rows{left_out}. Columns: {columns}. As CSV, the index first:"
    return text_part(f"{head}\n\n{text}")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _read(path: str | os.PathLike[str], field: str, limit: int) -> bytes:
    place = Path(path).expanduser()
    try:
        about = place.stat()
        odd = not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode))  # a folder has an error of its own
        if not odd and about.st_size <= limit:
            return place.read_bytes()
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        raise RequestError(field, f"{place} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if odd:
        raise RequestError(field, f"{place} is no file but a device or a pipe, which may never end")
    raise RequestError(field, f"{place} has {about.st_size / 2**20:.1f} MB; a request takes {limit / 2**20:.0f} MB")


def _written(write: Callable[[io.BytesIO], Any]) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def _of_picture(source: Any) -> bytes:
    """A PIL image as PNG. One of floats is read as the array it is: converting would cut its values off."""
    if source.mode == "F":
        return _of_array(source)
    picture = source if source.mode in _PNG_MODES else source.convert(_OTHER_MODES.get(source.mode, "RGB"))
    try:
        return _written(lambda out: picture.save(out, format="PNG"))
    except (OSError, ValueError) as error:
        raise RequestError("image", f"this picture cannot be written as PNG: {error}") from None


def _of_array(source: Any) -> bytes:
    import numpy as np

    array = np.asarray(source)
    if array.dtype.kind == "f":
        known = array[~np.isnan(array)]
        if known.size and not (known.min() >= 0 and known.max() <= 1):
            raise RequestError("image", "an array of floats is expected to lie within 0 and 1")
        array = np.round(np.nan_to_num(array) * 255).astype(np.uint8)
    elif array.dtype.kind == "b":
        array = array.astype(np.uint8) * 255
    if array.dtype != np.uint8 or array.ndim not in {2, 3}:
        raise RequestError(
            "image", f"an array of uint8 or floats, height by width (by channels), not {array.dtype} {array.shape}"
        )
    height, width = array.shape[:2]
    channels = array.shape[2] if array.ndim == 3 else 1
    return png(np.ascontiguousarray(array).tobytes(), width=width, height=height, channels=channels)
