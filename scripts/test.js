/** `npm test`: everything, from a fresh clone too. Arguments go to the test runner. */
import { makeReady, run } from "./ready.js";

makeReady();
run("npx", ["vitest", "run", "--config", "tests/vitest.config.ts", ...process.argv.slice(2)]);
