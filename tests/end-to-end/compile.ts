import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { expect } from "vitest";

/** Compiles a program under strict settings, runs it and returns its `run`. */
export async function compiled<Run>(cwd: string, file: string): Promise<Run> {
  const program = ts.createProgram([join(cwd, file)], {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: [],
    outDir: join(cwd, "out"),
  });
  const complaints = ts
    .getPreEmitDiagnostics(program)
    .map(({ file: source, start = 0, messageText }) => [
      source?.text.slice(start, start + 60),
      ts.flattenDiagnosticMessageText(messageText, "\n"),
    ]);
  expect(complaints).toEqual([]);
  program.emit();
  const module = (await import(pathToFileURL(join(cwd, "out", file.replace(/ts$/, "js"))).href)) as {
    run: Run;
  };
  return module.run;
}
