/**
 * `tests/golden-mistakes/<table>.txt` has the output for each mistake. After an intended change of a message,
 * `UPDATE_GOLDEN=1 npm test -- mistakes` writes the files again, for review in the diff.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { ownFolder } from "../support/service.js";
import { CLI_MISTAKES, MANIFEST_MISTAKES, type Mistake } from "./mistakes.js";
import { routewright } from "./run.js";

const GOLDEN = fileURLToPath(new URL("../golden-mistakes/", import.meta.url));

async function outputOf({ name, files = {}, command, variables = {} }: Mistake): Promise<string> {
  const folder = ownFolder();
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), content);
  }
  const { exit, out, err } = await routewright(folder, command, variables);
  const set = Object.entries(variables).map(([key, value]) => `${key}='${value}' `);
  const lines = `${out}${err}`
    .replaceAll(folder, "<folder>")
    // So git ends its search where temporary folders have a file system of their own.
    .replace(/\(or any parent up to mount point [^)]*\)/, "(or any of the parent directories): .git")
    .split("\n")
    .filter((line) => !/^(added|\d+ endpoints?;)/.test(line));
  return [
    `## ${name}`,
    `$ ${set.join("")}routewright ${command.join(" ")}`,
    `exit ${String(exit)}`,
    ...lines,
  ].join("\n");
}

it.each<[string, readonly Mistake[]]>([
  ["manifest", MANIFEST_MISTAKES],
  ["command-line", CLI_MISTAKES],
])("the output for each mistake says what is wrong, where, and what to do: %s", async (table, mistakes) => {
  const texts: string[] = [];
  for (const mistake of mistakes) texts.push(await outputOf(mistake));
  const text = texts.join("\n");
  const file = join(GOLDEN, `${table}.txt`);
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(file, text);
  expect(text).toBe(readFileSync(file, "utf8"));
});
