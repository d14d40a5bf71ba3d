/** Compiling generated modules, for whoever renders them anew. */
export { compileModules, type CompiledModule, type ScriptCache } from "./endpoint/compile.js";
export type { Rendered } from "./endpoint/refresh.js";
