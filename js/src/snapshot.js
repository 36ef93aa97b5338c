// The response at a moment. Its HTML comes from the kernel, which escapes whatever a model wrote; here it passes
// DOMPurify all the same: a short list of elements, no address that loads by itself, no style that leaves its place.

import DOMPurify from "dompurify";

import { element, safeUrl } from "./text.js";

const TAGS =
  "a address audio blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr img li ol p pre s span strong sub summary sup table tbody td th thead tr ul".split(
    " ",
  );
const CARRIED = /^data:(image\/(png|jpeg|gif|webp)|audio\/[a-z0-9.+-]+);base64,[A-Za-z0-9+/=]+$/;
const RULES = {
  ALLOWED_TAGS: TAGS,
  ALLOWED_ATTR: ["align", "alt", "colspan", "controls", "href", "open", "src", "start", "style", "title"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

// Before the elements reach the page, where an image would load as soon as it exists.
DOMPurify.addHook("uponSanitizeAttribute", (node, attribute) => {
  const { attrName: name, attrValue: value } = attribute;
  if (name === "src") attribute.keepAttr = CARRIED.test(value);
  if (name === "href") attribute.keepAttr = safeUrl(value) !== null;
  if (name === "style") attribute.keepAttr = !/url|image-set|position|expression|@|\\/i.test(value);
});

export class Snapshot {
  constructor() {
    this.body = element("div", "nbi-answer jp-RenderedHTMLCommon");
    this.node = element("div", "nbi-scroll", this.body);
    this.node.tabIndex = 0;
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", "The response at this event");
  }

  /** HTML of the whole, or only the end of its text while time moves. */
  show({ html, text }) {
    if (html !== undefined && html === this.html) return;
    this.html = html;
    const atEnd = this.node.scrollTop + this.node.clientHeight > this.node.scrollHeight - 12;
    if (html === undefined) this.body.replaceChildren(element("div", "nbi-rough", text));
    else if (!html) this.body.replaceChildren(element("div", "nbi-dim", "No response has begun here."));
    else this.replace(html);
    if (atEnd) this.node.scrollTop = this.node.scrollHeight;
  }

  /** What a reader has unfolded stays so. */
  replace(html) {
    const unfolded = [...this.body.querySelectorAll("details")].map((each) => each.open);
    const made = DOMPurify.sanitize(html, RULES);
    for (const anchor of made.querySelectorAll("a")) Object.assign(anchor, { target: "_blank", rel: "noopener noreferrer" });
    made.querySelectorAll("details").forEach((each, at) => (each.open = unfolded[at] ?? each.open));
    this.body.replaceChildren(made);
  }
}
