import { describe, expect, it } from "vitest";
import { parseDocument } from "yaml";
import { edited, type YamlEdit } from "../../generator/suggest/yaml-edit.js";

const TITLE: YamlEdit = {
  at: ["models", { name: "orders" }, "config", "meta", "routewright", "title"],
  value: "Orders: all",
  how: "set",
};
const FILTER: YamlEdit = {
  at: ["models", { name: "orders" }, "config", "meta", "routewright", "filters"],
  value: "day",
  how: "add",
};
const TEST: YamlEdit = {
  at: ["models", { name: "orders" }, "columns", { name: "status" }, "data_tests"],
  value: { accepted_values: { values: ["a", "b"] } },
  how: "add",
};

// Raw YAML: the layouts know what is in it.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Parsed = any;

/** Layouts of one model as people write it, with what must stay. */
const LAYOUTS: Readonly<Record<string, string>> = {
  "nothing but a name": "models:\n  - name: orders\n",
  "a list that is not indented": "version: 2\nmodels:\n- name: orders # ours\n  columns:\n  - name: id\n",
  "four spaces and comments": [
    "# Models of the shop.",
    "models:",
    "    # The orders.",
    "    - name: 'orders'   # as sold",
    "      description: >",
    "          All orders,",
    "          folded.",
    "",
    "      config:",
    "          # who may call",
    '          tags: [production, "api:orders"]',
    "          meta:",
    "              owner: ann",
    "      columns:",
    "          - name: status",
    "            description: |",
    "              One of two.",
    "",
    "            # the key",
    "          - name: id",
    "    - name: other",
    "# the end",
    "",
  ].join("\n"),
  "flow maps":
    "models:\n  - { name: orders, config: { meta: { routewright: { filters: [id] } } }, columns: [{ name: status }] }\n",
  "an empty flow map": "models:\n  - name: orders\n    config: {}\n    columns: []\n",
  "a block list of filters": [
    "models:",
    "  - name: orders",
    "    config:",
    "      meta:",
    "        routewright:",
    "          filters:",
    "            - id   # the key",
    "            # later: customer",
    "          cursor: true",
    "    columns:",
    "      - name: status",
    "        data_tests:",
    "          - not_null",
    "",
  ].join("\n"),
  "Windows line ends": "models:\r\n  - name: orders\r\n    description: x\r\n",
  "no line end": "models:\n  - name: orders",
  anchors: "x: &tags [a]\nmodels:\n  - name: orders\n    config: { tags: *tags }\n",
};

describe("an edit of YAML", () => {
  for (const [name, text] of Object.entries(LAYOUTS))
    it(`adds its lines and changes no other: ${name}`, () => {
      let now = text;
      for (const edit of [TITLE, FILTER, TEST]) {
        const next = edited(now, edit);
        expect(next, edit.how).not.toBeNull();
        expect(edited(next ?? "", edit)).toBe(next);
        now = next ?? "";
      }
      const { models } = parseDocument(now).toJS() as {
        models: readonly Parsed[];
      };
      const [orders] = models;
      expect(orders?.["config"].meta.routewright).toMatchObject({ title: "Orders: all" });
      expect(orders?.["config"].meta.routewright.filters).toContain("day");
      const status = orders?.["columns"].find((column: { name: string }) => column.name === "status");
      expect(status.data_tests).toContainEqual({ accepted_values: { values: ["a", "b"] } });
      // Every piece of the old text is still there, in its order.
      if (text.includes("\r\n")) expect(now.replaceAll("\r\n", "")).not.toContain("\n");
      let at = 0;
      for (const piece of text.split(/[\s{}[\],]+/).filter((part) => part !== "")) {
        at = now.indexOf(piece, at);
        expect(at, piece).toBeGreaterThanOrEqual(0);
      }
      if (!/[{[]/.test(text)) {
        const lines = new Set(now.split("\n"));
        for (const line of text.split("\n")) expect(lines).toContain(line);
      }
    });

  it("replaces a value, and leaves what is no such place", () => {
    const text = "models:\n  - name: orders\n    config: {meta: {routewright: {title: Old}}} # kept\n";
    expect(edited(text, TITLE)).toBe(text.replace("Old", '"Orders: all"'));
    expect(edited("models:\n  - name: orders\n    config: text\n", TITLE)).toBeNull();
    expect(edited("models: {orders: 1}\n", TITLE)).toBeNull();
    expect(edited("models:\n  - name: orders\n  bad: [", TITLE)).toBeNull();
    expect(edited("", TITLE)).toBeNull();
    expect(edited("models:\n  - name: orders\n    x: *nowhere\n", TITLE)).toBeNull();
  });

  it.each([
    ["an anchor of another model", "config: &c\n      meta: {a: 1}\n  - name: other\n    config: *c\n"],
    ["an alias", "config: *c\n"],
    ["a merged config", "<<: *c\n"],
    ["a merged meta", "config:\n      <<: *c\n      tags: [a]\n"],
  ])("does not change or hide %s", (_, rest) => {
    const common = "x: &c\n  meta: {owner: ann}\n  config: {tags: [production]}\n";
    const text = `${rest.includes("&c") ? "" : common}models:\n  - name: orders\n    ${rest}`;
    expect(edited(text, TITLE)).toBeNull();
  });

  it("quotes texts that dbt's YAML 1.1 reads as something else", () => {
    const values = ["yes", "no", "on", "2026-01-01", "12:30", "1_000", "=", "<<", "0x1f", "012", "plain"];
    const edit: YamlEdit = { ...TEST, value: { accepted_values: { values } } };
    for (const text of ["models:\n  - name: orders\n", "models: [{ name: orders, columns: [] }]\n"]) {
      const made = edited(text, edit) ?? "";
      expect(edited(made, edit)).toBe(made);
      const { models } = parseDocument(made, { version: "1.1" }).toJS() as { models: readonly Parsed[] };
      const [test] = models[0]?.["columns"][0].data_tests as Parsed[];
      expect(test.accepted_values.values).toEqual(values);
      expect(made).toMatch(/[[ ]plain/);
    }
  });
});
