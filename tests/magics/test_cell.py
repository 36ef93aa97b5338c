"""`%%responses` cells in a shell without a front end: what is sent, what is bound, what is printed, how a cell ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from IPython.core.error import UsageError
from nbresponses_magics.options import OPTIONS

from nbresponses import (
    Capture,
    ConnectionFailed,
    DemoServer,
    Rejected,
    Response,
    ResponseCutOff,
    ResponseFailed,
    ResponseStream,
)
from nbresponses.display.plain import QuietView

KEY = "sk-test-0123456789abcdef"


class Ran(NamedTuple):
    ok: bool
    error: BaseException | None
    out: str
    err: str


@pytest.fixture(scope="module")
def server() -> Iterator[DemoServer]:
    with DemoServer(delay=0) as running:
        yield running


@pytest.fixture
def run(loaded: Any, server: DemoServer, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Callable[[str], Ran]:
    """Runs a cell against the demo server as if it were any server, with a key and a model."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    loaded.run_line_magic("config", "Responses.model = 'demo-echo'")

    def run(cell: str) -> Ran:
        capsys.readouterr()
        done = loaded.run_cell(cell)
        out, err = capsys.readouterr()
        assert KEY not in out + err
        return Ran(done.success, done.error_in_exec or done.error_before_exec, out, err)

    return run


def sent(server: DemoServer) -> dict[str, Any]:
    body: dict[str, Any] = server.requests[-1].body
    return body


@pytest.mark.parametrize("line", ["%%responses", "%%responses --lane a --no-wait"])
def test_the_settings_choose_the_view(run: Any, loaded: Any, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[dict[str, Any]] = []

    def choose(_shell: Any, **how: Any) -> Any:
        chosen.append(how)
        return QuietView()

    monkeypatch.setattr("nbresponses.display.choose_view", choose)
    run(f"{line}\nHi")
    loaded.run_line_magic("config", "Responses.allow_remote_images = True")
    loaded.run_line_magic("config", "Responses.widget = False")
    run(f"{line}\nHi")
    assert [how["allow_remote_images"] for how in chosen] == [False, True]
    assert [how["widget"] for how in chosen] == [True, False]


# ── the embedded server ──


def test_without_a_key_the_embedded_server_answers(loaded: Any, capsys: Any) -> None:
    assert loaded.run_cell("%%responses -p model=demo-echo\nHello").success
    lines = capsys.readouterr().out.splitlines()
    url = loaded.magics_manager.registry["ResponsesMagics"].session.demo_url
    assert lines[0] == f"Embedded demo server, no real model (no OPENAI_API_KEY and no base URL): {url}"
    assert lines[1] == "Demo turn 1: Hello"
    assert lines[2].startswith("[demo-echo · completed · ")
    loaded.run_cell("%%responses -m demo-echo -q\nAgain")
    assert loaded.magics_manager.registry["ResponsesMagics"].session.demo_url == url, "one server for all cells"


def test_a_key_or_a_base_url_means_a_real_server(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = loaded.magics_manager.registry["ResponsesMagics"].session
    assert session.endpoint().demo
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert not session.endpoint().demo
    assert session.endpoint().shown == "https://api.openai.com/v1"
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:pw@127.0.0.1:9/v1?key=abc")
    assert not session.endpoint().demo
    assert session.endpoint().shown == "http://127.0.0.1:9/v1"


# ── what is sent ──


def test_the_cell_is_the_prompt(run: Callable[[str], Ran], server: DemoServer) -> None:
    ran = run("%%responses\nHow are you?\n\nWell?\n")
    assert ran.out.splitlines()[0] == "Demo turn 1: How are you? Well?"
    assert sent(server) == {"model": "demo-echo", "input": "How are you?\n\nWell?", "stream": True}


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("-s 'Be brief.'", {"instructions": "Be brief."}),
        ("--reasoning low", {"reasoning": {"effort": "low", "summary": "auto"}}),
        ("--reasoning low --no-summary", {"reasoning": {"effort": "low"}}),
        ("--max-output-tokens 90 --temperature 0.5", {"max_output_tokens": 90, "temperature": 0.5}),
        ("--hosted image_generation:partial_images=3", {"tools": [{"type": "image_generation", "partial_images": 3}]}),
        ("--background", {"background": True}),
        ('-p store=false -p \'metadata={"a": "b"}\'', {"store": False, "metadata": {"a": "b"}}),
        ("-p temperature=1 --temperature 0.5", {"temperature": 0.5}),
        ("-p timeout=3 -p response_id=x", {"timeout": 3, "response_id": "x"}),
        ("-p stream=false", {"stream": True}),
    ],
)
def test_options_become_fields(
    run: Callable[[str], Ran], server: DemoServer, line: str, fields: dict[str, Any]
) -> None:
    assert run(f"%%responses -q {line}\nHi").ok
    assert {name: sent(server).get(name) for name in fields} == fields


def test_settings_are_defaults(run: Callable[[str], Ran], server: DemoServer) -> None:
    Path("pyproject.toml").write_text("[tool.nbresponses]\ntemperature = 0.25\nmodel = 'demo-nope'\nsummary = false")
    run("%config Responses.reasoning = 'high'")
    run("%config Responses.params = {'store': True, 'user': 'me'}")
    assert run("%%responses -q -p store=false\nHi").ok
    assert sent(server) == {
        "model": "demo-echo",
        "input": "Hi",
        "stream": True,
        "temperature": 0.25,
        "reasoning": {"effort": "high"},
        "store": False,
        "user": "me",
    }


def test_braces_dollars_and_percents_are_sent_as_they_stand(run: Callable[[str], Ran], server: DemoServer) -> None:
    run("x = 'NO'")
    text = "{w: len(w) for w in words} $x {x} %s %(x)s function f() { return x }"
    assert run(f"%%responses -q\n{text}").ok
    assert sent(server)["input"] == text
    assert run("%%responses -q -s 'What is $x or {x} worth?' -p user=$x\nHi").ok
    assert sent(server)["instructions"] == "What is $x or {x} worth?"
    assert sent(server)["user"] == "$x"
    assert "no command '$x'" in run("%responses $x {x}").err, "the line of the line magic is not expanded either"


def test_values_go_in_once(run: Callable[[str], Ran], server: DemoServer) -> None:
    run("value = '{{x}} {x} $y %s'\nx = 1")
    assert run("%%responses -q\n<{{value}}> \\{{x}} {{x + 1}}").ok
    assert sent(server)["input"] == "<{{x}} {x} $y %s> {{x}} 2"
    assert run("%%responses -q --raw\n<{{value}}> \\{{x}}").ok
    assert sent(server)["input"] == "<{{value}}> \\{{x}}"


def test_a_json_body(run: Callable[[str], Ran], server: DemoServer) -> None:
    run("facts = {'a': '\"q\"'}")
    body = '{"input": "say {{facts["a"]}}", "metadata": {{facts}}, "stream": false}'
    assert run(f"%%responses -q --json --temperature 0.5\n{body}").ok
    assert sent(server) == {
        "model": "demo-echo",
        "input": 'say "q"',
        "metadata": {"a": '"q"'},
        "temperature": 0.5,
        "stream": True,
    }


def test_continuing(run: Callable[[str], Ran], loaded: Any, server: DemoServer) -> None:
    assert "no completed answer" in run("%%responses -c\nHi").err
    run("%%responses -o first\nHi")
    first = loaded.user_ns["first"]
    run("%%responses -m demo-failed -q\nHi")
    ran = run("%%responses --continue\nAnd now?")
    assert ran.out.splitlines()[0] == "Demo turn 2: And now?"
    assert sent(server)["previous_response_id"] == first.id
    run("%%responses -q --previous {{first}}\nx")  # the line is never expanded
    assert sent(server)["previous_response_id"] == "{{first}}"
    run("%responses reset")
    assert "no completed answer" in run("%%responses -c\nHi").err


def test_no_execute_sends_nothing(run: Callable[[str], Ran], server: DemoServer) -> None:
    before = len(server.requests)
    ran = run("%%responses -N -o never --reasoning low\nHi")
    method, _, body = ran.out.partition("\n")
    assert method == f"POST {server.base_url}/responses"
    assert json.loads(body) == {
        "model": "demo-echo",
        "input": "Hi",
        "reasoning": {"effort": "low", "summary": "auto"},
        "stream": True,
    }
    assert len(server.requests) == before
    assert "never" not in run("%who_ls").out


# ── what is bound and printed ──


def test_names(run: Callable[[str], Ran], loaded: Any) -> None:
    before = set(loaded.user_ns)
    run("%%responses answer << -q\nHi")
    names = set(loaded.user_ns) - before - {"_i1", "_i", "_ii", "_iii", "_i2"}
    assert names == {"_responses", "answer"}
    stream = loaded.user_ns["answer"]
    assert stream is loaded.user_ns["_responses"]
    assert isinstance(stream, ResponseStream)
    assert stream.response.output_text == "Demo turn 1: Hi"
    shown = run("answer").out
    assert shown.split("\n", 1)[0].endswith("Demo turn 1: Hi") or shown.splitlines()[1] == "Demo turn 1: Hi"
    assert isinstance(stream.get_final_response(), Response)
    assert "Demo turn 1: Hi" in run("answer.response").out


def test_quiet(run: Callable[[str], Ran]) -> None:
    assert run("%%responses -q\nHi").out == ""
    assert run("%%responses -q -m demo-incomplete\nHi").out == "[Incomplete: it reached the limit of output tokens.]\n"


def test_capture_and_replay(run: Callable[[str], Ran], loaded: Any, server: DemoServer) -> None:
    run("%%responses --capture 'my run.jsonl' -o live\nHi")
    live = loaded.user_ns["live"]
    assert len(Capture.load("my run.jsonl")) == len(live.capture)
    assert KEY not in Path("my run.jsonl").read_text()
    before = len(server.requests)
    ran = run("%responses --replay 'my run.jsonl' --speed max -o again")
    assert ran.out.splitlines()[0] == "Demo turn 1: Hi"
    assert loaded.user_ns["again"].response.to_dict() == live.response.to_dict()
    assert run("%%responses --replay 'my run.jsonl' --speed 50\na note").ok
    assert len(server.requests) == before
    assert "nowhere.jsonl" in run("%responses --replay nowhere.jsonl").err
    Path("no.jsonl").write_text("no capture\n")
    assert run("%responses --replay no.jsonl").err.startswith("UsageError: --replay: no.jsonl, line 1: ")
    assert run("%%responses --capture no/such/folder.jsonl\nHi").err.startswith("UsageError: --capture: ")


def test_around_it_and_inside_it(run: Callable[[str], Ran], loaded: Any) -> None:
    timed = run("%%time\n%%responses\nHi")
    assert "Demo turn 1: Hi" in timed.out
    assert "Wall time" in timed.out
    assert run("def ask(text):\n    get_ipython().run_cell_magic('responses', '-q -o got', text)\n    return got").ok
    assert "turn 1: nested" in run("print(ask('nested').response.output_text)").out
    failing = (
        "from nbresponses import ResponseFailed",
        "try:",
        "    get_ipython().run_cell_magic('responses', '-m demo-failed', 'x')",
        "except ResponseFailed as error:",
        "    print('caught', error.response.output_text)",
    )
    assert run("\n".join(failing)).out.endswith("caught This demo is going to fail soon.\n")


def test_what_people_ask(run: Callable[[str], Ran], server: DemoServer) -> None:
    told = run("%responses").out
    assert f"endpoint    {server.base_url}  (OPENAI_BASE_URL)" in told
    assert "key         OPENAI_API_KEY is set" in told
    assert "Responses.model = 'demo-echo'  (set)" in told
    helped = run("%responses help").out
    assert all(flag in helped for option in OPTIONS for flag in option.flags)
    assert run("%responses --help").out == helped
    assert "\ndemo-image\n" in run("%responses models").out
    pinned = run("?%responses")
    assert pinned.ok
    demo = run("%responses demo").out
    assert "Using the embedded demo server at http://127.0.0.1:" in demo
    assert demo.count("\n") == 1
    listed = run("%responses models").out
    assert "\ndemo-image      A picture that gets sharper" in listed
    assert f"{listed.strip().count(chr(10))} models" in listed
    assert "emo server" not in run("%%responses\nHi").out, "whoever asked for it needs no reminder"
    assert "asked for by %responses demo" in run("%responses").out
    run("%responses reset")
    assert f"endpoint    {server.base_url}" in run("%responses").out
    assert run("%responses modles").err == (
        "UsageError: %responses has no command 'modles', did you mean models? (a prompt goes into a %%responses cell)\n"
    )
    assert "a prompt is needed" in run("%responses -m demo-text").err


# ── how a cell ends ──


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%%responses --modle x\nHi", "unknown option --modle, did you mean --model?"),
        ("%%responses -s 'x\nHi", "unbalanced quote in: -s 'x"),
        ("%%responses\n{{missing}}", "unknown name 'missing' in {{missing}}"),
        ("%%responses --json\n[1]", "--json: the cell is a JSON list, expected an object"),
        ("%%responses --json\n{", "--json: the cell is not JSON: "),
        ("%%responses -p temperature=warm\nHi", "temperature: "),
        ("%%responses --base-url ftp://x\nHi", "base_url: "),
        ("%%responses --base-url http://example.test/v1\nHi", "base_url: the API key would cross the network"),
    ],
)
def test_mistakes_are_one_line(run: Callable[[str], Ran], cell: str, says: str) -> None:
    ran = run(cell)
    assert not ran.ok
    assert type(ran.error) is UsageError
    assert ran.out == ""
    assert ran.err.startswith(f"UsageError: {says}")
    assert ran.err.count("\n") == 1


def test_a_real_server_needs_a_model(run: Callable[[str], Ran]) -> None:
    run("%config Responses.model = None")
    assert run("%%responses\nHi").err.startswith("UsageError: no model: add -m MODEL")


def test_incomplete_succeeds_with_a_notice(run: Callable[[str], Ran]) -> None:
    ran = run("%%responses -m demo-incomplete\nHi")
    assert ran.ok
    assert "[Incomplete: it reached the limit of output tokens.]" in ran.out


@pytest.mark.parametrize("model", ["demo-failed", "demo-error"])
def test_a_failure_is_one_block(run: Callable[[str], Ran], loaded: Any, model: str) -> None:
    ran = run(f"%%responses -m {model}\nHi")
    assert isinstance(ran.error, ResponseFailed)
    assert "Traceback" not in ran.out + ran.err
    stream = loaded.user_ns["_responses"]
    block = ran.out[ran.out.index("ResponseFailed: ") :].splitlines()
    assert block[1:] == [
        f"request id: {stream.request_id}",
        "kept: what came before it is in _responses",
        "remedy: run the cell again; nothing is wrong with the request itself",
    ]
    assert "failed on purpose" in block[0]
    assert stream.response.output_text == "This demo is going to fail soon."


def test_a_cut_stream_is_a_failure(run: Callable[[str], Ran], loaded: Any) -> None:
    ran = run('%%responses -m demo-text -p \'metadata={"demo_fault": "cut_at:9"}\'\nHi')
    assert isinstance(ran.error, ResponseCutOff)
    assert ran.error.response.output_text
    assert "Cut off: the stream ended before the response did." in ran.out
    assert "remedy: run the cell again" in ran.out
    assert loaded.user_ns["_responses"].ending == "cut_off"


def test_refused_and_unreachable(run: Callable[[str], Ran]) -> None:
    refused = run("%%responses -m demo-nope\nHi")
    assert isinstance(refused.error, Rejected)
    assert refused.out.startswith("Rejected: HTTP 400 (model_not_found)")
    assert "remedy: see the names that this server knows: %responses models" in refused.out
    run("%config Responses.max_retries = 0")
    nowhere = run("%%responses --base-url http://127.0.0.1:9/v1\nHi")
    assert isinstance(nowhere.error, ConnectionFailed)
    assert nowhere.out.splitlines()[0].startswith("ConnectionFailed: no connection to http://127.0.0.1:9/v1")
    assert nowhere.out.splitlines()[1].startswith("remedy: check the base URL")
    assert "Traceback" not in refused.out + refused.err + nowhere.out + nowhere.err


def test_tracebacks_when_asked_for(run: Callable[[str], Ran]) -> None:
    run("%config Responses.tracebacks = True")
    ran = run("%%responses -m demo-failed\nHi")
    assert "Traceback" in ran.out
    assert "remedy" not in ran.out


def test_limits_are_settings(run: Callable[[str], Ran]) -> None:
    run("%config Responses.timeouts = {'idle': 0.2}")
    run("%config Responses.max_retries = 0")
    ran = run('%%responses -p \'metadata={"demo_fault": "stall_at:6"}\'\nHi')
    assert isinstance(ran.error, ResponseCutOff)
    assert "raise the limit: %config Responses.timeouts" in ran.out
    run("%config Responses.timeouts = {'idel': 1}")
    assert run("%%responses\nHi").err.startswith("UsageError: Responses.timeouts: ")


def test_another_key_variable(run: Callable[[str], Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    run("%config Responses.api_key_env = 'OTHER_KEY'")
    ran = run("%%responses\nHi")
    assert ran.err == "UsageError: OTHER_KEY is not set (Responses.api_key_env names it)\n"
    assert "OTHER_KEY is not set" in run("%responses").out
    monkeypatch.setenv("OTHER_KEY", "sk-other-0123456789")
    ran = run("%%responses\nHi")
    assert ran.ok
    assert "sk-other" not in ran.out + run("%responses").out


def test_a_blank_cell_is_not_sent(loaded: Any) -> None:
    with pytest.raises(UsageError, match="a prompt is needed"):
        loaded.run_cell_magic("responses", "", "  \n ")


def test_what_would_be_sent_is_shown_without_secrets(
    loaded: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown-0123456789")
    tool = '{"type":"mcp","server_label":"x","server_url":"https://u:pw@h/?k=1","authorization":"TOKEN123"}'
    line = f"-m x -N -s sk-never-shown-0123456789 -p 'tools=[{tool}]' -p api_key=another-secret"
    loaded.run_cell_magic("responses", line, "hello")
    said = capsys.readouterr().out
    for secret in ("sk-never-shown", "TOKEN123", "pw@", "another-secret"):
        assert secret not in said
    assert "hello" in said
