import { describe, expect, it } from "vitest";
import { parseAccept } from "../../generator/diff/accept.js";
import type { Change } from "../../generator/diff/change.js";
import { crosses, judge } from "../../generator/diff/judgement.js";

function read(value: unknown) {
  return parseAccept(typeof value === "string" ? value : JSON.stringify(value), "accept.json");
}

const entry = { kind: "column-removed", endpoint: "/v1/a/b", reason: "Agreed." } as const;

describe("an accept file", () => {
  it("is read, with an expiry and without", () => {
    const dated = { ...entry, kind: "tier-raised", expires: "2028-02-29" };
    expect(read([entry, dated])).toEqual({ ok: true, entries: [{ ...entry, expires: null }, dated] });
    expect(read([])).toEqual({ ok: true, entries: [] });
  });

  it("tells every problem of every entry at once", () => {
    const entries = [
      { kind: "column-remove", endpoint: "v1/a", reason: " ", expires: "2027-02-29", expiry: 1 },
      "everything",
      {},
      { ...entry, expires: null },
    ];
    const reading = read(entries);
    expect(reading.ok ? [] : reading.problems.map((problem) => problem.slice(0, 62))).toEqual([
      'accept.json, [0]: the key "expiry" means nothing here; known a',
      'accept.json, [0]: `kind` is "column-remove"; did you mean "col',
      'accept.json, [0]: `endpoint` is "v1/a"; give the path of the e',
      'accept.json, [0]: `reason` is " "; say why consumers can live ',
      'accept.json, [0]: `expires` is "2027-02-29"; give a date as YY',
      'accept.json, [1]: "everything" is not an object. Write `[{"kin',
      "accept.json, [2]: `kind` is missing; use one of endpoint-remov",
      "accept.json, [2]: `endpoint` is missing; give the path of the ",
      "accept.json, [2]: `reason` is missing; say why consumers can l",
      "accept.json, [3]: `expires` is null; give a date as YYYY-MM-DD",
    ]);
  });

  it.each([
    ["is not JSON", "[{]", "accept.json is not JSON"],
    ["is empty", "", "accept.json is not JSON: it is empty."],
    ["is no list", { entries: [] }, "accept.json is not a list."],
    ["has an entry twice", [entry, { ...entry, reason: "Again." }], "[1]: it repeats [0]"],
    ["has a name of every object for a kind", [{ ...entry, kind: "toString" }], '`kind` is "toString"'],
  ])("is refused where it %s", (_, value, problem) => {
    const reading = read(value);
    expect(reading.ok ? "" : reading.problems.join("\n")).toContain(problem);
  });
});

const place = {
  model: "m",
  file: null,
  tier: "tier0",
  subject: null,
  before: null,
  after: null,
  details: [],
} as const;
const removed: Change = { ...place, kind: "column-removed", endpoint: "/v1/a/b" };
const added: Change = { ...place, kind: "column-added", endpoint: "/v1/a/b" };
const accepting = (expires: string | null) => [{ ...entry, expires }];

describe("judging changes", () => {
  it("accepts all changes of the kind at the endpoint, and no other", () => {
    const elsewhere = { ...removed, endpoint: "/v1/a/c" };
    const judgement = judge(
      [removed, added, { ...removed, subject: "x" }, elsewhere],
      accepting(null),
      "2030-01-01",
    );
    expect(judgement.open).toEqual([added, elsewhere]);
    expect(judgement.accepted.map(({ change }) => change.subject)).toEqual([null, "x"]);
    expect(judgement.stale).toEqual([]);
  });

  it("accepts through the last day and not a day longer", () => {
    expect(judge([removed], accepting("2030-01-31"), "2030-01-31").open).toEqual([]);
    const late = judge([removed], accepting("2030-01-31"), "2030-02-01");
    expect(late.open).toEqual([removed]);
    expect(late.stale.map(({ why }) => why)).toEqual(["expired"]);
  });

  it("finds an entry stale whose change is not there, expired or not", () => {
    for (const expires of [null, "2020-01-01"]) {
      expect(judge([added], accepting(expires), "2030-01-01").stale.map(({ why }) => why)).toEqual([
        "unmatched",
      ]);
    }
  });

  it.each([
    ["breaking", [removed], [], true],
    ["breaking", [added], [], false],
    ["breaking", [removed], accepting(null), false],
    ["breaking", [], accepting(null), true],
    ["any", [added], [], true],
    ["any", [], [], false],
    ["any", [removed], accepting(null), false],
    ["none", [removed], [], false],
    ["none", [], accepting(null), false],
  ] as const)("crosses the bar `%s` as it should", (failOn, changes, entries, expected) => {
    expect(crosses(judge(changes, entries, "2030-01-01"), failOn)).toBe(expected);
  });
});
