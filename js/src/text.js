// What a model wrote, made harmless as text: nothing in it acts on the text around it. Knows no element.

const ESCAPES =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])(?:[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c))?|\x1b[ -/]*[0-~]?/g;
export const LINE_ENDS = /\r\n?|[\n\x0b\x0c\x85]/g;
const SUSPECT = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

/** The text without terminal escapes and control characters; what reorders text is shown by its number. */
export function clean(text) {
  if (!SUSPECT.test(text)) return text;
  return text
    .replace(LINE_ENDS, "\n")
    .replace(ESCAPES, "")
    .replace(/[\x00-\x08\x0e-\x1f\x7f-\x9f]/g, "")
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, (sign) => `⟨U+${sign.charCodeAt(0).toString(16).toUpperCase()}⟩`);
}

/** The address where it is absolute and http, https or mailto; null for all else. */
export function safeUrl(value) {
  const url = String(value ?? "").trim();
  const sound = /^(https?:\/\/[^\s/?#\\]|mailto:[^\s\\])/i.test(url) && !/[\x00-\x20\x7f-\xa0<>"\\]/.test(url);
  return sound && url.length <= 8192 ? url : null;
}

/** Seconds for people: 0.8 s, 12 s, 3 min 20 s. */
export function duration(seconds) {
  if (!(seconds >= 0)) return "";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** An element with its class, its text (never HTML) and its children. */
export function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A link that a reader may follow, or just its words where the address is none. */
export function link(words, url) {
  const safe = safeUrl(url);
  if (!safe) return element("span", "", words);
  const anchor = element("a", "", words);
  anchor.href = safe;
  anchor.target = "_blank";
  anchor.rel = "noopener noreferrer";
  return anchor;
}
