import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { routewright } from "../commands/run.js";
import { ownFolder } from "../support/service.js";
import { DAILY, project, type TestNode } from "./project.js";

const FILE = ".routewright-baseline.json";
const untyped = (...columns: readonly string[]): TestNode => ({
  tags: DAILY,
  columns,
  more: { columns: Object.fromEntries(columns.map((name) => [name, { name, description: "A column." }])) },
});

/** A folder with a manifest of one model, and what `lint` says in it. */
function inFolder(node: TestNode) {
  const folder = ownFolder();
  const write = (sales: TestNode): void =>
    writeFileSync(join(folder, "manifest.json"), JSON.stringify(project({ sales })));
  const lint = (...flags: readonly string[]) =>
    routewright(folder, ["lint", "--manifest", "manifest.json", ...flags]);
  const rules = async (): Promise<unknown> =>
    (JSON.parse((await lint("--format", "json")).out) as { readonly rules: unknown }).rules;
  const baseline = (): string => readFileSync(join(folder, FILE), "utf8");
  write(node);
  return { folder, write, lint, rules, baseline };
}

it("accepts the findings of the day on which it is written", async () => {
  const { lint, baseline } = inFolder(untyped("day", "shop"));
  expect((await lint()).exit).toBe(1);
  expect(await lint("--write-baseline")).toEqual({
    exit: 0,
    out: `${FILE} accepts 2 findings. Commit it.\n`,
    err: "",
  });
  expect(baseline()).toBe(
    `[
  {"rule":"unlimited-response","model":"model.shop.sales","path":"$.config.meta","names":[]},
  {"rule":"untyped-column","model":"model.shop.sales","path":"$.columns","names":["day","shop"]}
]
`,
  );
  expect(await lint()).toMatchObject({
    exit: 0,
    out: "0 errors, 0 warnings in 1 endpoint; 2 accepted by the baseline\npasses, no finding\n",
  });
});

it("does not accept a finding that names more, or another one at the same place", async () => {
  const { write, lint, rules } = inFolder(untyped("day", "shop"));
  await lint("--write-baseline");
  write(untyped("day", "shop", "till"));
  expect(await rules()).toEqual({ "untyped-column": 1, "stale-baseline": 1 });
  write({ tags: DAILY, columns: [] });
  expect(await rules()).toEqual({ "untyped-column": 1, "stale-baseline": 1 });
});

it("fails where it accepts more than there is, until it shrinks; it never grows", async () => {
  const { write, lint, rules, baseline } = inFolder(untyped("day", "shop"));
  await lint("--write-baseline");
  write(untyped("day"));
  expect(await rules()).toEqual({ "stale-baseline": 1 });
  expect((await lint("--fail-on", "error")).exit).toBe(1);
  expect(await lint("--write-baseline")).toMatchObject({ exit: 2, err: expect.stringContaining("--shrink") });
  expect((await lint("--write-baseline", "--shrink")).exit).toBe(0);
  expect(baseline()).toContain('"names":["day"]}');
  expect((await lint()).exit).toBe(0);
  write(untyped("day", "shop"));
  expect((await lint("--write-baseline", "--shrink")).exit).toBe(0);
  expect(await rules()).toEqual({ "untyped-column": 1 });
});

it("knows a parameter whatever its position", async () => {
  const api = (...names: readonly string[]) => ({
    allow_unfiltered: true,
    parameters: names.map((name) => ({ name, column: "shop", operator: "=", type: "string" })),
  });
  const sales = { tags: DAILY, columns: ["shop"] };
  const { write, lint } = inFolder({ ...sales, api: api("shop") });
  await lint("--write-baseline");
  const described = { name: "x", column: "shop", operator: "=", type: "string", description: "A shop." };
  const { parameters } = api("shop");
  write({ ...sales, api: { allow_unfiltered: true, parameters: [described, ...parameters] } });
  expect((await lint()).exit).toBe(0);
});

it("is the file of `lint.baseline` in the config file", async () => {
  const { folder, lint, baseline } = inFolder(untyped("day"));
  writeFileSync(
    join(folder, "routewright.config.json"),
    JSON.stringify({ lint: { baseline: "known.json" } }),
  );
  await lint("--write-baseline");
  expect(() => baseline()).toThrow();
  expect((await lint()).exit).toBe(0);
});

it.each([
  ["--shrink alone", "[]", ["--shrink"], "--shrink goes with --write-baseline."],
  ["a file that is not JSON", "{", [], "is not JSON"],
  ["an unknown rule", '[{"rule":"x","model":"m","path":"$","names":[]}]', [], "[0].rule"],
  ["a key that is not known", '[{"rule":"float-money","model":"m","path":"$","names":[],"a":1}]', [], '"a"'],
])("is refused: %s", async (_, text, flags, message) => {
  const { folder, lint } = inFolder(untyped("day"));
  writeFileSync(join(folder, FILE), text);
  expect(await lint(...flags)).toMatchObject({ exit: 2, err: expect.stringContaining(message) });
});
