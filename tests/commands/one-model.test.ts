import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { render } from "../../generator/render/render.js";
import { catalogueOfText } from "../catalogue/catalogues.js";
import { filesIn } from "../support/files.js";
import { addedLines, changedFiles } from "../support/line-diff.js";
import { ownFolder } from "../support/service.js";
import { GENERATE, routewright } from "./run.js";

const STARTER = readFileSync(
  fileURLToPath(new URL("../../templates/starter/manifest.json", import.meta.url)),
  "utf8",
);

const ADDED = {
  resource_type: "model",
  name: "api_bridges_fees_daily",
  alias: "api_bridges_fees_daily",
  schema: "analytics",
  original_file_path: "models/api_bridges_fees_daily.sql",
  description: "Fees by day.",
  tags: ["production", "bridges", "tier1", "api:fees", "granularity:daily"],
  columns: { date: { name: "date", data_type: "date", description: "Day." } },
  config: {
    meta: { api: { parameters: [{ name: "start_date", column: "date", operator: ">=", type: "date" }] } },
  },
};

function starterManifest(nodes: Readonly<Record<string, object>>): string {
  const manifest = JSON.parse(STARTER) as { nodes: object };
  return JSON.stringify({ ...manifest, nodes: { ...nodes, ...manifest.nodes } });
}

function starterWith(nodes: Readonly<Record<string, object>>): ReadonlyMap<string, string> {
  return render(catalogueOfText(starterManifest(nodes)));
}

/** The digests of the catalogue and of the two files that list all endpoints change with each of them. */
function withoutDigests(text = ""): string {
  return text.replace(/("digest"|"index\.ts"|"openapi\.json"): "[0-9a-f]{32}"/g, "$1");
}

describe("a model that is added to the starter", () => {
  const before = starterWith({});
  const after = starterWith({ "model.starter.api_bridges_fees_daily": ADDED });

  it("changes its own file, the index and the OpenAPI document", () => {
    expect(changedFiles(before, after)).toEqual({
      added: ["routes/bridges/fees.daily.ts"],
      changed: ["catalogue.json", "index.ts", "openapi.json"],
      removed: [],
    });
  });

  it.each(["catalogue.json", "index.ts", "openapi.json"])(
    "only adds lines to %s, which tell of it",
    (file) => {
      const lines = addedLines(withoutDigests(before.get(file)), withoutDigests(after.get(file)));
      expect(lines).not.toBeNull();
      expect(lines?.join("\n")).toContain("fees");
      expect(lines?.length).toBeLessThan(file === "index.ts" ? 3 : 200);
    },
  );

  it("leaves every byte on disk as it was once it is removed again", async () => {
    const folder = ownFolder();
    const generate = async (nodes: Readonly<Record<string, object>>): Promise<Record<string, string>> => {
      writeFileSync(join(folder, "manifest.json"), starterManifest(nodes));
      expect(await routewright(folder, GENERATE)).toMatchObject({ exit: 0, err: "" });
      return filesIn(join(folder, "generated"));
    };
    const first = await generate({});
    const second = await generate({ "model.starter.api_bridges_fees_daily": ADDED });
    expect(Object.keys(second)).toContain("routes/bridges/fees.daily.ts");
    expect(await generate({})).toEqual(first);
  });
});
