/** The tables of runtime/ramp/README.md are those of the code, both ways. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { INTENT_MOVES, isTerminal, type IntentStatus } from "../../runtime/ramp/intents/intent.js";
import { RAMP_ERRORS } from "../../runtime/ramp/ramp-errors.js";
import { readEnvironment } from "../../runtime/environment/environment.js";
import { EVENT_TYPES } from "../../runtime/ramp/webhooks/events.js";

const reference = readFileSync(new URL("../../runtime/ramp/README.md", import.meta.url), "utf8");

/** The rows of a section's table, cell by cell, without the marks of code. */
function rowsOf(section: string): readonly (readonly string[])[] {
  const text = reference.split(`\n## ${section}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...text.matchAll(/^\| `.*\|$/gm)].map(([line]) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
const plain = (cell = ""): string => cell.replaceAll("`", "");

it("errors", () => {
  const rows = rowsOf("Errors").map(([code, status, when]) => [plain(code), status, when]);
  const expected = Object.entries(RAMP_ERRORS).map(([code, { status, when }]) => [
    code,
    String(status),
    when,
  ]);
  expect(rows).toEqual(expected);
});

it("moves of an intent", () => {
  const rows = rowsOf("States").map(([from, to]) => [plain(from), plain(to).split(", ")]);
  const expected = Object.entries(INTENT_MOVES).filter(([from]) => !isTerminal(from as IntentStatus));
  expect(rows).toEqual(expected);
});

it("events", () => {
  expect(rowsOf("Webhooks").map(([name]) => plain(name))).toEqual(EVENT_TYPES);
});

it("settings of the environment, all of them", () => {
  const read = new Set<string>();
  const variables = new Proxy<Record<string, string>>(
    {},
    {
      get(_, name) {
        if (typeof name === "string" && name.startsWith("RAMP_")) read.add(name);
        return undefined;
      },
    },
  );
  readEnvironment(variables);
  expect(
    rowsOf("Environment")
      .map(([name]) => plain(name))
      .sort(),
  ).toEqual([...read].sort());
});
