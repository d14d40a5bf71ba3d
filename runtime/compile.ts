/** Compiles generated modules, for the thread that renders a changed manifest. */
export { compileModules, type CompiledModule, type ScriptCache } from "./release/generated-folder.js";
export type { RenderResult } from "./release/refresh.js";
