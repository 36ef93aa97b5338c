"""Whether text can be read: the contrast of every visible text with what is behind it (WCAG 2.1, 1.4.3), in a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

READABLE, LARGE = 4.5, 3.0
"""The least ratio of normal text, and of text from 24 px or 18.66 px bold."""

_POOR = """([places, readable, large]) => {
  const rgba = (text) => {
    const numbers = text.match(/-?[\\d.]+(e-?\\d+)?/g).map(Number);
    const [r, g, b, a = 1] = numbers;
    return text.startsWith("color(") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a]; // what color-mix makes is 0 to 1
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a)];
  const shown = (chain, ink, backdrop) => { // [text, background] as they come to the screen
    const [node, ...rest] = chain;
    const style = getComputedStyle(node);
    const back = over(rgba(style.backgroundColor), backdrop);
    const pair = rest.length ? shown(rest, ink, back) : [over(rgba(ink), back), back];
    return pair.map((colour) => over([...colour, Number(style.opacity)], backdrop));
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((n) => (n /= 255) <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const poor = new Map();
  const check = (node, ink, text) => {
    const chain = [];
    for (let each = node; each; each = each.parentElement) chain.unshift(each);
    const [front, back] = shown(chain, ink, [255, 255, 255]);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const { fontSize, fontWeight } = getComputedStyle(node);
    const big = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24);
    window.contrastsChecked += 1;
    if (ratio >= (big ? large : readable)) return;
    const [ours] = [...chain].reverse().filter((each) => each.className);
    const where = `${node.tagName} of .${ours?.getAttribute("class") ?? ""}`;
    const [on, behind] = [front, back].map((colour) => colour.map(Math.round).join());
    poor.set(`${where} ${on}`, `${where}: ${ratio.toFixed(2)} (${on} on ${behind}) ${text.slice(0, 40)}`);
  };
  window.contrastsChecked = 0;
  for (const place of document.querySelectorAll(places)) {
    for (const node of [place, ...place.querySelectorAll("*")]) {
      const style = getComputedStyle(node);
      if (!node.checkVisibility({ visibilityProperty: true }) || node.closest(":disabled, .nbr-spoken")) continue;
      const text = [...node.childNodes].filter((each) => each.nodeType === 3).map((each) => each.data).join("").trim();
      if (text) check(node, node.closest("svg") ? style.fill : style.color, text);
      if (node.placeholder) check(node, getComputedStyle(node, "::placeholder").color, node.placeholder);
    }
  }
  return [...poor.values()];
}"""


def poor_contrasts(page: Page, places: str) -> list[str]:
    """Texts below these places that are hard to read; fails where there is none to be read at all."""
    poor: list[Any] = page.evaluate(_POOR, [places, READABLE, LARGE])
    assert page.evaluate("window.contrastsChecked") > 0, f"no text in {places}"
    return [str(each) for each in poor]
