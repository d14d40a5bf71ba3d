import { fileURLToPath } from "node:url";
import ts from "typescript";
import type { FileSet } from "../../generator/render/render.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** As strict as a consumer can be. */
const OPTIONS: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noPropertyAccessFromIndexSignature: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  target: ts.ScriptTarget.ES2023,
  lib: ["lib.es2023.d.ts"],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ["node"],
  skipLibCheck: true,
  noEmit: true,
  baseUrl: ROOT,
  paths: { "@routewright/runtime": ["./runtime/index.ts"] },
};

/** Parsed files of the compiler's and of the runtime: the same for every program. */
const parsed = new Map<string, ts.SourceFile | undefined>();

/**
 * What the compiler says of generated folders, in one program, each as if it stood in the project; empty when they are
 * right. The runtime that they import is read, not complained of.
 */
export function complaintsOf(folders: readonly FileSet[]): string[] {
  const texts = new Map(
    folders.flatMap((files, i) =>
      [...files]
        .filter(([file]) => file.endsWith(".ts"))
        .map(([file, text]) => [`${ROOT}generated-${String(i)}/${file}`, text] as const),
    ),
  );
  const program = ts.createProgram([...texts.keys()], OPTIONS, hostOf(texts));
  return [...texts.keys()].flatMap((file) => {
    const source = program.getSourceFile(file);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText, start }) =>
        `${file.slice(ROOT.length)}:${String(start)} ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
    );
  });
}

function hostOf(texts: ReadonlyMap<string, string>): ts.CompilerHost {
  const host = ts.createCompilerHost(OPTIONS);
  const { fileExists, readFile, getSourceFile, directoryExists } = host;
  const folders = new Set([...texts.keys()].flatMap(foldersAbove));
  host.directoryExists = (name) => folders.has(name) || directoryExists?.(name) === true;
  host.fileExists = (name) => texts.has(name) || fileExists(name);
  host.readFile = (name) => texts.get(name) ?? readFile(name);
  host.getSourceFile = (name, language, ...rest) => {
    const text = texts.get(name);
    if (text !== undefined) return ts.createSourceFile(name, text, language);
    if (!parsed.has(name)) parsed.set(name, getSourceFile(name, language, ...rest));
    return parsed.get(name);
  };
  return host;
}

function foldersAbove(file: string): string[] {
  const parts = file.split("/");
  return parts.map((_, i) => parts.slice(0, i).join("/"));
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
