"""The longer texts that the scenarios say. Every one says that it is a demo."""

from __future__ import annotations

ANSWER = """\
## A demo answer

This text comes from the **demo server** of nbresponses, not from a language model. «earlier»You said: “«prompt»”

What streams by while you read:

- *events*, numbered, one for each piece of text
- a `response.created` before them and a `response.completed` after them
- the usage, counted in pieces: about a token each

| kind | example | price |
|:-----|:--------|------:|
| text | `output_text.delta` | $0.50 |
| picture | `partial_image` | $2.00 |

Money is text: $5 and $6 stay as they are. Maths is maths: $e^{i\\pi} + 1 = 0$, and

$$\\sum_{k=1}^{n} k = \\frac{n(n+1)}{2}$$

```python
with client.stream(model="demo-text", input="Hello") as stream:
    for event in stream:
        print(event.type)
```

Now try another of the demo models, for example `demo-reasoning` or `demo-image`."""

THOUGHT = (
    "The user said: «prompt». I am a demo, so there is nothing to work out; but a reader wants to see how thinking "
    "streams, so I will think a little, check it once, and then answer."
)

SUMMARIES = (
    "**Reading the question**\n\nYou ask “«prompt»”. A demo has no answer of its own; the plan is to say so.",
    "**Choosing an example**\n\nA small sum shows it: the first hundred numbers pair up into fifty sums of 101.",
    "**Checking**\n\nFifty times 101 is 5050, and the formula says the same.",
)

CODE = """\
import matplotlib.pyplot as plt

values = [n * n for n in range(10)]
print(sum(values))
plt.plot(values)
plt.show()
"""

SEARCH = (
    "This is a demo: nothing was searched. In a real answer the web would say that streams are read one event at a "
    "time [example.com], and your files would agree [streams.pdf]."
)

PATCH = """\
@@
-def greet():
-    print("hello")
+def greet(name: str = "world") -> None:
+    print(f"hello, {name}")
"""
