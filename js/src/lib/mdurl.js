// In place of `mdurl` and `punycode.js`: markdown.js brings its own normalizeLink, so none of this is called.
const same = (text) => text;
export const encode = same;
export const decode = same;
export const parse = (href) => ({ href });
export const format = ({ href }) => href;
export default { toASCII: same, toUnicode: same };
