// Builds the live view into nbresponses/display/static: one ES module, one style sheet, the licences of what is inside.
// The same input gives the same bytes: a test builds once more and compares. Another folder can be named.

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import esbuild from "esbuild";
import { minify } from "terser";

const LIMIT = 100_000; // bytes of the module: it is sent with each widget
const BANNER = "/* nbresponses live view. Contains markdown-it and DOMPurify: see LICENSES.txt beside this file. */\n";
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = process.argv[2] ?? here("../nbresponses/display/static");

const common = { bundle: true, minify: true, legalComments: "none", charset: "utf8", logLevel: "warning", write: false };

async function script() {
  const built = await esbuild.build({
    ...common,
    entryPoints: [here("src/live.js")],
    format: "esm",
    target: "es2022",
    alias: {
      entities: here("src/lib/entities.js"),
      "linkify-it": here("src/lib/linkify.js"),
      mdurl: here("src/lib/mdurl.js"),
      "punycode.js": here("src/lib/mdurl.js"),
      "uc.micro": here("src/lib/characters.js"),
    },
  });
  const { code } = await minify(built.outputFiles[0].text, { module: true, ecma: 2020, compress: { passes: 3 } });
  return BANNER + code;
}

async function style() {
  const built = await esbuild.build({ ...common, entryPoints: [here("src/live.css")] });
  return built.outputFiles[0].text;
}

async function licences() {
  const texts = ["live.js contains the following packages.\n"];
  for (const name of ["dompurify", "markdown-it"]) {
    const { version, license } = JSON.parse(await readFile(here(`node_modules/${name}/package.json`), "utf8"));
    const text = await readFile(here(`node_modules/${name}/LICENSE`), "utf8");
    texts.push(`${name} ${version} (${license})\n${"=".repeat(70)}\n\n${text.trim()}\n`);
  }
  return texts.join("\n\n");
}

const module = await script();
await writeFile(`${target}/live.js`, module);
await writeFile(`${target}/live.css`, await style());
await writeFile(`${target}/LICENSES.txt`, await licences());

const size = Buffer.byteLength(module);
console.log(`live.js: ${size} bytes`);
if (size > LIMIT) {
  console.error(`live.js is larger than ${LIMIT} bytes`);
  process.exit(1);
}
