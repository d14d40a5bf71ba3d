/** Projects whose models stand in folders, with `publish` in their config file. */
import { join } from "node:path";
import { expect } from "vitest";
import { putJson } from "../support/files.js";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";
import { routewright } from "./run.js";

export type Json = Record<string, unknown>;

/** A model as dbt writes it, in a folder, with what selections read. */
interface FolderModel extends TestModel {
  readonly folder?: string;
  readonly node?: Json;
}

export function project(models: readonly FolderModel[], more: Json = {}): Json {
  const manifest = manifestOf(models.map((model) => ({ tags: [], ...model }))) as {
    nodes: Record<string, Json>;
  };
  for (const { name, folder = "models/marts", node = {} } of models) {
    const own = manifest.nodes[`model.test.${name}`];
    Object.assign(own ?? {}, {
      package_name: "test",
      original_file_path: `${folder}/${name}.sql`,
      ...node,
      config: { ...(own?.["config"] as Json), ...(node["config"] as Json | undefined) },
    });
  }
  return { ...manifest, ...more };
}

export const described = (name: string, more: Partial<FolderModel> = {}): FolderModel => ({
  name,
  description: "Described.",
  columns: { id: "bigint" },
  ...more,
});

export function repository(manifest: Json, publish: unknown, more: Json = {}): string {
  const folder = ownFolder();
  putJson(join(folder, "manifest.json"), manifest);
  configure(folder, publish, more);
  return folder;
}

export const configure = (folder: string, publish: unknown, more: Json = {}): void =>
  putJson(join(folder, "routewright.config.json"), { manifest: "manifest.json", publish, ...more });

interface Preview {
  readonly endpoints: readonly {
    readonly path: string;
    readonly tier: string;
    readonly model: string;
    readonly by: string;
  }[];
  readonly skipped: readonly {
    readonly model: string;
    readonly problems: readonly { readonly message: string }[];
  }[];
  readonly left: readonly { readonly model: string; readonly reason: string }[];
}

export async function preview(folder: string): Promise<Preview> {
  const { exit, out } = await routewright(folder, ["generate", "--preview", "--json"]);
  expect(exit).toBe(0);
  return JSON.parse(out) as Preview;
}

export const pathsOf = async (
  models: readonly FolderModel[],
  rule: Json,
  more: Json = {},
): Promise<readonly string[]> => {
  const { endpoints } = await preview(repository(project(models, more), [{ tier: "tier1", ...rule }]));
  return endpoints.map(({ path }) => path);
};
