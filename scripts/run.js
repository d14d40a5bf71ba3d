/** `run.js <module>`: runs a TypeScript module of this folder, from a fresh clone too; further arguments are the module's. */
import { makeReady, ROOT } from "./ready.js";

makeReady();
process.chdir(ROOT);
const { register } = await import("tsx/esm/api");
register();
const [module] = process.argv.splice(2, 1);
await import(`./${module}.ts`);
