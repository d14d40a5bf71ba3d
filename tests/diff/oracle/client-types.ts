import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";
import { openApiBytes } from "../../../generator/render/openapi/document.js";
import type { Catalogue } from "../../../generator/catalogue/catalogue.js";
import type { Difference } from "./compare.js";

/** For each case, by its number, whether a program against openapi-typescript's types of the base compiles against the head's. */
export async function clientDifferences(
  base: Catalogue,
  head: Catalogue,
): Promise<ReadonlyMap<number, readonly Difference[]>> {
  const paths = new Set(base.entries.map(({ path }) => path));
  const common = head.entries.map(({ path }) => path).filter((path) => paths.has(path));
  const checks = common.flatMap((path) => {
    const key = JSON.stringify(path);
    return [
      { path, part: "row", line: `export const _: Rows<Base, ${key}> = null! as Rows<Head, ${key}>;` },
      { path, part: "query", line: `export const _: Query<Head, ${key}> = null! as Query<Base, ${key}>;` },
    ];
  });
  const lines = [
    ...(await typesOf("Base", base)),
    ...(await typesOf("Head", head)),
    ...PARTS,
    ...checks.map(({ line }, i) => line.replace("_", `check${String(i)}`)),
  ];
  const first = lines.length - checks.length;
  const found = new Map<number, Difference[]>();
  for (const line of errorLines(lines.join("\n"))) {
    const { path = "", part = "" } = checks[line - first] ?? {};
    const i = Number(/^\/v1\/r(\d+)\//.exec(path)?.[1]);
    found.set(i, [...(found.get(i) ?? []), { needs: "breaking", what: `client type of the ${part}` }]);
  }
  return found;
}

const PARTS = [
  "type Rows<P, K extends keyof P> = P[K] extends { get: { responses: { 200: { content: { 'application/json': infer R } } } } } ? R : never;",
  "type Query<P, K extends keyof P> = P[K] extends { get: { parameters: { query?: infer Q } } } ? Q : never;",
];

async function typesOf(name: string, catalogue: Catalogue): Promise<readonly string[]> {
  const types = astToString(await openapiTS(openApiBytes(catalogue).toString()));
  return [`namespace ${name}Api {`, ...types.split("\n"), "}", `type ${name} = ${name}Api.paths;`];
}

function errorLines(text: string): readonly number[] {
  const file = "checks.ts";
  const options = { strict: true, noEmit: true, types: [], lib: ["lib.es2023.d.ts"] };
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (name, version) =>
    name === file ? ts.createSourceFile(name, text, version) : getSourceFile(name, version);
  const program = ts.createProgram([file], options, host);
  const source = program.getSourceFile(file);
  return ts
    .getPreEmitDiagnostics(program, source)
    .map(({ start = 0 }) => source?.getLineAndCharacterOfPosition(start).line ?? 0);
}
