/** `npm start`: from a fresh clone to a served demo. */
import { makeReady, ROOT } from "./ready.js";

makeReady();
process.chdir(ROOT);
const { register } = await import("tsx/esm/api");
register();
await import("./demo/start.ts");
