// In place of the package `entities`, whose table is a fifth of markdown-it: the browser knows the names already.
// A textarea holds text only: nothing in it is parsed as elements, loaded or run.
export const decodeHTMLStrict = (entity) => {
  const holder = document.createElement("textarea");
  holder.innerHTML = entity;
  return holder.value;
};
