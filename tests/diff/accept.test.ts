import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DiffOptions } from "../../generator/commands/diff.js";
import { applyAcceptFile, parseAcceptFile } from "../../generator/report/accept-file.js";
import { CHANGE_KINDS } from "../../generator/diff/change-kinds.js";
import type { Change } from "../../generator/diff/change.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";
import { diffOf, modelWith } from "./catalogues.js";

function read(value: unknown) {
  return parseAcceptFile(typeof value === "string" ? value : JSON.stringify(value), "accept.json");
}

const entry = {
  kind: "column-removed",
  endpoint: "/v1/a/b",
  subject: "x",
  before: null,
  after: null,
  reason: "Agreed.",
} as const;

describe("an accept file", () => {
  it("is read, with subject and without", () => {
    const whole = { kind: "tier-raised", endpoint: "/v1/a/b", reason: "Agreed." };
    expect(read([entry, { ...whole, expires: "2026-03-31" }])).toEqual({
      ok: true,
      value: [
        { ...entry, expires: null },
        { ...whole, subject: null, before: null, after: null, expires: "2026-03-31" },
      ],
    });
    expect(read([])).toEqual({ ok: true, value: [] });
  });

  it("reports every problem of every entry at once", () => {
    const entries = [
      { kind: "column-remove", endpoint: "v1/a", reason: " ", befor: 1, why: 1 },
      "everything",
      {},
      { ...entry, subject: 1, expires: "soon" },
    ];
    const reading = read(entries);
    expect(reading.ok ? [] : reading.problems.map((problem) => problem.slice(0, 76)).toSorted()).toEqual(
      [
        'accept.json, [0]: Unknown key "befor". Did you mean `before`?',
        'accept.json, [0]: Unknown key "why". Known keys: kind, endpoint, reason, sub',
        'accept.json, [0].kind: "column-remove" is not allowed here. Write "column-re',
        'accept.json, [0].endpoint: "v1/a" is not allowed here. Give the path of the ',
        'accept.json, [0].reason: " " is not allowed here. Say why consumers can live',
        'accept.json, [1]: "everything" is not of type object. Write an object.',
        "accept.json, [2]: Missing required key `kind`. Write one of private-mark-rem",
        "accept.json, [2]: Missing required key `endpoint`. Give the path of the endp",
        "accept.json, [2]: Missing required key `reason`. Say why consumers can live ",
        'accept.json, [3].expires: "soon" is not allowed here. Give the last day on w',
        "accept.json, [3].subject: 1 is not of type string,null. Give the column, par",
      ].toSorted(),
    );
  });

  it.each([
    ["is not JSON", "[{]", "accept.json is not JSON"],
    ["is empty", "", "accept.json is not JSON: it is empty."],
    ["is not a list", { entries: [] }, "accept.json: {…} is not of type array. Write a list."],
    [
      "names a day that the calendar lacks",
      [{ ...entry, expires: "2026-02-30" }],
      '[0].expires: "2026-02-30" is not a day. Give the last day on which it holds as YYYY-MM-DD',
    ],
    ["has an entry twice", [entry, { ...entry, reason: "Again." }], "[1]: Duplicate of [0]. Remove one."],
    [
      "has a name of every object for a kind",
      [{ ...entry, kind: "toString" }],
      '[0].kind: "toString" is not allowed here.',
    ],
  ])("is refused where it %s", (_, value, problem) => {
    const reading = read(value);
    expect(reading.ok ? "" : reading.problems.join("\n")).toContain(problem);
  });
});

const location = { model: "m", file: null, tier: "tier0", before: null, after: null, details: [] } as const;
const removed: Change = {
  ...location,
  severity: "breaking",
  kind: "column-removed",
  endpoint: "/v1/a/b",
  subject: "x",
};
const added: Change = { ...removed, severity: "compatible", kind: "column-added" };

it("judging changes accepts one change by kind, endpoint, subject, before and after, and no other", () => {
  const others = [
    added,
    { ...removed, subject: "y" },
    { ...removed, subject: null },
    { ...removed, before: "text" },
    { ...removed, after: "text" },
    { ...removed, endpoint: "/v1/a/c" },
  ];
  const verdict = applyAcceptFile(
    [removed, ...others],
    [{ ...entry, expires: null }],
    CHANGE_KINDS,
    "2026-01-31",
  );
  expect(verdict.unaccepted).toEqual(others);
  expect(verdict.accepted.map(({ found }) => found)).toEqual([removed]);
});

describe("the accept file of a run", () => {
  const folder = ownFolder();
  const write = (name: string, json: unknown): string => {
    const file = join(folder, name);
    writeFileSync(file, JSON.stringify(json));
    return file;
  };
  const base = write("base.json", manifestOf([modelWith({ columns: { a: "text", b: "int8", c: "text" } })]));
  const head = write("head.json", manifestOf([modelWith({ columns: { a: "text" } })]));
  const run = (options: Partial<DiffOptions>) => diffOf({ base, head, ...options });
  const accepted = (subject: string, before = subject === "b" ? "int8 null" : "text null") => ({
    kind: "column-removed",
    endpoint: "/v1/bridges/volume",
    subject,
    before,
    reason: "Agreed.",
  });

  it("stops the second of two dropped columns when one is accepted, and passes when both are", async () => {
    expect((await run({ accept: write("one.json", [accepted("b")]) })).exit).toBe(1);
    expect((await run({ accept: write("two.json", [accepted("b"), accepted("c")]) })).exit).toBe(0);
  });

  it("takes the entries that the comment offers, once they have a reason", async () => {
    const { output = "" } = await run({ format: "markdown", accept: write("none.json", []) });
    const offered = /```json\n(\[[^]*?\n\])\n```/.exec(output)?.[1] ?? "";
    const entries = (JSON.parse(offered) as object[]).map((one) => ({ ...one, reason: "Agreed." }));
    expect((await run({ accept: write("pasted.json", entries) })).exit).toBe(0);
  });

  it("is offered entries that name each subject exactly", async () => {
    const subject = 'a":b,';
    const before = write(
      "quotes.json",
      manifestOf([modelWith({ columns: { a: "text", [subject]: "text" } })]),
    );
    const { output = "" } = await run({ base: before, format: "markdown" });
    const [entries = ""] = /^\[\n[^]*^\]$/m.exec(output) ?? [];
    expect(JSON.parse(entries)).toEqual([
      { kind: "column-removed", endpoint: "/v1/bridges/volume", subject, before: "text null", reason: "" },
    ]);
  });

  it("passes once the change has merged, and says what is not needed", async () => {
    const accept = write("merged.json", [accepted("b"), accepted("z"), accepted("c")]);
    const { exit, output = "" } = await run({ accept });
    expect(exit).toBe(0);
    expect(output).toContain(
      'merged.json" has stale entries, which match no change: "column-removed /v1/bridges/volume z".',
    );
    expect((await run({ base, head: base, accept })).exit).toBe(0);
  });

  it("accepts through the last day of `expires`, and says what expired", async () => {
    const until = (expires: string) => write("until.json", [{ ...accepted("b"), expires }, accepted("c")]);
    const today = "2026-01-31";
    expect(await run({ accept: until("2026-01-31"), today })).toMatchObject({ exit: 0 });
    expect(await run({ accept: until("2026-01-30"), today })).toMatchObject({
      exit: 1,
      output: expect.stringContaining(
        'until.json" has expired entries, which accept nothing any more: "column-removed /v1/bridges/volume b (2026-01-30)".',
      ),
    });
  });

  it("does not accept a further step of what was accepted once", async () => {
    const at = (tier: string): string =>
      write(`${tier}.json`, manifestOf([modelWith({ tags: ["production", "bridges", tier, "api:volume"] })]));
    const [tier3, tier2, tier0] = ["tier3", "tier2", "tier0"].map(at) as [string, string, string];
    const lowered = { kind: "tier-lowered", endpoint: "/v1/bridges/volume", reason: "Agreed." };
    const accept = write("lowered.json", [{ ...lowered, before: "tier3", after: "tier2" }]);
    expect((await run({ base: tier3, head: tier2, accept })).exit).toBe(0);
    const { exit, output } = await run({ base: tier2, head: tier0, accept, format: "markdown" });
    expect({ exit, output }).toEqual({
      exit: 1,
      output: expect.stringContaining(
        '{"kind": "tier-lowered", "endpoint": "/v1/bridges/volume", "before": "tier2", "after": "tier0", "reason": ""}',
      ),
    });
    const withoutValues = write("any-step.json", [lowered]);
    expect((await run({ base: tier3, head: tier2, accept: withoutValues })).exit).toBe(1);
  });
});

describe("severities of a repository", () => {
  const folder = ownFolder();
  const [base, head] = ["int2", "int4"].map((type, i) => {
    const file = join(folder, `${String(i)}.json`);
    writeFileSync(file, JSON.stringify(manifestOf([modelWith({ columns: { a: type } })])));
    return file;
  }) as [string, string];

  it.each([
    [undefined, 0, "1 warning"],
    ["breaking", 1, "1 breaking"],
    ["compatible", 0, "1 compatible"],
    ["off", 0, "0 exposing, 0 breaking, 0 warnings, 0 compatible"],
  ] as const)("smallint to integer as %s exits %i", async (severity, exit, summary) => {
    const severities = severity && { severities: { "column-widened": severity } };
    expect(await diffOf({ base, head, ...severities })).toMatchObject({
      exit,
      output: expect.stringContaining(summary),
    });
  });
});
