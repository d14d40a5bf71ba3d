/** `npm run bench`: how fast Routewright is, beside plain programs that do the same. */
import { makeReady, ROOT } from "./ready.js";

makeReady();
process.chdir(ROOT);
const { register } = await import("tsx/esm/api");
register();
await import("./bench/main.ts");
