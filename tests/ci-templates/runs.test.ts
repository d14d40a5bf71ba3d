import { describe, expect, it } from "vitest";
import { manifestOf, type TestModel } from "../support/manifest.js";
import type { Kind, ReviewRequest } from "./platform.js";
import { repositoryOn } from "./repository.js";
import { needs } from "../support/needs.js";

/** A run installs, generates, compares, lints, and talks to git and the platform: several processes each. */
const TIMEOUT_MS = 900_000;

const REVIEW = "routewright/regenerate";

function model(name: string, more: Partial<TestModel> = {}): TestModel {
  const columns = { a: "bigint", b: "text" };
  return { name: `api_${name}`, tags: ["production", "tier1", `api:${name}`], columns, ...more };
}

const BASE = manifestOf([model("volume")]);
const ADDED = manifestOf([model("volume"), model("users")]);
const NARROWED = manifestOf([model("volume", { columns: { a: "bigint" } })]);
const INVALID = manifestOf([model("volume"), model("users", { api: { methods: ["BREW"] } })]);
/** An endpoint that is too open for the mark of privacy on its column. */
const PRIVATE = JSON.parse(
  JSON.stringify(ADDED).replaceAll(
    /("model\.test\.api_users":.*?"name":"a",)/g,
    '$1"meta":{"contains_pii":true},',
  ),
) as unknown;

/** The comments of the pipeline, by their report. */
function reportsOn(request: ReviewRequest): Readonly<Record<string, string>> {
  const own = request.comments.filter(({ author }) => author === "pipeline");
  return Object.fromEntries(own.map(({ body }) => [/^<!-- routewright (\w+) -->\n/.exec(body)![1]!, body]));
}

const kinds: readonly Kind[] = ["github", "gitlab"];

describe.skipIf(!needs("git")).each(kinds)("the pipeline of %s", { timeout: TIMEOUT_MS }, (kind) => {
  it("puts up an addition, once, and withdraws it when dbt takes it back", async () => {
    const repository = await repositoryOn(kind, BASE);
    const { main } = repository.branches();
    repository.manifest = ADDED;
    const first = await repository.run();
    expect(first.status, first.output).toBe(0);
    expect(repository.git("diff", "--name-status", "main", REVIEW).split("\n")).toEqual([
      "M\tgenerated/catalogue.json",
      "M\tgenerated/index.ts",
      "M\tgenerated/lineage.json",
      "M\tgenerated/openapi.json",
      "A\tgenerated/routes/general/users.ts",
    ]);
    expect(repository.git("rev-parse", `${REVIEW}^`)).toBe(main);
    const [request] = repository.platform.requests;
    expect(request).toMatchObject({ head: REVIEW, base: "main" });
    const { diff, lint } = reportsOn(request!);
    expect(diff).toContain("### API changes: passes\n\n0 exposing, 0 breaking, 0 warnings, 1 compatible");
    expect(diff).toContain("`/v1/general/users`");
    expect(lint).toContain("### API lint: passes");
    expect(request!.comments).toHaveLength(2);

    const reviewed = repository.branches();
    const again = await repository.run();
    expect(again.status, again.output).toBe(0);
    expect(repository.branches()).toEqual(reviewed);
    expect(repository.platform.requests).toHaveLength(1);
    expect(request!.comments).toHaveLength(2);

    repository.manifest = BASE;
    const last = await repository.run();
    expect(last.status, last.output).toBe(0);
    expect(repository.branches()).toEqual({ main });
  });
});

// The script is the same on both platforms.
describe.skipIf(!needs("git"))("a pipeline", { timeout: TIMEOUT_MS }, () => {
  it("reports a breaking change before it fails, and passes once the change is accepted", async () => {
    const repository = await repositoryOn("github", BASE);
    const { main } = repository.branches();
    repository.manifest = NARROWED;
    const refused = await repository.run();
    expect(refused.status, refused.output).toBe(1);
    expect(repository.branches()).toEqual({ main, [REVIEW]: expect.any(String) });
    const [request] = repository.platform.requests;
    expect(reportsOn(request!)["diff"]).toContain("### API changes: fails, 1 breaking change\n");

    const entry = {
      kind: "column-removed",
      endpoint: "/v1/general/volume",
      subject: "b",
      before: "text null",
      reason: "No client reads it",
    };
    repository.commit(".routewright-accept.json", JSON.stringify([entry]));
    const accepted = await repository.run();
    expect(accepted.status, accepted.output).toBe(0);
    expect(repository.platform.requests).toHaveLength(1);
    expect(request!.comments).toHaveLength(2);
    const { diff } = reportsOn(request!);
    expect(diff).toContain("### API changes: passes");
    expect(diff).toContain("No client reads it");
    expect(repository.git("rev-parse", `${REVIEW}^`)).toBe(repository.branches()["main"]);
  });

  it("puts nothing up where nothing changed, a model is invalid, or the manifest cannot be read, and says so", async () => {
    const repository = await repositoryOn("github", BASE);
    const before = repository.branches();
    for (const [manifest, status, reason] of [
      [BASE, 0, /nothing to review/],
      [INVALID, 1, /api_users \(models\/api_users\.sql\): invalid/],
      [null, 2, /error: http:\/\/127\.0\.0\.1:\d+\/manifest\.json answered 404/],
    ] as const) {
      repository.manifest = manifest;
      const run = await repository.run();
      expect(run, run.output).toEqual({ status, output: expect.stringMatching(reason) });
      expect(repository.branches()).toEqual(before);
      expect(repository.platform.requests).toEqual([]);
    }
  });

  it("ends with an error of the config file alone where that is damaged", async () => {
    const repository = await repositoryOn("github", BASE);
    repository.commit("routewright.config.json", '{ "out": ');
    const { status, output } = await repository.run();
    expect({ status, output }).toEqual({
      status: 2,
      output: expect.stringMatching(
        /error: routewright\.config\.json is not JSON: it is cut off\.[^\n]*\s*$/,
      ),
    });
  });

  it("reports an error of lint before it fails", async () => {
    const repository = await repositoryOn("github", BASE);
    repository.manifest = PRIVATE;
    const { status, output } = await repository.run();
    expect(status, output).toBe(1);
    const { diff, lint } = reportsOn(repository.platform.requests[0]!);
    expect(diff).toContain("### API changes: passes");
    expect(lint).toContain("### API lint: fails, 1 error");
  });
});
