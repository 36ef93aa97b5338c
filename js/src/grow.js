// Brings an element's text to another one, appending where that is enough: a selection in it stays.

export function grow(node, text) {
  const first = node.firstChild;
  if (first?.nodeType === 3 && node.childNodes.length === 1 && text.startsWith(first.data)) {
    if (text.length > first.data.length) first.appendData(text.slice(first.data.length));
  } else if (first || text) node.textContent = text;
}
