/** Reads and compiles generated modules, for the thread that renders a changed manifest. */
export { compileModules, type CompiledModule } from "./release/generated-folder.js";
export { readGeneratedFiles } from "./release/generated-folder.js";
export type { ActiveManifest, RenderResult } from "./release/refresh.js";
