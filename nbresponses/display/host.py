"""What the front end behind this kernel can show, by what its last request said. Sends nothing and never raises."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["kernel_id", "shows_widgets"]

_KERNEL_FILE = re.compile(r"kernel-([^/\\]+)\.json$")
_LAB = {"cellId", "deletedCells"}
"""What JupyterLab and Notebook 7 put into the metadata of an execute request. Clients without a page (nbclient,
papermill) don't, and hosts where a widget has not been tried don't have both."""


def shows_widgets(shell: Any) -> bool:
    """Whether a page of JupyterLab or Notebook 7 runs this cell: only there a widget is known to work."""
    try:
        metadata = shell.kernel.get_parent().get("metadata") or {}
        return metadata.keys() >= _LAB
    except Exception:  # whatever stands in for a kernel here
        return False


def kernel_id(shell: Any) -> str:
    """The id under which a Jupyter Server knows this kernel, "" where it cannot be told."""
    try:
        found = _KERNEL_FILE.search(str(shell.kernel.config["IPKernelApp"]["connection_file"]))
    except Exception:  # no kernel, or one without a connection file
        return ""
    return found[1] if found else ""
