/** Compiles generated modules, for the thread that renders a changed manifest. */
export { compileModules, type CompiledModule, type ScriptCache } from "./data-api/generated-folder.js";
export type { RenderResult } from "./data-api/refresh.js";
