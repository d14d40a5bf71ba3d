import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";
import { beforeAll, describe, expect, it } from "vitest";
import { documentOf, entry, FULL, LEGACY } from "./catalogues.js";

/** What a client of the API would write; a line marked so must not compile. */
const CLIENT = `
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

export const client = createClient<paths, "application/json">({ baseUrl: "http://localhost:8000" });

export async function total(): Promise<number> {
  const { data, error } = await client.GET("/v1/bridges/netflow_per_token/daily", {
    params: { query: { token: ["WETH"], start_date: "2026-01-01", limit: 10, sort_by: "value", sort_direction: "DESC" } },
  });
  if (error) throw new Error(error.detail);
  const row: components["schemas"]["bridges_netflow_per_token_daily_row"] | undefined = data.items[0];
  const action: string | null | undefined = row?.action;
  return data.pagination.has_more && action !== null && row ? row.value : 0;
}

export async function posted(): Promise<string[]> {
  const { data = { items: [] } } = await client.POST("/v1/bridges/netflow_per_token/daily", { body: { token: ["WETH"] } });
  return data.items.map((row) => row.date);
}

export async function legacy(): Promise<number[]> {
  const { data = [] } = await client.GET("/v1/bridges/legacy/latest");
  return data.map((row) => row.value);
}

// @ts-expect-error: not a sortable field
void client.GET("/v1/bridges/netflow_per_token/daily", { params: { query: { sort_by: "token" } } });
// @ts-expect-error: the only filter is required
void client.GET("/v1/bridges/volume");
// @ts-expect-error: the endpoint has no POST
void client.POST("/v1/bridges/legacy/latest");
`;

const SOLE = entry({
  parameters: [{ name: "action", column: "value", operator: "=", type: "string" }],
  allowUnfiltered: false,
});

describe("types that openapi-typescript makes of the document", () => {
  let types = "";
  beforeAll(async () => {
    types = astToString(await openapiTS(documentOf(FULL, LEGACY, SOLE)));
  });

  it("compile under strict, with a client written against them", () => {
    expect(complaints({ "api.ts": types, "client.ts": CLIENT })).toEqual([]);
  });

  it("hold the row of each endpoint", () => {
    for (const path of ["bridges_netflow_per_token_daily", "bridges_legacy_latest", "bridges_volume"]) {
      expect(types).toContain(`${path}_row: {`);
    }
  });

  it("hold the descriptions of columns as comments", () => {
    expect(types).toContain("@description Net flow.");
  });
});

/** What the compiler says of these files, as if they stood in this folder. */
function complaints(files: Readonly<Record<string, string>>): readonly string[] {
  const texts = new Map(
    Object.entries(files).map(([name, text]) => [`${import.meta.dirname}/${name}`, text]),
  );
  const host = ts.createCompilerHost(OPTIONS);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (name) => texts.has(name) || fileExists(name);
  host.readFile = (name) => texts.get(name) ?? readFile(name);
  host.getSourceFile = (name, ...rest) => {
    const text = texts.get(name);
    return text === undefined
      ? getSourceFile(name, ...rest)
      : ts.createSourceFile(name, text, ts.ScriptTarget.ES2022);
  };
  const program = ts.createProgram([...texts.keys()], OPTIONS, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
  types: [],
  skipLibCheck: true,
  noEmit: true,
};
