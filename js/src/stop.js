// Stopping a stream whose cell keeps the kernel busy. Three steps, each only where the one before had no effect:
// 1. a message to the widget, which the kernel takes in a subshell's thread where it has such;
// 2. after 300 ms without an answer, the Jupyter Server's interrupt (there is one where its configuration is in the page);
// 3. a text that says where the interrupt of this application is.

const PATIENCE = 300; // milliseconds

export function stop(model, { answered, say }) {
  model.send({ op: "stop" });
  setTimeout(async () => {
    if (answered()) return;
    if (await interrupt(model.get("kernel_id"))) return;
    if (!answered()) say("This page cannot reach the busy kernel: use the stop (interrupt) button of the toolbar.");
  }, PATIENCE);
}

async function interrupt(kernel) {
  const holder = document.getElementById("jupyter-config-data");
  if (!holder || !kernel) return false;
  try {
    const { baseUrl, token } = JSON.parse(holder.textContent);
    const headers = {};
    const xsrf = /(?:^|; )_xsrf=([^;]+)/.exec(document.cookie);
    if (xsrf) headers["X-XSRFToken"] = xsrf[1];
    if (token) headers.Authorization = `token ${token}`;
    const url = new URL(`${baseUrl}api/kernels/${encodeURIComponent(kernel)}/interrupt`, location.href);
    if (url.origin !== location.origin) return false; // the token goes nowhere else
    return (await fetch(url, { method: "POST", headers })).ok;
  } catch {
    return false;
  }
}
