// What a reader writes in: a prompt of one line or more, which Enter sends, and buttons. Knows no lane.

import { element } from "./text.js";

export const button = (words, act, title = "") => {
  const made = element("button", "", words);
  made.type = "button";
  if (title) made.title = title;
  made.onclick = act;
  return made;
};

const labelled = (made, hint) => {
  made.placeholder = hint;
  made.setAttribute("aria-label", hint);
  return made;
};

export const nameField = (hint, send) => {
  const made = labelled(element("input", "nbb-short"), hint);
  made.type = "text";
  made.maxLength = 256;
  return sending(made, send);
};

/** A prompt grows with what is in it. Enter sends, Shift+Enter begins a line. */
export const promptField = (hint, send) => {
  const made = labelled(element("textarea"), hint);
  made.rows = 1;
  made.title = "Enter sends, Shift+Enter begins a new line";
  return sending(made, send);
};

const sending = (made, send) => {
  made.addEventListener("keydown", (key) => {
    if (key.key !== "Enter" || key.shiftKey || key.isComposing) return;
    key.preventDefault();
    send();
  });
  return made;
};
