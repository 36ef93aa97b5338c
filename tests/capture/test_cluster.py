"""A long record on a Dask cluster of two workers, one of them killed on the way: the same as pandas says."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pandas as pd
import pytest

from nbresponses import summarize
from nbresponses.capture import schema
from nbresponses.capture.quantiles import quantiles_of

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.frames import long_record, summarize_on_a_cluster, written

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("default"),  # of other packages, when a worker dies
]

EVENTS = 5_000_000
GIBIBYTE = 1 << 30


@pytest.fixture(scope="module")
def record(tmp_path_factory) -> tuple[Path, pd.DataFrame]:
    """The folder of the dataset, and its summary by pandas, exact, from the captures themselves."""
    folder = tmp_path_factory.mktemp("long")
    return folder, summarize(written(long_record(EVENTS), folder))


@pytest.mark.parametrize("kill", [True, False])
def test_five_million_events_on_two_workers(record, kill: bool, told) -> None:
    folder, expected = record
    summary, facts = summarize_on_a_cluster(folder, kill=kill)
    gc.collect()  # what the cluster left open is warned of here, not in a later test
    assert bool(facts["killed"]) is kill
    assert facts["tasks"] > 6
    assert expected["events"].sum() > 0.99 * EVENTS
    exactly = [column.name for column in schema.SUMMARY if not column.name.endswith(("_p50", "_p90", "_p99"))]
    pd.testing.assert_frame_equal(summary[exactly], expected[exactly])
    assert list(map(str, summary.dtypes)) == [column.dtype for column in schema.SUMMARY]
    worst = max(_errors(summary.set_index(["model", "date"]), folder))
    assert worst <= 0.01
    assert max(facts["peaks"]) < GIBIBYTE
    peaks = ", ".join(f"{peak / 2**20:.0f} MiB" for peak in facts["peaks"])
    told(f"cluster: worker killed: {kill}; {facts['tasks']} tasks; peaks {peaks}; worst error in rank {worst:.4f}")


def test_the_sums_are_those_that_pandas_takes_from_the_files(record) -> None:
    folder, expected = record
    responses = pd.read_parquet(folder / "responses")
    groups = responses.groupby(["model", responses["started"].dt.strftime("%Y-%m-%d")], observed=True)
    for name in ("events", "bytes", "characters", "output_tokens", "total_tokens", "stalls"):
        assert groups[name].sum().tolist() == expected[name].tolist(), name
    assert expected["events"].sum() == len(pd.read_parquet(folder / "events", columns=["bytes"]))


def _errors(summary: pd.DataFrame, folder: Path) -> list[float]:
    """How far the quantiles of the gaps are from the ranks that they stand for."""
    gaps, errors = pd.read_parquet(folder / "deltas", columns=["gap", "model", "date"]), []
    for (model, date), own in gaps.groupby(["model", "date"], observed=True):
        values = quantiles_of(own["gap"].dropna().to_numpy("m8[us]").astype(float), exact=True).values
        for label, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            found = summary.loc[(model, str(date)), f"gap_{label}"].total_seconds() * 1e6
            low, high = values.searchsorted(found - 0.5) / len(values), values.searchsorted(found + 0.5) / len(values)
            errors.append(max(low - share, share - high, 0.0))
    return errors
