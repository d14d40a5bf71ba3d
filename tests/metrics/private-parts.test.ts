import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { plainText } from "../../generator/report/report.js";
import { changesBetween } from "../diff/catalogues.js";
import { lintJson } from "../lint/run.js";
import { KEYS, serveManifest } from "../support/service.js";
import { EXPOSURE, exposureDatabase } from "./exposure-tables.js";

type Json = Record<string, unknown>;
interface Part {
  name: string;
  config?: Json;
  meta?: Json;
}
interface Semantic extends Part {
  dimensions: Part[];
  entities: Part[];
  measures: Part[];
}
interface Project {
  semantic_models: Record<string, Semantic>;
  metrics: Record<string, Json>;
  saved_queries: Record<string, Json>;
}

const PII = { meta: { pii: true } };
const tags = (name: string, tier = "tier0") => ["production", "pay", `api:${name}`, tier];

/** A metric with its own settings. */
function metric(name: string, parameters: Json, { groups, marks = {}, type = "simple" }: Settings = {}) {
  const routewright = groups === undefined ? {} : { routewright: { group_by: groups } };
  return {
    [`metric.test.${name}`]: {
      name,
      type,
      type_params: parameters,
      config: { tags: tags(name), meta: { ...marks, ...routewright } },
    },
  };
}
interface Settings {
  readonly groups?: unknown;
  readonly marks?: Json;
  readonly type?: string;
}

const simple = (measure: string): Json => ({ measure: { name: measure } });
const sumOf = (...names: readonly string[]): Json => ({
  expr: names.join(" + "),
  metrics: names.map((name) => ({ name })),
});

/** The project in which semantic models, their parts and metrics are marked, and no column of a model. */
function markedProject(): Project {
  const project = structuredClone(EXPOSURE) as Project;
  const { semantic_models: semantics } = project;
  const copy = (name: string): Semantic => {
    const made = structuredClone(semantics["semantic_model.test.transfers"]!);
    const own = JSON.parse(
      JSON.stringify(made).replaceAll("transfers_", `${name}_`).replaceAll('"transfer"', `"${name}"`),
    ) as Semantic;
    semantics[`semantic_model.test.${name}`] = { ...own, name };
    return semantics[`semantic_model.test.${name}`]!;
  };
  copy("whole").config = PII;
  // As in dbt 1.9, and as a folder's `+meta` of dbt_project.yml arrives.
  copy("older").meta = { contains_pii: true };
  const parts = copy("parts");
  parts.dimensions[0]!.config = PII;
  parts.entities[1]!.config = PII;
  parts.measures[1]!.config = PII;
  const members = structuredClone(semantics["semantic_model.test.customers"]!);
  members.entities[0]!.name = "member";
  semantics["semantic_model.test.members"] = { ...members, name: "members", config: PII };
  const joining = copy("joining");
  joining.entities.push({ ...joining.entities[1]!, name: "member" });
  project.metrics = {
    ...project.metrics,
    ...metric("whole_count", simple("whole_count"), { groups: ["metric_time"] }),
    ...metric("whole_timeless", simple("whole_count")),
    ...metric("whole_all", simple("whole_count"), { groups: "all" }),
    ...metric("whole_listed", simple("whole_count"), { groups: ["metric_time", "whole__token"] }),
    ...metric("whole_amount", simple("whole_amount"), { groups: ["metric_time"] }),
    ...metric("older_amount", simple("older_amount"), { groups: ["metric_time"] }),
    ...metric("parts_all", simple("parts_amount"), { groups: "all" }),
    ...metric("parts_count", simple("parts_count")),
    ...metric("parts_token", {
      metric_aggregation_params: { semantic_model: "parts", agg: "max", expr: "token" },
    }),
    ...metric("joining_all", simple("joining_amount"), { groups: "all" }),
    ...metric("joining_listed", simple("joining_amount"), { groups: ["member__region"] }),
    ...metric("secret", simple("transfers_amount"), { marks: { pii: true } }),
    ...metric("from_secret", sumOf("secret", "sent"), { type: "derived" }),
    ...metric("from_secret_twice", sumOf("marked_from_secret"), { type: "derived" }),
    ...metric("marked_from_secret", sumOf("secret"), { type: "derived", marks: { privacy_tier: "tier1" } }),
    ...metric(
      "share_of_secret",
      { numerator: { name: "sent" }, denominator: { name: "secret" } },
      { type: "ratio" },
    ),
    ...metric(
      "running_secret",
      { cumulative_type_params: { metric: { name: "secret" } } },
      { type: "cumulative" },
    ),
    ...metric("public_amount", simple("transfers_amount"), { marks: { pii: false } }),
  };
  project.saved_queries["saved_query.test.of_secret"] = {
    name: "of_secret",
    query_params: { metrics: ["secret"], group_by: [] },
    config: { tags: tags("of_secret") },
  };
  return project;
}

const PROJECT = markedProject();
const url = await serveManifest(PROJECT, { DATABASE_URL: await exposureDatabase(), RATE_LIMITS: "100000" });

async function ask(request: string): Promise<number> {
  const response = await fetch(`${url}/v1/pay/${request}`, { headers: { "X-API-Key": KEYS.tier3 } });
  await response.arrayBuffer();
  return response.status;
}

const reading = parseManifest(JSON.stringify(PROJECT), "manifest.json");
if (!reading.ok) throw new Error(reading.problems.join(" "));
const { entries, skipped } = catalogueOf(reading.value);

const whyNot = (name: string): string =>
  skipped
    .filter(({ model }) => model.endsWith(`.${name}`))
    .flatMap(({ problems }) => problems.map(({ message }) => message))
    .join(" ");

function offered(resource: string): readonly string[] {
  const { aggregate } = entries.find((entry) => entry.resource === resource) ?? {};
  return (aggregate?.measures ?? []).flatMap(({ groups }) => groups.map(({ name }) => name));
}

describe("a semantic model that is marked private as a whole", () => {
  it.each([
    "whole__token",
    "whole__paid_on__month",
    "whole",
    "customer",
    "member__region",
    "member__level",
    "member",
  ])("has no group, filter and sort %s where it is not listed", async (name) => {
    for (const metrics of ["whole_count", "joining_all"])
      for (const query of [`group_by=${name}`, `${name}=1`, `${name}[null]=false`, `sort_by=${name}`])
        if (metrics === "whole_count" || name.startsWith("member__"))
          expect([metrics, query, await ask(`${metrics}?${query}`)]).toEqual([metrics, query, 400]);
  });

  it("is served by what lists it by name", async () => {
    expect(offered("whole_listed")).toEqual(["metric_time", "whole__token"]);
    expect(await ask("whole_listed?group_by=whole__token")).toBe(200);
    expect(await ask("joining_listed?group_by=member__region")).toBe(200);
    expect(await ask("whole_count?group_by=metric_time__month")).toBe(200);
  });

  it.each(["whole_timeless", "whole_all", "whole_amount", "older_amount"])(
    "does not serve %s",
    async (name) => {
      expect(whyNot(name)).toContain("private");
      expect(await ask(name)).toBe(404);
    },
  );
});

describe("marked parts of a semantic model", () => {
  it("are no groups that a metric has without listing them", async () => {
    expect(offered("parts_all")).not.toContain("parts__token");
    expect(offered("parts_all")).not.toContain("customer");
    expect(offered("parts_all")).toContain("customer__region");
    expect(await ask("parts_all?group_by=parts__token")).toBe(400);
    expect(await ask("parts_all?group_by=customer")).toBe(400);
  });

  it.each(["parts_count", "parts_token"])("are not shown by the metric %s", async (name) => {
    expect(whyNot(name)).toContain("private");
    expect(await ask(name)).toBe(404);
  });
});

describe("a metric that is marked private", () => {
  it("is served where its own tags name it, and to what is marked, too", async () => {
    for (const name of ["secret", "marked_from_secret", "of_secret", "public_amount"])
      expect([name, await ask(name)]).toEqual([name, 200]);
  });

  it.each(["from_secret", "share_of_secret", "running_secret", "from_secret_twice"])(
    "does not reach callers through %s, which is not marked",
    async (name) => {
      expect(whyNot(name)).toContain("private");
      expect(await ask(name)).toBe(404);
    },
  );

  it("is a private column of its endpoint", () => {
    const columns = (resource: string) =>
      (entries.find((entry) => entry.resource === resource)?.aggregate?.columns ?? [])
        .filter((column) => "private" in column && column.private === true)
        .map(({ name }) => name);
    expect(columns("secret")).toEqual(["secret"]);
    expect(columns("of_secret")).toEqual(["secret"]);
    expect(columns("public_amount").filter((name) => name === "public_amount")).toEqual([]);
  });

  it("is found by lint below the tier that its mark requires, through all that serves it", () => {
    const privateData = (project: Project) =>
      lintJson(project)
        .findings.filter(({ rule, model }) => rule === "private-data" && !model.startsWith("model."))
        .map(({ model, path, message }) => [model, path, plainText(message)]);
    const restricted =
      'Callers of "tier0" get data that "secret" restricts to "tier3" and above in "$.config.meta.pii":';
    expect(privateData(PROJECT)).toEqual([
      ["metric.test.marked_from_secret", "$", `${restricted} "secret" → "marked_from_secret".`],
      ["saved_query.test.of_secret", "$", `${restricted} "secret" → "of_secret".`],
      ["metric.test.secret", "$.config.meta.pii", `${restricted} "secret".`],
    ]);
    const highest = JSON.parse(JSON.stringify(PROJECT).replaceAll('"tier0"', '"tier3"')) as Project;
    expect(privateData(highest)).toEqual([]);
  });

  it("is found by lint behind a filter that compares it, of a metric and of a saved query", () => {
    const where = { where_filters: [{ where_sql_template: "{{ Metric('secret', ['customer']) }} > 1" }] };
    const shared = structuredClone(PROJECT);
    const comparing = metric("comparing", simple("transfers_count"), { marks: { privacy_tier: "tier1" } });
    Object.assign(comparing["metric.test.comparing"]!, { filter: where });
    Object.assign(shared.metrics, comparing);
    shared.saved_queries["saved_query.test.compared"] = {
      name: "compared",
      query_params: { metrics: ["sent"], group_by: [], where },
      config: { tags: tags("compared"), meta: { privacy_tier: "tier1" } },
    };
    const found = lintJson(shared).findings.filter(({ rule }) => rule === "private-data");
    const messages = found.map(({ message }) => plainText(message));
    for (const name of ["comparing", "compared"])
      expect(messages).toContainEqual(
        `Callers of "tier0" get data that "secret" restricts to "tier3" and above in "$.config.meta.pii": "secret" → "${name}".`,
      );
  });

  it("is found by lint where another metric comes first on its path", () => {
    const shared = structuredClone(PROJECT);
    Object.assign(shared.metrics, metric("a_first", simple("transfers_count")));
    (shared.metrics["metric.test.a_first"]!["config"] as Json)["tags"] = tags("secret");
    const findings = lintJson(shared).findings.filter(({ rule }) => rule === "private-data");
    expect(findings.map(({ model, path }) => [model, path])).toContainEqual(["metric.test.a_first", "$"]);
  });

  it("is an exposing change where it comes", () => {
    const base = structuredClone(PROJECT);
    delete base.metrics["metric.test.secret"]!["config"];
    const shared = structuredClone(PROJECT);
    (shared.metrics["metric.test.secret"]!["config"] as Json)["tags"] = tags("sent");
    const kinds = (head: Project) =>
      changesBetween(base, head).map(({ kind, subject, after }) => [kind, subject ?? after]);
    expect(kinds(shared)).toContainEqual(["measure-exposed", "secret"]);
    expect(kinds(PROJECT)).toContainEqual(["private-endpoint-added", expect.stringMatching(/\bsecret$/)]);
  });
});
