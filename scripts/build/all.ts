/** What `npm run build` does behind the compiler: the bundled command line, and what it would else work out at each start. */
import { rmSync } from "node:fs";

rmSync(new URL("../../generator/dist/chunks", import.meta.url), { recursive: true, force: true });
await import("./bundle.js");
await import("./validators.js");
await import("./assets.js");
await import("./explorer.js");
