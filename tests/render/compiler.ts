import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import type { FileSet } from "../../generator/render/render.js";
import { ownFolder } from "../support/service.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** As strict as a consumer can be. */
const OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noPropertyAccessFromIndexSignature: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  target: "es2023",
  lib: ["es2023"],
  module: "nodenext",
  moduleResolution: "nodenext",
  types: ["node"],
  typeRoots: [`${ROOT}node_modules/@types`],
  skipLibCheck: true,
  noEmit: true,
  paths: { "@routewright/runtime": [`${ROOT}runtime/dist/index.d.ts`] },
};

/**
 * What the compiler says of generated folders, in one program, in which they are `generated-0`, `generated-1` and so on; empty
 * when they are right. They see the runtime's declarations, as those who install it do. The compiler is the native one, which takes a
 * sixth of the processor time; `tests/end-to-end/compile.ts` asks the one that most users have.
 */
export function complaintsOf(folders: readonly FileSet[]): string[] {
  const root = ownFolder();
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  for (const [i, files] of folders.entries())
    for (const [file, text] of files) if (file.endsWith(".ts")) write(`generated-${String(i)}/${file}`, text);
  write("package.json", JSON.stringify({ type: "module" }));
  write("tsconfig.json", JSON.stringify({ compilerOptions: OPTIONS, include: ["**/*.ts"] }));
  const args = [`${ROOT}node_modules/typescript-native/bin/tsc`, "-p", ".", "--pretty", "false"];
  const { stdout, status } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  const complaints = stdout.split("\n").filter((line) => /error TS/.test(line));
  if (status !== 0 && complaints.length === 0)
    throw new Error(`The compiler ended with ${String(status)}: ${stdout}`);
  return complaints;
}

/** A source as a tree, whatever is wrong with its types. */
export function parse(text: string): ts.SourceFile {
  return ts.createSourceFile("module.ts", text, ts.ScriptTarget.ES2023, true);
}

/** What the parser objects to, and directives to compilers and linters that it finds in comments. */
export function oddities(text: string): string[] {
  const { parseDiagnostics, commentDirectives, referencedFiles, checkJsDirective } = parse(
    text,
  ) as ts.SourceFile & {
    readonly parseDiagnostics: readonly ts.Diagnostic[];
    readonly commentDirectives?: readonly unknown[];
    readonly checkJsDirective?: unknown;
  };
  return [
    ...parseDiagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n")),
    ...(commentDirectives ?? []).map(() => "a directive in a comment"),
    ...referencedFiles.map(({ fileName }) => `a reference to ${fileName}`),
    ...(checkJsDirective ? ["a directive in front"] : []),
  ];
}
