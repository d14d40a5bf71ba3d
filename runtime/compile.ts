/** Compiling generated modules, for whoever renders them anew. */
export { compileModules, type CompiledModule, type ScriptCache } from "./data-api/generated-folder.js";
export type { Rendered } from "./data-api/refresh.js";
