import { resolve } from "node:path";
import ts from "typescript";

interface Changed {
  readonly file: string;
  /** The file's text with the change. */
  readonly whole: string;
}

/**
 * Those of some changes that compile, each alone in its file. One of each file is checked at a time; one that does not compile then is
 * checked again while no other file is changed. Errors in files that use a changed one are not looked for.
 */
export function compilingOf<C extends Changed>(changes: readonly C[]): readonly C[] {
  const texts = new Map<string, string>();
  const versions = new Map<string, number>();
  const service = serviceFor(
    [...new Set(changes.map(({ file }) => file))],
    (file) => texts.get(file),
    (file) => versions.get(file) ?? 0,
  );
  const compiles = ({ file }: Changed): boolean => {
    const path = resolve(file);
    return [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)].length === 0;
  };
  const compilingIn = (round: readonly C[]): readonly C[] => {
    const now = new Map(round.map(({ file, whole }) => [resolve(file), whole]));
    for (const file of new Set([...texts.keys(), ...now.keys()]))
      versions.set(file, (versions.get(file) ?? 0) + 1);
    texts.clear();
    now.forEach((text, file) => texts.set(file, text));
    return round.filter(compiles);
  };
  const found = roundsOf(changes).flatMap(compilingIn);
  const others = changes.filter((change) => !found.includes(change));
  return [...found, ...others.flatMap((change) => compilingIn([change]))];
}

function roundsOf<C extends Changed>(changes: readonly C[]): readonly (readonly C[])[] {
  if (changes.length === 0) return [];
  const first = changes.filter(({ file }, at) => changes.findIndex((other) => other.file === file) === at);
  return [first, ...roundsOf(changes.filter((change) => !first.includes(change)))];
}

function serviceFor(
  files: readonly string[],
  textOf: (file: string) => string | undefined,
  versionOf: (file: string) => number,
): ts.LanguageService {
  const { config } = ts.readConfigFile("tsconfig.json", (path) => ts.sys.readFile(path)) as {
    readonly config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, process.cwd());
  return ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => files.map((file) => resolve(file)),
    getScriptVersion: (file) => String(versionOf(file)),
    getScriptSnapshot: (file) => {
      const text = textOf(file) ?? ts.sys.readFile(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => process.cwd(),
    getDefaultLibFileName: (given) => ts.getDefaultLibFilePath(given),
    fileExists: (path) => ts.sys.fileExists(path),
    readFile: (path) => ts.sys.readFile(path),
    directoryExists: (path) => ts.sys.directoryExists(path),
    getDirectories: (path) => ts.sys.getDirectories(path),
  });
}
