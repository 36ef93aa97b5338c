// A model's Markdown as it grows: closed blocks are appended once, only the open last block is rendered again.
//
// Two walls against what a model may write: raw HTML is switched off in markdown-it (it is text), and what comes out
// passes DOMPurify with a short list of elements and no style, class, id, data- or event attribute. Nothing loads from
// another host: an image with an address becomes a link, unless remote images are allowed.

import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

import { grow } from "./grow.js";
import { clean, element, LINE_ENDS, link, safeUrl } from "./text.js";

const NESTING = 40;
const BUDGET = 20_000; // markers parsed at once: some 50 ms. A block with more of them is shown as it was written
const TAGS =
  "p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s a table thead tbody tr th td img var".split(" ");
const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;
const DEFINITION = /^ {0,3}\[[^\]]+\]:/m;
const RULES = {
  ALLOWED_TAGS: TAGS,
  ALLOWED_ATTR: ["href", "title", "start", "align", "src", "alt"],
  ALLOWED_URI_REGEXP: /^(https?:|mailto:)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

const FORMULA =
  /\\\([^\n]{1,999}?\\\)|\\\[[^]{1,999}?\\\]|\$\$(?!\$)[^]{1,999}?\$\$|(?<![\w$])\$(?![\s$])(?:[^$\n\\]|\\.){1,999}?(?<!\s)\$(?![\w$])/y;

/** A formula stays as it was written: no emphasis or escape in it is read. It is set when the answer settles. */
function formula(state, silent) {
  FORMULA.lastIndex = state.pos;
  const found = FORMULA.exec(state.src);
  if (!found || /^\$[.,]?\d[^$]*?\s\(?[A-Za-z]{2,}/.test(found[0])) return false;
  if (!silent) state.push("formula", "var", 0).content = found[0];
  state.pos += found[0].length;
  return true;
}

function parser(remoteImages) {
  const md = new MarkdownIt("commonmark", { html: false, maxNesting: NESTING }).enable(["table", "strikethrough"]);
  md.validateLink = (url) => safeUrl(url) !== null || PICTURE.test(url);
  md.normalizeLink = (url) => url;
  md.normalizeLinkText = (url) => url;
  md.inline.ruler.before("escape", "formula", formula);
  const escape = md.utils.escapeHtml;
  md.renderer.rules.formula = (tokens, at) => `<var>${escape(tokens[at].content)}</var>`;
  md.renderer.rules.image = (tokens, at) => {
    const source = tokens[at].attrGet("src") ?? "";
    const words = escape(clean(tokens[at].content));
    if (PICTURE.test(source) || (remoteImages && /^https?:/i.test(source))) {
      return `<img src="${escape(source)}" alt="${words}">`;
    }
    const label = words ? `image: ${words} — ${escape(source)}` : `image: ${escape(source)}`;
    return safeUrl(source) ? `<a href="${escape(source)}">${label}</a>` : label;
  };
  for (const cell of ["th_open", "td_open"]) {
    md.renderer.rules[cell] = (tokens, at) => {
      const side = /left|right|center/.exec(tokens[at].attrGet("style") ?? "");
      return side ? `<${tokens[at].tag} align="${side[0]}">` : `<${tokens[at].tag}>`;
    };
  }
  return md;
}

export class LiveMarkdown {
  constructor(parent, { remoteImages = false, onBlock = () => {} } = {}) {
    this.node = element("div", "nbr-md jp-RenderedHTMLCommon");
    this.open = element("div", "nbr-open");
    this.node.append(this.open);
    parent.append(this.node);
    this.md = parser(remoteImages);
    this.onBlock = onBlock;
    this.reset();
  }

  reset() {
    this.references = {}; // link definitions of the closed blocks
    this.done = 0;
    this.version = 0;
    this.drawn = -1;
    this.code = null;
    this.node.replaceChildren(this.open);
    this.open.replaceChildren();
  }

  /** Draw a text part as it is now; `closed` where nothing will be added. */
  update(part, closed) {
    if (part.version !== this.version) {
      this.reset();
      this.version = part.version;
    }
    const state = part.text.length * 2 + (closed ? 1 : 0);
    if (state === this.drawn) return;
    this.drawn = state;
    let tail = part.text.slice(this.done);
    for (let chunk; (chunk = affordable(tail)) !== tail; tail = part.text.slice(this.done)) {
      if (!this.advance(chunk, false)) return this.plain(tail);
    }
    if (!this.advance(tail, true, closed)) this.plain(tail);
  }

  /** Take what is known of the text that is not closed yet. False where it cannot be parsed, or nothing came of it. */
  advance(text, last, closed) {
    const tokens = this.parse(text);
    if (!tokens) return false;
    const starts = topLevel(tokens);
    const lines = lineOffsets(text);
    const from = closed ? starts.length : openFrom(tokens, starts, lines, text);
    if (from > 0) this.close(text, tokens, starts, from, lines);
    if (last) this.drawOpen(tokens.slice(starts[from]?.at ?? tokens.length));
    return last || from > 0;
  }

  plain(text) {
    this.code = null;
    this.open.replaceChildren(element("pre", "", clean(text)));
  }

  parse(text) {
    let tokens;
    try {
      this.env = { references: { ...this.references } };
      tokens = this.md.parse(clean(text), this.env);
    } catch {
      return null; // the stack, on input made to exhaust it
    }
    return tokens.some((token) => token.nesting === 1 && token.level >= NESTING - 2) ? null : tokens;
  }

  /** Append the blocks before the `from`th for good, and forget their text. */
  close(tail, tokens, starts, from, lines) {
    const end = starts[from];
    const blocks = this.render(tokens.slice(0, end?.at));
    const words = blocks.textContent;
    this.open.before(blocks);
    this.code = null;
    const length = end ? lines[end.line] : Infinity;
    if (DEFINITION.test(tail)) this.md.parse(clean(tail.slice(0, length)), { references: this.references });
    this.done += length;
    this.onBlock(words);
  }

  drawOpen(tokens) {
    const fence = tokens.length === 1 && tokens[0].type === "fence" ? tokens[0] : null;
    if (fence && this.code?.info === fence.info && this.open.firstChild) {
      grow(this.code.node, fence.content);
      return;
    }
    this.open.replaceChildren(this.render(tokens));
    this.code = fence ? { info: fence.info, node: this.open.querySelector("code") } : null;
  }

  render(tokens) {
    const html = this.md.renderer.render(tokens, this.md.options, this.env);
    const fragment = DOMPurify.sanitize(html, RULES);
    for (const anchor of fragment.querySelectorAll("a")) {
      anchor.replaceWith(linkLike(anchor));
    }
    for (const cell of fragment.querySelectorAll("[align]")) {
      cell.style.textAlign = cell.getAttribute("align");
      cell.removeAttribute("align");
    }
    for (const table of fragment.querySelectorAll("table")) {
      const box = element("div", "nbr-table");
      table.replaceWith(box);
      box.append(table);
    }
    const infos = tokens.filter((token) => token.type === "fence" || token.type === "code_block");
    fragment.querySelectorAll("pre").forEach((pre, at) => {
      const place = document.createComment("");
      pre.replaceWith(place);
      place.replaceWith(codeBox(pre, infos[at]?.info ?? ""));
    });
    return fragment;
  }
}

function linkLike(anchor) {
  const made = link("", anchor.getAttribute("href"));
  made.replaceChildren(...anchor.childNodes);
  if (anchor.title) made.title = anchor.title;
  return made;
}

/** Code with its language and a button that copies it. */
export function codeBox(pre, info) {
  const language = /^[\w+#.-]{1,40}/.exec(info.trim())?.[0] ?? "";
  const button = element("button", "nbr-copy", "Copy");
  button.type = "button";
  button.onclick = () => copy(pre.textContent.replace(/\n$/, ""), button);
  pre.tabIndex = 0; // a long line is reached with the arrow keys
  return element("div", "nbr-code", element("div", "nbr-code-head", element("span", "", language), button), pre);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed here";
  }
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

/** The text, or as much of it as can be parsed at once, up to a blank line: a long text is closed piece by piece. */
function affordable(text) {
  let cost = 0;
  for (const { 0: marker, index } of text.matchAll(/[*_~`&<>|\\$\n![]/g)) {
    cost += marker === "[" ? 10 : 1;
    if (cost > BUDGET) return text.slice(0, text.lastIndexOf("\n\n", index) + 2);
  }
  return text;
}

function topLevel(tokens) {
  const starts = [];
  tokens.forEach((token, at) => {
    if (token.level === 0 && token.nesting >= 0 && token.map) starts.push({ at, line: token.map[0] });
  });
  return starts;
}

function lineOffsets(text) {
  return [0, ...Array.from(text.matchAll(LINE_ENDS), (end) => end.index + end[0].length)];
}

/**
 * The first block that may still change. A piece of a line may become anything, so a block whose first line is not whole
 * closes the one before it only across a blank line, and never a list: "2" may become its next item.
 */
function openFrom(tokens, starts, lines, text) {
  const last = starts.length - 1;
  if (last < 1 || starts[last].line < lines.length - 1) return last;
  const blank = !text.slice(lines[starts[last].line - 1], lines[starts[last].line]).trim();
  return blank && !tokens[starts[last - 1].at].type.endsWith("list_open") ? last : last - 1;
}
