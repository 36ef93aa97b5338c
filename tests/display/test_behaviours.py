"""What notebooks, widgets and shown text got wrong elsewhere: fault → the test that would turn red."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nbresponses import EventDecoder, InvalidEvent

TESTS = Path(__file__).parents[1]
SHOWN = "render/test_cases.py::test_case"

JUPYTER = {
    "B130 too many output messages": "display/test_live_wire.py::test_an_answer_of_20_kb_in_5000_deltas",
    "B132 a text was shown as a file": SHOWN,
    "B133 clearing raced with printing": "magics/test_kernel.py::test_one_output_that_is_updated_and_settles",
    "B134 each redraw added a copy": "display/test_updating.py::test_one_output_of_its_own",
    "B135 two outputs in one cell were merged": (
        "browser/test_live_use.py::test_two_streams_in_one_cell_have_their_own_views"
    ),
    "B137 a reload lost the rest": "browser/test_lab.py::test_a_page_reloaded_in_mid_stream_shows_the_whole_answer",
    "B138 a loop was running already": "client/test_loop.py::test_inside_a_running_loop",
    "B140 an interrupt waited for the next byte": "magics/test_kernel.py::test_an_interrupt_before_the_first_byte",
    "B142 braces in a prompt": "magics/test_cell.py::test_braces_dollars_and_percents_are_sent_as_they_stand",
    "B143 values were scanned for braces": "magics/test_interpolate.py::test_values_are_never_looked_at_again",
    "B144 names in a magic's line": "magics/test_cell.py::test_braces_dollars_and_percents_are_sent_as_they_stand",
    "B145 money became a formula": SHOWN,
    "B147 an open code block was rewritten": SHOWN,
    "B149 WebP was unknown": "render/test_pictures.py::test_the_first_bytes_decide_whatever_was_declared",
    "B151 magics around and inside": "magics/test_cell.py::test_around_it_and_inside_it",
}
WIDGETS = {
    "B152 a thread's output went to another cell": (
        "browser/test_live_use.py::test_streams_of_other_cells_stay_in_their_cells"
    ),
    "B154 the second panel got nothing": "browser/test_live_use.py::test_streams_of_other_cells_stay_in_their_cells",
    "B155 stop did nothing while a cell ran": "browser/test_module.py::test_stop_without_an_answer_names_the_toolbar",
    "B156 the whole state at each piece": (
        "display/test_live_state.py::test_an_answer_of_many_pieces_costs_little_more_than_itself"
    ),
    "B159 a script for each panel in the file": (
        "browser/test_lab.py::test_the_saved_file_shows_the_answer_without_a_kernel"
    ),
    "B161 a reopened file had no result": (
        "browser/test_live_lab.py::test_a_file_saved_in_mid_stream_holds_what_had_come"
    ),
    "B162 displays made in a thread were lost": (
        "display/test_view.py::test_the_output_is_opened_before_the_thread_begins"
    ),
}
SECURITY = {
    "B185 a text was read as a path": SHOWN,
    "B187 remote pictures were loaded": SHOWN,
    "B189 handlers in HTML ran": SHOWN,
    "B190 handlers on rare tags ran": SHOWN,
    "B191 a text ended the script tag": SHOWN,
    "B192 a label was HTML": "browser/test_hostile.py::test_live_nothing_runs_or_loads",
    "B193 a text became a formula of a spreadsheet": (
        "capture/test_cases.py::test_b193_a_formula_is_disarmed_in_csv_and_nowhere_else"
    ),
    "B195 a log had the key": "client/test_secrets.py::test_no_failure_shows_a_key",
    "B197 credentials followed a redirected handshake": (
        "client/test_socket_redirect.py::test_a_redirected_handshake_is_refused_and_the_target_gets_nothing"
    ),
    "B198 credentials followed a redirect": (
        "client/test_refusals.py::test_a_redirect_to_another_origin_is_refused_and_gets_nothing"
    ),
    "B199 an error quoted its input": "display/test_behaviours.py::test_b199_an_error_does_not_quote_its_input",
    "B201 control codes reached the terminal": "display/test_plain.py::test_no_escape_codes_into_pipes",
}
HELD = JUPYTER | WIDGETS | SECURITY


@pytest.mark.parametrize("fault", HELD, ids=lambda fault: fault.split()[0])
def test_the_test_is_there(fault: str, names_a_test: Callable[[str], None]) -> None:
    names_a_test(HELD[fault])


def test_b199_an_error_does_not_quote_its_input() -> None:
    case = json.loads((TESTS / "data" / "cases" / "B199.json").read_text())
    decoder = EventDecoder()
    events = [event for piece in case["input"]["chunks_b64"] for event in decoder.feed(base64.b64decode(piece))]
    events += decoder.finish()
    (broken,) = (event for event in events if isinstance(event, InvalidEvent))
    assert len(events) - 1 == case["expect"]["n_json_events"]
    secret = case["expect"]["error_text_must_not_contain"]
    assert secret not in str(broken.error) + repr(broken.error) + repr(broken)
    assert secret in broken.error.excerpt
