/** `run.js <module>`: runs a TypeScript module of this folder, from a fresh clone too; further arguments are the module's. */
import { makeBuilt, makeInstalled, makeServable, ROOT } from "./ready.js";

const [module, ...args] = process.argv.slice(2);
// On ClickHouse the demo needs more than what builds and serves.
if (module === "demo/start" && args.length === 0) makeServable();
else makeInstalled();
makeBuilt();
process.chdir(ROOT);
process.argv.splice(2, 1);
const { register } = await import("tsx/esm/api");
register();
await import(`./${module}.ts`);
