import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { apiFolder } from "../api-folder.js";
import { timeProgram } from "../children.js";
import type { Table } from "../report.js";
import type { Setting } from "./section.js";

const COMPILER = resolve("node_modules/typescript/bin/tsc");
/** What the compiler takes for the runtime's types alone. */
const FEW = 10;

/** How long the compiler takes over generated output. Told, not judged: most of it is the compiler's own start. */
export async function timeTypeCheck({ folder, progress }: Setting, endpoints: number): Promise<Table> {
  progress(`generate: type-checking ${String(endpoints)} endpoints`);
  const rows = [];
  for (const count of [FEW, endpoints]) {
    const seconds = await typeCheck(await apiFolder(folder, count));
    rows.push({ endpoints: count, seconds });
  }
  return {
    title: "generate: type-checking the output (tsc, whole process, once)",
    columns: [
      { key: "endpoints", head: "endpoints", digits: 0 },
      { key: "seconds", head: "seconds", digits: 2 },
    ],
    rows,
  };
}

function typeCheck(folder: string): Promise<number> {
  const config = {
    extends: resolve("tsconfig.json"),
    compilerOptions: { paths: {} },
    include: ["generated"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  return timeProgram({ name: "tsc", args: [COMPILER, "-p", "."], folder });
}
