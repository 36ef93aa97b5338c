"""Stop on kernels that route a widget's messages differently: each a wheel laid before the installed ipykernel."""

from __future__ import annotations

import subprocess
import sys
import time
import zipfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

CELLS = (
    "import ipykernel; print(ipykernel.__version__)\n%load_ext nbresponses",
    """%%responses --model demo-long --param 'metadata={"demo_count":"400","demo_delay":"0.02"}'\nCount""",
    "_responses.ending",
)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def wheel(version: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    done = subprocess.run([*command, f"ipykernel=={version}"], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        pytest.skip(f"ipykernel {version} cannot be fetched: {done.stderr[-200:]}")
    unpacked = folder / version
    with zipfile.ZipFile(next(folder.glob(f"ipykernel-{version}-*.whl"))) as archive:
        archive.extractall(unpacked)
    return unpacked


@pytest.mark.parametrize("version", ["6.29.5", "7.1.0", "7.3.0"])
def test_stop(browser: Browser, tmp_path: Path, version: str) -> None:
    from lab import LabPage, LabServer

    environment = {"PYTHONPATH": str(wheel(version, tmp_path))}
    with LabServer(environment=environment) as server, LabPage(server, browser, "stop.ipynb", CELLS) as lab:
        lab.run(0)
        assert version in lab.text(0)
        lab.start(1)
        lab.page.wait_for_function("document.querySelector('.nbr-md')?.innerText.length > 40")
        lab.page.click(".nbr-stop")
        clicked = time.monotonic()
        lab.wait(1)
        assert time.monotonic() - clicked < 3, "about 0.1 s with subshells, 0.5 s without"
        lab.page.wait_for_selector(".nbr", state="detached")
        lab.run(2)
        assert "interrupted" in lab.text(2)
