import ts from "typescript";
import { typeScriptEndpoints } from "../../../generator/client/typescript-client.js";
import type { Catalogue } from "../../../generator/catalogue/catalogue.js";
import type { Difference } from "./compare.js";

/** For each case, by its number, whether a program against the base's generated client compiles against the head's. */
export function clientDifferences(
  base: Catalogue,
  head: Catalogue,
): ReadonlyMap<number, readonly Difference[]> {
  const paths = new Set(base.entries.map(({ endpoint }) => endpoint.path));
  const common = head.entries.map(({ endpoint }) => endpoint.path).filter((path) => paths.has(path));
  const checks = common.flatMap((path) => {
    const key = JSON.stringify(path);
    return [
      { path, part: "row", line: `export const _: Base[${key}]["row"] = null! as Head[${key}]["row"];` },
      {
        path,
        part: "query",
        line: `export const _: Head[${key}]["query"] = null! as Base[${key}]["query"];`,
      },
    ];
  });
  const lines = [
    ...interfaceOf("Base", base),
    ...interfaceOf("Head", head),
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

function interfaceOf(name: string, catalogue: Catalogue): readonly string[] {
  const text = typeScriptEndpoints(catalogue, { numbers: "string", dates: "string" });
  const [, body = ""] = /^export interface Endpoints \{\n([^]*?)^\}$/m.exec(text) ?? [];
  return [`interface ${name} {`, ...body.split("\n"), "}"];
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
