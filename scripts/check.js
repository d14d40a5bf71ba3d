/**
 * `npm run check`: format, lint with the import boundaries, types, exports that nothing imports, and whether `generated/`
 * is fresh; all at once.
 */
import { spawn } from "node:child_process";
import { makeReady, ROOT } from "./ready.js";

makeReady();
const CACHE = ".data/check";
const PAGES = ["explorer", "guide", "reference", "status"].map((page) => `runtime/pages/${page}`);
/** The native compiler. `typescript` beside it is what ts-morph and ESLint need. */
const typeCheck = (project) => `node node_modules/typescript-native/bin/tsc -p ${project}`;
const steps = {
  format: `npx prettier --check --log-level=warn --cache --cache-location ${CACHE}/prettier .`,
  // Not cached: rules that read types and imports depend on other files.
  lint: "npx eslint --config .config/eslint.js --max-warnings=0 .",
  types: [`. --incremental --tsBuildInfoFile ${CACHE}/tsc.tsbuildinfo`, ...PAGES].map(typeCheck).join(" && "),
  "used exports": "npx knip --config .config/knip.json --no-progress",
  "generated/":
    "node generator/bin/routewright.js generate --check --manifest templates/starter/manifest.json",
};

/** Runs a step and returns its exit code; its output is printed in one piece. */
function runStep([name, command]) {
  return new Promise((resolve) => {
    let output = "";
    const child = spawn(command, { cwd: ROOT, shell: true, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    child.on("close", (code) => {
      console.log(`check: ${name} ${code === 0 ? "is good" : "failed"}\n${code === 0 ? "" : output}`.trim());
      resolve(code ?? 2);
    });
  });
}

const codes = await Promise.all(Object.entries(steps).map(runStep));
process.exitCode = Math.max(...codes);
