// Builds what front ends are sent into the package: an ES module and a style sheet for each widget, and the licences of
// what is inside. The same input gives the same bytes: a test builds once more, into the folder named, and compares.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import esbuild from "esbuild";
import { minify } from "terser";

const LIMIT = 100_000; // bytes of a module: it is sent with each widget
const BANNERS = {
  live: "/* nbresponses live view. Contains markdown-it and DOMPurify: see LICENSES.txt beside this file. */\n",
  board: "/* nbresponses lane board. Contains markdown-it and DOMPurify: see LICENSES.txt beside this file. */\n",
  inspector: "/* nbresponses event inspector. Contains DOMPurify: see LICENSES.txt beside this file. */\n",
};
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const root = process.argv[2] ?? here("../nbresponses");
const WIDGETS = { live: "display/static", board: "widgets/static", inspector: "widgets/static" };

// Rules of markdown-it that are off in the live view (raw HTML is text, addresses in a text stay text, quotes stay as they
// are), and so are left out: the file's region of each → what stands in its place.
const OFF = {
  "rules_core/linkify": "function linkify$1() {}",
  "rules_core/replacements": "function replace() {}",
  "rules_core/smartquotes": "function smartquotes() {}",
  "rules_block/html_block": "function html_block() { return false; }",
  "rules_inline/linkify": "function linkify() { return false; }",
  "rules_inline/html_inline": "function html_inline() { return false; }",
};
const withoutOff = {
  name: "without the rules that are off",
  setup(build) {
    build.onLoad({ filter: /markdown-it\.mjs$/ }, async ({ path }) => {
      let contents = await readFile(path, "utf8");
      for (const [region, stub] of Object.entries(OFF)) {
        const [head, tail] = contents.split(`//#region src/${region}.ts\n`);
        if (!tail) throw new Error(`markdown-it has no ${region}: see OFF in build.mjs`);
        contents = head + stub + tail.slice(tail.indexOf("\n//#endregion"));
      }
      return { contents, loader: "js" };
    });
  },
};

const common = { bundle: true, minify: true, legalComments: "none", charset: "utf8", logLevel: "warning", write: false };

async function script(name) {
  const built = await esbuild.build({
    ...common,
    entryPoints: [here(`src/${name}.js`)],
    format: "esm",
    target: "es2022",
    plugins: [withoutOff],
    alias: {
      entities: here("src/lib/entities.js"),
      "linkify-it": here("src/lib/linkify.js"),
      mdurl: here("src/lib/mdurl.js"),
      "punycode.js": here("src/lib/mdurl.js"),
      "uc.micro": here("src/lib/characters.js"),
    },
  });
  const { code } = await minify(built.outputFiles[0].text, { module: true, ecma: 2020, compress: { passes: 3 } });
  return code;
}

async function style(name) {
  const built = await esbuild.build({ ...common, entryPoints: [here(`src/${name}.css`)] });
  return built.outputFiles[0].text;
}

async function licences(module, packages) {
  const texts = [`${module} contains the following packages.\n`];
  for (const name of packages) {
    const { version, license } = JSON.parse(await readFile(here(`node_modules/${name}/package.json`), "utf8"));
    const text = await readFile(here(`node_modules/${name}/LICENSE`), "utf8");
    texts.push(`${name} ${version} (${license})\n${"=".repeat(70)}\n\n${text.trim()}\n`);
  }
  return texts.join("\n\n");
}

for (const [name, folder] of Object.entries(WIDGETS)) {
  const module = (BANNERS[name] ?? "") + (await script(name));
  await mkdir(`${root}/${folder}`, { recursive: true });
  await writeFile(`${root}/${folder}/${name}.js`, module);
  await writeFile(`${root}/${folder}/${name}.css`, await style(name));
  const size = Buffer.byteLength(module);
  console.log(`${name}.js: ${size} bytes`);
  if (size > LIMIT) {
    console.error(`${name}.js is larger than ${LIMIT} bytes`);
    process.exitCode = 1;
  }
}
await writeFile(`${root}/display/static/LICENSES.txt`, await licences("live.js", ["dompurify", "markdown-it"]));
await writeFile(`${root}/widgets/static/LICENSES.txt`, await licences("board.js", ["dompurify", "markdown-it"]));
