"""The demo models as data: what each of them does, and which acts a request gets. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nbresponses.demo import texts
from nbresponses.demo.acts import (
    Act,
    Code,
    Command,
    Compact,
    Count,
    CustomCall,
    Fail,
    FileCitation,
    FileSearch,
    FunctionCall,
    McpApproval,
    McpCall,
    McpList,
    Message,
    Patch,
    Picture,
    Reasoning,
    Refuse,
    Scenario,
    Shell,
    Speech,
    Together,
    UrlCitation,
    WebSearch,
)
from nbresponses.demo.schema import sample_json
from nbresponses.demo.wire import ApiError, Json, texts_of

if TYPE_CHECKING:
    from nbresponses.demo.ask import Ask

DEFAULT = "demo-text"
_MAX_COUNT = 1_000_000

_BOOK_TOOLS = (
    {
        "name": "find_book",
        "description": "Finds a book by its title.",
        "input_schema": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
        "annotations": {"read_only": True},
    },
    {
        "name": "lend_book",
        "description": "Lends a book to a reader.",
        "input_schema": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
        "annotations": {"read_only": False},
    },
)

_ALL = (
    Scenario(DEFAULT, "A Markdown answer: heading, list, table, money, maths, code", (Message(texts.ANSWER),)),
    Scenario("demo-echo", "One line that says your words back", (Message("Demo turn «turn»: «prompt»"),)),
    Scenario(
        "demo-reasoning",
        "Reasoning text and summaries, then an answer",
        (
            Reasoning(summaries=texts.SUMMARIES, text=texts.THOUGHT),
            Message(
                "A demo thinks nothing, but it adds up: $1 + 2 + \\dots + 100 = 5050$. «earlier»You said: “«prompt»”"
            ),
        ),
    ),
    Scenario(
        "demo-image",
        "A picture that gets sharper from partial image to partial image",
        (Picture(), Message("That is a landscape drawn by the demo server, with no model at all.")),
        hosted=("image_generation",),
    ),
    Scenario(
        "demo-tools",
        "Parallel function calls and a custom tool; with your own tools, calls of those",
        (
            Together(
                (
                    FunctionCall("get_weather", '{"city": "Oslo", "unit": "celsius"}'),
                    FunctionCall("get_time", '{"timezone": "Europe/Oslo"}'),
                )
            ),
            CustomCall("run_sql", "SELECT city, temperature FROM weather WHERE city = 'Oslo';"),
        ),
    ),
    Scenario(
        "demo-rounds",
        "Your first tool again and again; metadata.demo_rounds sets how many rounds",
        (Message("This demo calls your first tool: give it one."),),
    ),
    Scenario(
        "demo-code",
        "The code interpreter with a log and a picture",
        (Code(texts.CODE, "285\n", picture=True), Message("The sum of the squares is 285, says this demo.")),
        hosted=("code_interpreter",),
    ),
    Scenario(
        "demo-search",
        "Web search and file search with citations",
        (
            WebSearch("«prompt»", ("https://example.com/streams", "https://example.com/events")),
            FileSearch(
                ("how streams are read",),
                ({"file_id": "file-demo1", "filename": "streams.pdf", "score": 0.91, "text": "One event at a time."},),
            ),
            Message(
                texts.SEARCH,
                (
                    UrlCitation("[example.com]", "https://example.com/streams", "How streams are read"),
                    FileCitation("[streams.pdf]", "file-demo1", "streams.pdf"),
                ),
            ),
        ),
        hosted=("web_search", "web_search_preview", "file_search"),
    ),
    Scenario(
        "demo-mcp",
        "MCP: tools listed, a call, a failing call, an approval asked for",
        (
            McpList("demo-library", _BOOK_TOOLS),
            McpList("demo-closed", error="The server 'demo-closed' did not answer (this is a demo)."),
            McpCall("demo-library", "find_book", '{"title": "Streams"}', output='{"title": "Streams", "shelf": 12}'),
            McpCall(
                "demo-library",
                "find_book",
                '{"title": ""}',
                error={"type": "http_error", "code": 424, "message": "The title is empty (this is a demo)."},
            ),
            Message("The demo library has the book on shelf 12. To lend it, the demo asks for your approval."),
            McpApproval("demo-library", "lend_book", '{"title": "Streams"}'),
        ),
        hosted=("mcp",),
    ),
    Scenario(
        "demo-shell",
        "Shell commands with their output, and a patch",
        (
            Shell(
                (
                    Command("ls -1", ("greet.py\n", "README.md\n")),
                    Command("cat nothing.txt", stderr="cat: nothing.txt: No such file or directory\n", exit_code=1),
                )
            ),
            Patch("update_file", "greet.py", texts.PATCH),
            Message("Two files are there, says the demo; no command ran. The patch makes `greet` polite."),
        ),
        hosted=("shell", "local_shell", "apply_patch"),
    ),
    Scenario(
        "demo-audio",
        "A short tone (WAV) and its transcript",
        (Speech("This is a tone of the demo server."), Message("That was a tone at 440 Hz, made by the demo server.")),
    ),
    Scenario("demo-refusal", "A refusal", (Refuse("I'm sorry, this demo refuses everything it is asked, kindly."),)),
    Scenario("demo-incomplete", "An answer that stops at max_output_tokens", (Message(texts.ANSWER),), budget=40),
    Scenario(
        "demo-failed",
        "Some text, then a failure (the error nested, as servers send it)",
        (
            Message("This demo is going to fail soon."),
            Fail("server_error", "The demo server failed on purpose.", nested=True),
        ),
    ),
    Scenario(
        "demo-error",
        "Some text, then a failure (the error flat, as it is documented)",
        (
            Message("This demo is going to fail soon."),
            Fail("server_error", "The demo server failed on purpose.", nested=False),
        ),
    ),
    Scenario(
        "demo-compaction",
        "An answer, and the context compacted by the server",
        (Message("The demo server has compacted what came before. «earlier»"), Compact()),
    ),
    Scenario("demo-long", "Thousands of deltas; metadata.demo_count sets how many", (Count(5_000),)),
    Scenario(
        "demo-slow", "One event every 0.2 seconds", (Message("This demo takes its time. You said: “«prompt»”"),), 0.2
    ),
)

SCENARIOS: Mapping[str, Scenario] = MappingProxyType({scenario.model: scenario for scenario in _ALL})


def scenario_for(ask: Ask) -> Scenario:
    """The scenario of a request, its acts fitted to what the request asks for; ApiError for a demo model unknown."""
    scenario = _by_name(ask)
    acts = _continued(ask) or _with_tools(ask, scenario) or scenario.acts
    if scenario.model == DEFAULT:
        acts = (*_thinking(ask), *acts)
    if ask.wants_json:
        acts = _as_json(acts, ask)
    acts = tuple(Count(_count(ask, act.deltas)) if isinstance(act, Count) else act for act in acts)
    return replace(scenario, acts=(*_compacting(ask), *acts))


def _count(ask: Ask, default: int) -> int:
    count = int(ask.number("demo_count", default))
    if not 0 <= count <= _MAX_COUNT:
        raise ApiError(400, f"metadata.demo_count is to be within 0 and {_MAX_COUNT}, not {count}.", param="metadata")
    return count


def _by_name(ask: Ask) -> Scenario:
    if ask.model not in SCENARIOS and ask.model.startswith("demo-"):
        message = f"The requested model '{ask.model}' does not exist. The demo models are: {', '.join(SCENARIOS)}."
        raise ApiError(400, message, code="model_not_found", param="model")
    # Any other name is some real model's: it gets the text of the demo, which says what it is.
    scenario = SCENARIOS.get(ask.model, SCENARIOS[DEFAULT])
    if scenario.model != DEFAULT:
        return scenario
    kinds = {tool.get("type") for tool in ask.tools}
    return next((other for other in _ALL if kinds.intersection(other.hosted)), scenario)


def _continued(ask: Ask) -> tuple[Act, ...]:
    """What follows results of tool calls, or a decision about an approval."""
    for item in ask.new:
        if item.get("type") == "mcp_approval_response":
            if not item.get("approve"):
                return (Message("You did not approve the call, so the demo leaves the book on its shelf."),)
            approval = str(item.get("approval_request_id"))
            call = McpCall(
                "demo-library", "lend_book", '{"title": "Streams"}', output='{"lent": true}', approval=approval
            )
            return (call, Message("Thank you: in this demo the book is yours now."))
    if not ask.outputs or _rounds_left(ask):
        return ()
    names = {item.get("call_id"): item.get("name") for item in ask.context.items if item.get("name")}
    lines = [f"- `{names.get(item.get('call_id')) or 'tool'}` returned: {_result(item)}" for item in ask.outputs]
    return (Message("The demo server read the results of its calls:\n\n" + "\n".join(lines)),)


def _rounds_left(ask: Ask) -> bool:
    """Whether demo-rounds has not yet had as many results as it wants."""
    if ask.model != "demo-rounds":
        return False
    results = sum(str(item.get("type", "")).endswith("_call_output") for item in ask.context.items)
    return results < ask.number("demo_rounds", 3)


def _result(item: Json) -> str:
    return " ".join(" ".join(texts_of(item)).split())[:200] or "(nothing)"


def _with_tools(ask: Ask, scenario: Scenario) -> tuple[Act, ...]:
    """Calls of the request's own tools: always by demo-tools, by demo-text where `tool_choice` asks for it."""
    choice = ask.body.get("tool_choice")
    named = choice.get("name") if isinstance(choice, Mapping) else None
    if choice == "none":
        return (Message("The demo was told to call no tool, so it answers. You said: “«prompt»”"),)
    if scenario.model not in {"demo-tools", "demo-rounds"} and not (
        scenario.model == DEFAULT and (named or choice == "required")
    ):
        return ()
    tools = [tool for tool in ask.tools if tool.get("type") in {"function", "custom"}]
    if scenario.model == "demo-rounds":
        tools = tools[:1]
    calls = [_call(tool, ask) for tool in tools if named in {None, tool.get("name")}]
    if ask.body.get("parallel_tool_calls") is False:
        calls = calls[:1]
    functions = tuple(call for call in calls if isinstance(call, FunctionCall))
    customs = tuple(call for call in calls if isinstance(call, CustomCall))
    return ((Together(functions),) if functions else ()) + customs


def _call(tool: Mapping[str, Any], ask: Ask) -> FunctionCall | CustomCall:
    name = str(tool.get("name"))
    if tool["type"] == "custom":
        return CustomCall(name, ask.prompt or "a demo input")
    return FunctionCall(name, sample_json(tool.get("parameters") or {"type": "object"}, ask.prompt))


def _thinking(ask: Ask) -> tuple[Act, ...]:
    """Reasoning before the default answer, where the request asks for it."""
    given = ask.body.get("reasoning") or {}
    if given.get("effort") in {None, "none", "minimal"} and not given.get("summary"):
        return ()
    return (Reasoning(summaries=texts.SUMMARIES if given.get("summary") else ()),)


def _as_json(acts: tuple[Act, ...], ask: Ask) -> tuple[Act, ...]:
    """The last message says JSON in the format asked for."""
    schema = ask.format.get("schema")
    answer = sample_json(schema, ask.prompt) if schema else json.dumps({"demo": True, "prompt": ask.prompt})
    places = [index for index, act in enumerate(acts) if isinstance(act, Message)]
    if not places:
        return acts
    return (*acts[: places[-1]], Message(answer), *acts[places[-1] + 1 :])


def _compacting(ask: Ask) -> tuple[Act, ...]:
    """Compaction by the server first, where the context passes the threshold that the request sets."""
    for rule in ask.body.get("context_management") or ():
        limit = rule.get("compact_threshold") if isinstance(rule, Mapping) else None
        if isinstance(limit, int) and ask.input_tokens > limit:
            return (Compact(),)
    return ()
