"""What other clients of HTTP streams got wrong, each held by a test: fault → the test that would turn red."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

HELD = {
    "B079 after response.failed the reader waited for the end": (
        "client/test_stream.py::test_a_terminal_event_ends_a_stream_whose_connection_stays"
    ),
    "B081 a stream that ends without a terminal event": "client/test_cases.py::test_case",
    "B083 only events reset the idle timer": "client/test_timeouts.py::test_any_byte_resets_idle",
    "B085 a total limit cut healthy streams": "client/test_timeouts.py::test_there_is_no_total_limit_by_default",
    "B086 the error body of a stream was not read": "client/test_refusals.py::test_an_error_body_is_read_in_any_shape",
    "B088 streams with another label": "client/test_refusals.py::test_a_stream_is_read_whatever_its_label",
    "B089 a past Retry-After gave a negative wait": "client/test_retries.py::test_the_server_says_how_long_to_wait",
    "B091 connections were not given back": (
        "client/test_async.py::test_a_full_pool_gets_its_places_back_however_a_stream_ends"
    ),
    "B093 a cut transfer threw away the text": "client/test_cases.py::test_case",
    "B094 a retry after output repeated the beginning": (
        "client/test_retries.py::test_nothing_is_repeated_after_the_first_event"
    ),
    "B096 a fixed resume cursor skipped events": "client/test_cases.py::test_the_overlap_of_a_resume",
    "B097 a client bound to a closed loop": "client/test_async.py::test_one_client_in_two_loops",
    "B098 a compressed body was not read": "client/test_cases.py::test_a_compressed_stream_is_read_event_by_event",
    "B099 the clean-up masked the transport's error": (
        "client/test_cases.py::test_an_error_of_the_clean_up_does_not_hide_the_one_before"
    ),
    "B100 HTTP 200 counted as success": "client/test_cases.py::test_case",
    "B132 a text was shown as a file": "render/test_cases.py::test_case",
    "B185 a text was read as a path": "render/test_cases.py::test_case",
    "B187 remote pictures were loaded": "render/test_cases.py::test_case",
    "B193 a text became a formula": "capture/test_cases.py::test_b193_a_formula_is_disarmed_in_csv_and_nowhere_else",
    "B198 credentials followed a redirect": (
        "client/test_refusals.py::test_a_redirect_to_another_origin_is_refused_and_gets_nothing"
    ),
}


@pytest.mark.parametrize("fault", HELD, ids=lambda fault: fault.split()[0])
def test_the_test_is_there(fault: str, names_a_test: Callable[[str], None]) -> None:
    names_a_test(HELD[fault])
