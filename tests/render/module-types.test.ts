import { describe, expect, it } from "vitest";
import { render } from "../../generator/render/render.js";
import { catalogueFrom } from "../catalogue/catalogues.js";
import { complaintsOf } from "./compiler.js";

const pagination = { enabled: true, default_limit: 5, max_limit: 50 };
const columns = { day: "date", amount: "numeric(38,18)", total: "UInt64", count: "integer" };
const files = render(
  catalogueFrom([
    {
      name: "listed",
      tags: ["production", "tier3", "c", "api:list"],
      columns,
      api: { allow_unfiltered: true, pagination },
    },
    {
      name: "wrapped",
      tags: ["production", "tier1", "c", "api:envelope"],
      columns,
      api: {
        allow_unfiltered: true,
        methods: ["GET", "POST"],
        pagination: { ...pagination, response: "envelope" },
      },
    },
  ]),
);

const GOOD = `
  export const tier: "tier3" = list.spec.tier;
  export const path: "/v1/c/envelope" = envelope.spec.path;
  export type Handlers = [typeof list.get, typeof envelope.get, typeof envelope.post];
  export const rows = (body: readonly list.Row[]): Extract<Parameters<Parameters<typeof list.get>[1]["json"]>[0], readonly unknown[]> => body;
  export const page = (body: { items: readonly envelope.Row[]; pagination: { limit: number; offset: number; returned: number; has_more: boolean } }): Parameters<Parameters<typeof envelope.get>[1]["json"]>[0] => body;
`;
const WRONG = {
  "another tier": 'export const tier: "tier0" = list.spec.tier;',
  "a POST that is not declared": "export const post = list.post;",
  "a list where the response is an envelope":
    'export const page = (body: readonly envelope.Row[]): Parameters<Parameters<typeof envelope.get>[1]["json"]>[0] => body;',
};

/** Code that uses both modules. */
const using = (code: string) =>
  new Map([
    ...files,
    [
      "use.ts",
      `import * as list from "./routes/c/list.js";\nimport * as envelope from "./routes/c/envelope.js";\nexport { list, envelope };\n${code}`,
    ],
  ]);

describe("the types of a generated module", () => {
  const complaints = complaintsOf([GOOD, ...Object.values(WRONG)].map(using));
  const complaintsAbout = (i: number) =>
    complaints.filter((line) => line.startsWith(`generated-${String(i)}/`));

  it("keep the literals of its declaration, and the response of this endpoint alone", () => {
    expect(complaintsAbout(0)).toEqual([]);
  });

  it.each(Object.keys(WRONG).map((name, i) => [name, i + 1] as const))("refuse %s", (_, i) => {
    expect(complaintsAbout(i)).toHaveLength(1);
  });
});

it("a column that a JavaScript number cannot hold says so", () => {
  const text = files.get("routes/c/list.ts") ?? "";
  const see = 'see "Large numbers"';
  expect(text).toContain(`/** numeric(38,18) null: may lose digits; ${see}. */\n  amount: number | null;`);
  const risk = "larger than Number.MAX_SAFE_INTEGER";
  expect(text).toContain(`/** UInt64 null: ${risk}; ${see}. */\n  total: number | null;`);
  expect(text).toContain("/** integer null. */\n  count: number | null;");
});
