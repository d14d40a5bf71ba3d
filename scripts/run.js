/** `run.js <module>`: runs a TypeScript module of this folder, from a fresh clone too; further arguments are the module's. */
import { makeBuilt, makeInstalled, makeServable, ROOT } from "./ready.js";

const [module, ...args] = process.argv.slice(2);
// With an engine, or with one of these, the demo needs more than what builds and serves.
const needsMore = args.length > 0 || "REDIS_URL" in process.env || "ACCOUNT_ISSUER" in process.env;
if (module === "demo/start" && !needsMore) makeServable();
else makeInstalled();
makeBuilt();
process.chdir(ROOT);
process.argv.splice(2, 1);
const { register } = await import("tsx/esm/api");
register();
await import(`./${module}.ts`);
