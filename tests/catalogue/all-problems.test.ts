import { describe, expect, it } from "vitest";
import { catalogueFrom, catalogueOfText, manifestText, onlySkipped, told } from "./catalogues.js";

const COLUMNS = { date: "date", token: "text" };

describe("the problems of a model", () => {
  it("are reported together: those of tags, relation, shape and rules", () => {
    const catalogue = catalogueFrom([
      {
        name: "api_flows",
        schema: "",
        tags: ["production", "my category", "api:a/b", "granularity:daily now", "window:"],
        columns: COLUMNS,
        api: {
          methods: ["DELETE"],
          parameters: [
            { name: "token", column: "tokn", operator: "like", type: "string" },
            { name: "token", column: "token", operator: "IN", type: "string" },
            { name: "from", column: "date", operator: ">=", type: "date", case: "lower", max_items: 0 },
          ],
          require_any_of: ["to"],
          pagination: { enabled: true, default_limit: 9, max_limit: 3, response: "both" },
          sort: [{ column: "day", direction: "down" }],
          sortable_fields: ["dat", 3],
        },
      },
    ]);
    const api = "$.config.meta.api";
    expect(told(onlySkipped(catalogue).problems).toSorted()).toEqual(
      [
        '$.tags: The tag "my category" cannot be a path segment.',
        '$.tags: The tag "api:a/b" cannot be a path segment.',
        '$.tags: The tag "window:" has no value.',
        '$.tags: The tag "granularity:daily now" cannot be a path segment.',
        "$.schema: The name is missing or empty.",
        `${api}.methods[0]: "DELETE" is not allowed here.`,
        `${api}.parameters[0].operator: "like" is not allowed here.`,
        `${api}.parameters[0].column: The model has no column "tokn".`,
        `${api}.parameters[1].name: The name "token" is used twice.`,
        `${api}.parameters[1].type: The operator "IN" does not take "string".`,
        `${api}.parameters[2].case: \`case\` does not apply to a date.`,
        `${api}.parameters[2].max_items: 0 is out of range.`,
        `${api}.require_any_of[0]: No parameter is named "to".`,
        `${api}.pagination.max_limit: \`max_limit\` (3) is below \`default_limit\` (9).`,
        `${api}.pagination.response: "both" is not allowed here.`,
        `${api}.sort[0].column: The model has no column "day".`,
        `${api}.sort[0].direction: "down" is not allowed here.`,
        `${api}.sortable_fields[0]: The model has no column "dat".`,
        `${api}.sortable_fields[1]: 3 is not of type string.`,
      ].toSorted(),
    );
  });

  it("do not breed others: what hangs on an unsound value is not complained of", () => {
    const parameters = { parameters: "token", require_any_of: ["token"] };
    const unnamed = {
      parameters: [{ column: "token", operator: "=", type: "string" }],
      require_any_of: ["token"],
    };
    const filter = { allow_unfiltered: "no" };
    for (const api of [parameters, unnamed, filter]) {
      const { problems } = onlySkipped(
        catalogueFrom([{ name: "a", tags: ["production", "api:a"], columns: COLUMNS, api }]),
      );
      expect(problems).toHaveLength(1);
    }
  });

  it("show a value on one line, never at full length or depth", () => {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    const api = { parameters: ["DEEP"], methods: [`${"x".repeat(5000)}\n\u202e`], sort: "a\n\u202eb" };
    const node = { resource_type: "model", name: "a", schema: "s", tags: ["production", "api:a"] };
    const nodes = { "model.test.a": { ...node, config: { meta: { api } } } };
    const text = manifestText(nodes).replace('"DEEP"', deep);
    const { problems } = onlySkipped(catalogueOfText(text));
    expect(problems).toHaveLength(3);
    for (const { message } of problems) {
      expect(message.length).toBeLessThan(200);
      expect(message).not.toMatch(/[\n\u202e]/);
    }
  });
});

it.each<[string, object, string]>([
  ["no schema", { schema: "" }, "$.schema: The name is missing or empty."],
  [
    "a NUL in its schema",
    { schema: "a\0b" },
    "$.schema: The name contains the character U+0000, which no identifier can.",
  ],
  [
    "a NUL in its name",
    { name: "a\0b" },
    "$.alias: The name contains the character U+0000, which no identifier can.",
  ],
])("a relation with %s is refused", (_, over, problem) => {
  const catalogue = catalogueFrom([{ name: "a", tags: ["production", "api:a"], ...over }]);
  expect(told(onlySkipped(catalogue).problems)).toEqual([problem]);
});

describe("a key that means nothing", () => {
  const warningsOf = (api: unknown): string[] => {
    const { warnings, entries } = catalogueFrom([
      { name: "a", tags: ["production", "api:a"], columns: COLUMNS, api },
    ]);
    expect(entries).toHaveLength(1);
    return warnings.map(({ path, message, hint }) => `${path}: ${message} ${hint}`);
  };

  it("is a warning with the key it most likely stands for, wherever it stands", () => {
    expect(
      warningsOf({
        allow_unfiltred: true,
        allow_unfiltered: true,
        parameters: [{ name: "t", column: "token", operator: "=", type: "string", max_item: 3 }],
        pagination: { enabled: true, default_limit: 1, max_limit: 1, defaultlimit: 3 },
        sort: [{ column: "date", direction: "ASC", nulls: "last" }],
      }),
    ).toEqual([
      '$.config.meta.api: Unknown key "allow_unfiltred"; ignored. Did you mean `allow_unfiltered`?',
      '$.config.meta.api.parameters[0]: Unknown key "max_item"; ignored. Did you mean `max_items`?',
      '$.config.meta.api.sort[0]: Unknown key "nulls"; ignored. Known keys: column, direction.',
      '$.config.meta.api.pagination: Unknown key "defaultlimit"; ignored. Did you mean `default_limit`?',
    ]);
  });

  it("is a warning also when it is named like something of JavaScript's", () => {
    const api: unknown = JSON.parse('{"allow_unfiltered":true,"__proto__":{"parameters":1},"constructor":1}');
    expect(warningsOf(api)).toHaveLength(2);
  });

  it("is reported beside the problems of a skipped model", () => {
    const catalogue = catalogueFrom([{ name: "a", tags: ["production", "api:a"], api: { paramters: [] } }]);
    expect(catalogue.warnings[0]?.hint).toBe("Did you mean `parameters`?");
    expect(onlySkipped(catalogue).problems).toHaveLength(1);
  });
});
