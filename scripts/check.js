/** `npm run check`: format, lint with the import boundaries, types, and whether `generated/` is fresh. */
import { makeReady, run } from "./setup/ready.js";

makeReady();
const steps = [
  ["format", "npx", "prettier", "--check", "--log-level=warn", "."],
  ["lint", "npx", "eslint", "--config", ".config/eslint.js", "--max-warnings=0", "."],
  ["types", "npx", "tsc", "-p", "."],
  [
    "generated/",
    "node",
    "generator/bin/routewright.js",
    "generate",
    "--check",
    "--manifest",
    "templates/starter/manifest.json",
  ],
];
for (const [name, command, ...args] of steps) {
  console.log(`check: ${name}`);
  run(command, args);
}
console.log("check: all good");
