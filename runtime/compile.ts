/** Compiles generated modules, for programs that render them. */
export { compileModules, type CompiledModule, type ScriptCache } from "./data-api/generated-folder.js";
export type { Rendered } from "./data-api/refresh.js";
