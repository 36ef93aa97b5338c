"""Execute notebooks and save their outputs. A notebook that says the same as before is left as it was saved.

    python notebooks/execute.py [NOTEBOOK ...] [--check]

Each runs in a new kernel of this Python, in an empty folder, without a key. Ids, ports and times differ from run to
run: `normal` says what is compared, so that only a notebook which says something new is written. Then all its outputs
are those of the run, since an id in one cell must be that in the next.

`--check` writes nothing and fails where a notebook says something else than its file.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
OURS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
NEEDS_A_SERVER = ("07_a_real_server",)
"""Notebooks that run where somebody else's server does; all others need nothing."""

# ── Executing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def execute(notebook: Any, *, extra: Sequence[str] = (), timeout: float = 120) -> Any:
    """A copy of the notebook with the outputs of a run; `extra` are code cells that are run after its own.

    Raises CellExecutionError for a cell that fails and is not tagged `raises-exception`; `timeout` (seconds) is that of
    one cell.
    """
    copy = nbformat.reads(nbformat.writes(notebook), as_version=4)
    copy.cells += [nbformat.v4.new_code_cell(source) for source in extra]
    for cell in copy.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory(prefix="notebook") as folder:
        (Path(folder) / "pyproject.toml").touch()  # settings of a folder above do not count
        NotebookClient(
            copy,
            timeout=timeout,
            resources={"metadata": {"path": folder}},
            store_widget_state=False,
            record_timing=False,
            extra_arguments=["--log-level=ERROR"],
        ).execute(env=_environment(folder))
    return copy


def _environment(folder: str) -> dict[str, str]:
    """That of this process, without a key, and without the user's own IPython."""
    kept = {name: value for name, value in os.environ.items() if name not in OURS}
    return {**kept, "IPYTHONDIR": str(Path(folder) / ".ipython")}


# ── Comparing ────────────────────────────────────────────────────────────────────────────────────────────────────────

_VARIES = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"\x1b\[[0-9;]*m", ""),
        (r"data:image/(\w+);base64,[\w+/=]+", r"data:image/\1"),
        (r"\b([a-z]{2,10}_)[0-9a-f]{12,}(\.\.\.|…)?", r"\1ID"),
        (r"\bcall_[0-9A-Za-z]{16,}", "call_ID"),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
        (r"\b0x[0-9a-f]{6,}\b", "ADDRESS"),
        (r"""(["']obfuscation["']: ?)["']\w*["']""", r"\1PADDING"),
        (r"\b1[7-9]\d{8}\b", "TIME"),  # seconds since 1970
        (r"127\.0\.0\.1:\d+", "HOST:PORT"),
        (r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?)?", "TIME"),
        (r"-?\b\d+ days \d\d:\d\d:\d\d(\.\d+)?", "DURATION"),
        (r"\d+(\.\d+)?(?= ?(tokens/s|ms|µs|s)\b)", "N"),
        (r"\d+\.\d+(e-?\d+)?", "N.N"),
        (r"[▁-█][▁-█ ]*", "BARS"),
        (r"\s+", " "),  # the columns of a table are as wide as what is in them
    )
)


def normal(output: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared of an output: its kind, and its texts without what differs from run to run.

    Of a picture that is its type. A DataFrame's plain text is broken into lines by the width of its columns, so beside
    HTML the plain text counts as present or absent.
    """
    kind = output["output_type"]
    if kind == "stream":
        return {"kind": kind, "name": output["name"], "text": plain(output["text"])}
    if kind == "error":
        block = " ".join(output["traceback"])
        return {"kind": kind, "name": output["ename"], "text": plain(f"{output['evalue']} {block}")}
    data = {}
    beside = {"text/plain"} if "text/html" in output["data"] else set()
    for media_type, content in sorted(output["data"].items()):
        text = content if isinstance(content, str) else json.dumps(content, sort_keys=True)
        data[media_type] = "" if media_type.startswith("image/") or media_type in beside else plain(text)
    return {"kind": kind, **data, "metadata": plain(json.dumps(output.get("metadata", {}), sort_keys=True))}


def plain(text: str) -> str:
    """A text without what differs from run to run."""
    text = html.unescape(text)
    for pattern, instead in _VARIES:
        text = pattern.sub(instead, text)
    return text.strip()


def outputs_of(cell: Any) -> list[dict[str, Any]]:
    """The outputs of a cell, normal; what was printed in pieces is one. Of a cell tagged `varies` only their kinds."""
    found: list[dict[str, Any]] = []
    for output in cell.get("outputs", []):
        one = normal(output)
        before = found[-1] if found else {}
        if one["kind"] == "stream" and (before.get("kind"), before.get("name")) == ("stream", one["name"]):
            before["text"] = f"{before['text']} {one['text']}".strip()
        else:
            found.append(one)
    if "varies" in cell.metadata.get("tags", ()):
        return [{name: one["kind"] if name == "kind" else "" for name in one} for one in found]
    return found


def differences(saved: Any, executed: Any) -> list[str]:
    """One text for each cell whose outputs are not those that were saved."""
    pairs = zip(saved.cells, executed.cells, strict=False)  # the executed one may have extra cells
    return [
        f"cell {number}, {before.source.splitlines()[0]!r}: {_parting(outputs_of(before), outputs_of(after))}"
        for number, (before, after) in enumerate(pairs)
        if outputs_of(before) != outputs_of(after)
    ]


def _parting(saved: list[dict[str, Any]], executed: list[dict[str, Any]]) -> str:
    """Where two lists of outputs part, with some characters around."""
    one, other = repr(saved), repr(executed)
    at = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    around = slice(max(0, at - 60), at + 120)
    return f"\n  saved    …{one[around]}…\n  executed …{other[around]}…"


# ── Saving ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def save(path: Path, saved: Any, executed: Any) -> None:
    """Write the outputs of a run into the file, and nothing that differs from machine to machine."""
    for before, after in zip(saved.cells, executed.cells, strict=True):
        if before.cell_type == "code":
            before.outputs, before.execution_count = after.outputs, after.execution_count
        before.metadata.pop("execution", None)
    saved.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
        }
    )
    nbformat.write(saved, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Execute notebooks and save their outputs.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="all that need no server of others, if none is named")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where something else comes out")
    given = parser.parse_args(arguments)
    paths = given.notebooks or [path for path in sorted(HERE.glob("*.ipynb")) if path.stem not in NEEDS_A_SERVER]
    differ = False
    for path in paths:
        saved, began = nbformat.read(path, as_version=4), time.monotonic()
        executed = execute(saved)
        found = differences(saved, executed)
        print(f"{path.name}: {time.monotonic() - began:.1f} s, {len(found)} cells differ", flush=True)
        differ |= bool(found)
        if given.check:
            print("\n".join(found))
        elif found:
            save(path, saved, executed)
    return int(differ and given.check)


if __name__ == "__main__":
    sys.exit(main())
