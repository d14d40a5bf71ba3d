/**
 * The least that generating can cost: Node starts, reads and parses the manifest, and writes as many files of the same
 * sizes. Arguments: the manifest, a JSON file of `{file: bytes}`, the folder.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const [manifest, sizes, folder] = process.argv.slice(2);
JSON.parse(readFileSync(manifest, "utf8"));
const files = Object.entries(JSON.parse(readFileSync(sizes, "utf8")));
const text = "x".repeat(Math.max(...files.map(([, bytes]) => bytes)));
for (const parent of new Set(files.map(([file]) => dirname(file))))
  mkdirSync(join(folder, parent), { recursive: true });
for (const [file, bytes] of files) writeFileSync(join(folder, file), text.slice(0, bytes));
