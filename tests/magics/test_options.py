"""The options line: splitting, every option, and what a mistake in it says."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError
from nbresponses_magics.options import OPTIONS, Options, help_text, parse, split


def refused(line: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse(line)
    assert type(caught.value) is UsageError  # of a subclass IPython shows the whole traceback
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_nothing_said_is_the_default() -> None:
    assert parse("") == Options()
    assert parse("   \n") == Options()


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("-m gpt-5", "model", "gpt-5"),
        ("--model gpt-5", "model", "gpt-5"),
        ("--model=gpt-5", "model", "gpt-5"),
        ("-s 'Be brief, please.'", "instructions", "Be brief, please."),
        ('--instructions "it\'s"', "instructions", "it's"),
        ("--reasoning low", "reasoning", "low"),
        ("--reasoning low --no-summary", "no_summary", True),
        ("--max-output-tokens 100", "max_output_tokens", 100),
        ("--temperature 0.5", "temperature", 0.5),
        ("--previous resp_1", "previous", "resp_1"),
        ("-c", "continue_", True),
        ("--continue", "continue_", True),
        ("--background", "background", True),
        ("--base-url http://127.0.0.1:1/v1", "base_url", "http://127.0.0.1:1/v1"),
        ("--insecure", "insecure", True),
        ("-o answer", "out", "answer"),
        ("--out answer", "out", "answer"),
        ("answer <<", "out", "answer"),
        ("answer<< -q", "out", "answer"),
        ("antwort_ä << -o antwort_ä", "out", "antwort_ä"),
        ("--capture 'my file.jsonl'", "capture", "my file.jsonl"),
        ("--replay a.jsonl", "replay", "a.jsonl"),
        ("--replay a.jsonl --speed 2.5", "speed", 2.5),
        ("--replay a.jsonl --speed max", "speed", None),
        ("--json", "json", True),
        ("--raw", "raw", True),
        ("-q", "quiet", True),
        ("--quiet", "quiet", True),
        ("--no-widget", "no_widget", True),
        ("-N", "no_execute", True),
        ("--no-execute", "no_execute", True),
        ("-p a=1", "param", (("a", 1),)),
        ("-p a=b --param c=", "param", (("a", "b"), ("c", ""))),
        ('-p \'text={"verbosity": "low"}\'', "param", (("text", {"verbosity": "low"}),)),
        ("-p user=a=b", "param", (("user", "a=b"),)),
        ("-p store=false", "param", (("store", False),)),
        ("--hosted web_search", "hosted", ({"type": "web_search"},)),
        (
            "--hosted image_generation:partial_images=3,size=1024x1024",
            "hosted",
            ({"type": "image_generation", "partial_images": 3, "size": "1024x1024"},),
        ),
        ("--hosted code_interpreter", "hosted", ({"type": "code_interpreter", "container": {"type": "auto"}},)),
        ("--hosted code_interpreter:container=c_1", "hosted", ({"type": "code_interpreter", "container": "c_1"},)),
        (
            '--hosted \'file_search:vector_store_ids=["a,b","c"],max_num_results=2\' --hosted web_search',
            "hosted",
            (
                {"type": "file_search", "vector_store_ids": ["a,b", "c"], "max_num_results": 2},
                {"type": "web_search"},
            ),
        ),
    ],
)
def test_an_option(line: str, field: str, value: object) -> None:
    assert getattr(parse(line), field) == value


def test_every_option_has_a_field_and_stands_in_the_help() -> None:
    for option in OPTIONS:
        field = {"continue": "continue_"}.get(option.field, option.field)
        assert hasattr(Options(), field)
        assert all(flag in help_text() for flag in option.flags)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--modle gpt-5", "unknown option --modle, did you mean --model?"),
        ("--temprature=1", "unknown option --temprature, did you mean --temperature?"),
        ("--mod gpt-5", "unknown option --mod, did you mean --model?"),
        ("--zzzzzz", "unknown option --zzzzzz"),
        ("Hello there", "unexpected 'Hello' on the %%responses line: the prompt goes below it, in the cell"),
        ("-s 'open", "unbalanced quote in: -s 'open"),
        ('-s "a', 'unbalanced quote in: -s "a'),
        ("-m", "-m/--model: expected one argument"),
        ("--temperature warm", "--temperature: invalid float value: 'warm'"),
        ("--max-output-tokens 1.5", "--max-output-tokens: invalid int value: '1.5'"),
        ("-p store", "-p/--param: expected key=value, not 'store'"),
        ("--hosted :a=1", "--hosted: expected TOOL or TOOL:key=value,..., not ':a=1'"),
        ("--hosted web_search:a", "--hosted: expected key=value, not 'a'"),
        ("-o 1x", "-o/--out: '1x' is not a variable name"),
        ("class <<", "'class' is not a variable name"),
        ("a.b << -q", "'a.b' is not a variable name"),
        ("a << -o b", "two names for the result: a << and --out b"),
        ("--previous r -c", "--previous and --continue exclude each other"),
        ("--no-summary", "--no-summary needs --reasoning EFFORT"),
        ("--speed 2", "--speed needs --replay FILE"),
        ("--replay f --speed 0", "--speed: expected a number above 0, or max, not '0'"),
        ("--replay f --speed nan", "--speed: expected a number above 0, or max, not 'nan'"),
        ("--replay f -N", "--replay and --no-execute exclude each other: a replay sends nothing"),
    ],
)
def test_a_mistake_is_one_line(line: str, says: str) -> None:
    assert refused(line) == says


def test_words_are_split_as_a_shell_does() -> None:
    assert split("""-s "What is $x or {x}?" -o y  #z""") == ["-s", "What is $x or {x}?", "-o", "y", "#z"]


def test_an_option_line_can_be_long() -> None:
    line = " ".join(f"-p key{n}={n}" for n in range(500))
    assert parse(line).param[-1] == ("key499", 499)
