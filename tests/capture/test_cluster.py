"""A long record on a Dask cluster of two workers, one of them killed on the way: the same as pandas says."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from nbresponses.capture import schema
from nbresponses.capture.quantiles import quantiles_of

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.frames import summarize_on_a_cluster, write_long_record

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("default"),  # of other packages, when a worker dies
]

EVENTS = 5_000_000
GIBIBYTE = 1 << 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_long_record(EVENTS, tmp_path_factory.mktemp("long"))


def by_pandas(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Responses and times between pieces, each with model and date, by nothing but pandas."""
    responses = pd.read_parquet(folder / "responses")
    gaps = pd.read_parquet(folder / "deltas", columns=["gap", "model", "date"])
    return responses, gaps


@pytest.mark.parametrize("kill", [True, False])
def test_five_million_events_on_two_workers(folder, kill: bool, told) -> None:
    summary, facts = summarize_on_a_cluster(folder, kill=kill)
    responses, gaps = by_pandas(folder)
    assert bool(facts["killed"]) is kill
    assert facts["tasks"] > 6
    assert summary["events"].sum() == len(pd.read_parquet(folder / "events", columns=["bytes"])) > 0.99 * EVENTS
    groups = responses.groupby(["model", responses["started"].dt.strftime("%Y-%m-%d")], observed=True)
    assert len(summary) == groups.ngroups
    summary = summary.set_index(["model", "date"])
    for name in ("events", "bytes", "characters", "output_tokens", "total_tokens", "stalls"):
        pd.testing.assert_series_equal(summary[name], groups[name].sum(), check_names=False)
    assert (summary["completed"] == groups.size()).all()
    worst = max(_errors(summary, gaps))
    assert worst <= 0.01
    assert max(facts["peaks"]) < GIBIBYTE
    peaks = ", ".join(f"{peak / 2**20:.0f} MiB" for peak in facts["peaks"])
    told(f"cluster: worker killed: {kill}; {facts['tasks']} tasks; peaks {peaks}; worst error in rank {worst:.4f}")


def _errors(summary: pd.DataFrame, gaps: pd.DataFrame) -> list[float]:
    """How far the quantiles of the gaps are from the ranks that they stand for."""
    errors = []
    for (model, date), own in gaps.groupby(["model", "date"], observed=True):
        values = quantiles_of(own["gap"].dropna().to_numpy("m8[us]").astype(float), exact=True).values
        for label, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            found = summary.loc[(model, str(date)), f"gap_{label}"].total_seconds() * 1e6
            low, high = values.searchsorted(found - 0.5) / len(values), values.searchsorted(found + 0.5) / len(values)
            errors.append(max(low - share, share - high, 0.0))
    return errors


def test_the_summary_has_its_columns_there_too(folder) -> None:
    summary, _ = summarize_on_a_cluster(folder, kill=False)
    assert [(name, str(dtype)) for name, dtype in summary.dtypes.items()] == [
        (column.name, column.dtype) for column in schema.SUMMARY
    ]
