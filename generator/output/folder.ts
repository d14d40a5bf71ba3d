import { type Outcome, failed, succeeded } from "@routewright/runtime/model";
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { basename, dirname, join, posix, sep } from "node:path";
import { byText } from "../manifest/strings.js";
import type { FileSet } from "../render/render.js";

/** A difference between a folder and the rendered files. */
export interface Drift {
  readonly file: string;
  /** `stale`: generated earlier, not rendered any more. `blocked`: something that Routewright did not write has the path. */
  readonly kind: "missing" | "changed" | "stale" | "blocked";
  /** A changed file that differs by its line ends alone. */
  readonly isCrlf?: true;
}

interface UpdateOptions {
  readonly out: string;
  /** Compare only. */
  readonly check?: boolean;
  /** Write a folder without endpoints although the present one has some. */
  readonly allowEmpty?: boolean;
  /** What the folder holds, where it was read already. */
  readonly found?: Folder | undefined;
}

/** What differed from the rendered files, or why nothing was written. */
type Update = Outcome<readonly Drift[]>;

/** Writes rendered files to a folder, or with `check` only compares them: the one writer of all commands. */
export function updateFolder(
  rendered: FileSet<string | Buffer>,
  { out, check, allowEmpty, found }: UpdateOptions,
): Update {
  const fresh = new Map(
    [...rendered].map(([file, content]) => [
      file,
      typeof content === "string" ? Buffer.from(content) : content,
    ]),
  );
  try {
    const before = found ?? readFolder(out);
    const drift = compare(before, fresh);
    const blocked = drift.filter(({ kind }) => kind === "blocked");
    if (blocked.length > 0) return failed(...blocked.map(({ file }) => `${out}/${file} ${IN_THE_WAY}`));
    if (check || drift.length === 0) return succeeded(drift);
    const removed = removesAll(fresh, drift);
    if (removed > 0 && !allowEmpty)
      return failed(
        `The manifest publishes no endpoint, and all ${String(removed)} of the folder would be removed. Nothing was changed. Check the manifest, or run \`routewright generate --allow-empty\`.`,
      );
    const written = write(out, fresh, drift);
    // Each file is renamed on its own: another writer's files may be among them.
    return compare(readFolder(out, new Map([...before, ...written])), fresh).length === 0
      ? succeeded(drift)
      : failed(`Another process wrote ${out} ${MIXED}`);
  } catch (error) {
    const isPartial = error instanceof PartialWrite;
    const fault = (isPartial ? error.cause : error) as NodeJS.ErrnoException;
    const { code, syscall, message } = fault;
    if (syscall === undefined) throw fault;
    const hint =
      !isPartial && (code === "ENOTDIR" || code === "EEXIST")
        ? " It, or a folder above it, is a file: remove that, or name another folder with --out."
        : "";
    return failed(
      `Cannot ${check ? "read" : "write"} the folder ${out}: ${message}.${hint} ${isPartial ? PARTIAL : "Nothing was changed."}`,
    );
  }
}

/** A fault of the system once the first files had changed, which is its cause. */
class PartialWrite extends Error {}

/** A folder of the repository as the patterns of git's files name it: `./x` matches nothing there. */
export function patternOf(folder: string): string {
  return posix.normalize(folder.split(sep).join("/")).replace(/\/$/, "");
}

/** The line of `.gitattributes` that keeps the line ends of a generated folder. */
export function lineEndsOf(out: string): string {
  const pattern = `${patternOf(out)}/**`;
  return `${/[\s"]/.test(pattern) ? JSON.stringify(pattern) : pattern} text eol=lf`;
}

const IN_THE_WAY =
  "was not written by Routewright, or is a link. Move it away, or choose another folder with --out.";
const PARTIAL =
  "Some files are new already, others are not. Mend that, and run `routewright generate` again.";
const MIXED = "at the same time, and its files may be mixed with these. Run `routewright generate` again.";

/** How many endpoints would go, where none is left, as with a wrong manifest. */
function removesAll(fresh: FileSet<Buffer>, drift: readonly Drift[]): number {
  const isRoute = (file: string): boolean => file.startsWith("routes/");
  if ([...fresh.keys()].some(isRoute)) return 0;
  return drift.filter(({ file, kind }) => kind === "stale" && isRoute(file)).length;
}

/** A file with its bytes, a folder, or a link, a socket and so on: a link could lead out of the folder, a pipe would block. */
type FolderEntry =
  | { readonly kind: "file"; readonly bytes: Buffer; readonly state: string }
  | { readonly kind: "folder" | "other" };

/** What a generated folder holds of Routewright's names, by its path. */
export type Folder = ReadonlyMap<string, FolderEntry>;

/**
 * Reads a folder; nothing where there is none. A file that has the state of `before` is not read again.
 *
 * @throws an error of the system
 */
export function readFolder(out: string, before?: Folder): Folder {
  const found = new Map<string, FolderEntry>();
  const visit = (name: string, entry: fs.Dirent): void => {
    if (entry.isFile()) found.set(name, fileOf(join(out, name), before?.get(name)));
    else found.set(name, { kind: entry.isDirectory() ? "folder" : "other" });
    if (entry.isDirectory())
      for (const child of childrenOf(join(out, name))) visit(`${name}/${child.name}`, child);
  };
  for (const entry of childrenOf(out))
    if (NAMES.has(entry.name) || TEMPORARY.test(entry.name)) visit(entry.name, entry);
  return found;
}

function fileOf(path: string, before: FolderEntry | undefined): FolderEntry {
  // First: what changes from here on has another state the next time.
  const state = stateOf(path);
  if (before?.kind === "file" && before.state === state) return before;
  return { kind: "file", bytes: fs.readFileSync(path), state };
}

/** Differs where a file is replaced or written to, and not where it is renamed. */
function stateOf(path: string): string {
  const { ino, size, mtimeMs } = fs.lstatSync(path);
  return [ino, size, mtimeMs].join();
}

const NAMES = new Set(["catalogue.json", "index.ts", "lineage.json", "openapi.json", "routes"]);

/** Name of a file during writing. Only a killed process leaves one. */
const TEMPORARY = /^\.[0-9a-f]{16}\.tmp$/;

function childrenOf(path: string): readonly fs.Dirent[] {
  return fs.existsSync(path) ? fs.readdirSync(path, { withFileTypes: true }) : [];
}

/**
 * Finds drift both ways: missing or changed files, and stale ones. Line ends count: a checkout that converts them to CRLF
 * needs `generated/** text eol=lf` in its `.gitattributes`.
 */
function compare(found: Folder, fresh: FileSet<Buffer>): readonly Drift[] {
  const drift = [...fresh].flatMap(([file, bytes]): Drift[] => {
    const entry = found.get(file);
    if (isBlocked(found, file)) return [{ file, kind: "blocked" }];
    if (entry?.kind !== "file") return [{ file, kind: "missing" }];
    if (entry.bytes.equals(bytes)) return [];
    const isCrlf =
      entry.bytes.includes("\r\n") && entry.bytes.toString().replaceAll("\r\n", "\n") === bytes.toString();
    return [{ file, kind: "changed", ...(isCrlf && { isCrlf }) }];
  });
  const stale = [...found].flatMap(([file, entry]): Drift[] =>
    fresh.has(file) || !(isGenerated(entry) || isEmptyTemporary(file, entry))
      ? []
      : [{ file, kind: "stale" }],
  );
  return [...drift, ...stale].sort((a, b) => byText(a.file, b.file));
}

function isBlocked(found: Folder, file: string): boolean {
  const parts = file.split("/");
  const parents = parts.slice(1).map((_, i) => found.get(parts.slice(0, i + 1).join("/")));
  const entry = found.get(file);
  return (
    (entry !== undefined && !isGenerated(entry)) ||
    parents.some((parent) => (parent?.kind ?? "folder") !== "folder")
  );
}

/** Whether a file bears the generator's marker: only such files are ever overwritten or deleted. */
function isGenerated(entry: FolderEntry): boolean {
  return (
    entry.kind === "file" &&
    /^(?:\/\/ Generated by |\{\s*(?:"openapi": "[^"]*",\s*)?"x-generated-by": ")Routewright/.test(
      entry.bytes.toString("latin1", 0, HEAD),
    )
  );
}

/** What a process leaves that was killed between opening a file and writing its first byte. */
function isEmptyTemporary(file: string, entry: FolderEntry): boolean {
  return TEMPORARY.test(basename(file)) && entry.kind === "file" && entry.bytes.length === 0;
}

/** Bytes in which the marker stands. */
const HEAD = 1000;

/**
 * Writes missing and changed files and deletes stale ones. Before the first file changes, all new text is on disk under
 * temporary names and all folders are known to be writable: a full disk or a missing permission changes nothing and is
 * thrown. A reader finds a mixture by the digests of `catalogue.json`. Returns what it wrote.
 */
function write(out: string, fresh: FileSet<Buffer>, drift: readonly Drift[]): Folder {
  const stale = drift.filter(({ kind }) => kind === "stale").map(({ file }) => file);
  const written = drift.filter(({ kind }) => kind !== "stale").map(({ file }) => file);
  const staged = new Map<string, string>();
  const entries = new Map<string, FolderEntry>();
  try {
    for (const folder of [".", ...foldersOf([...stale, ...written])]) {
      makeFolder(join(out, folder));
      fs.accessSync(join(out, folder), fs.constants.W_OK);
    }
    for (const file of written) {
      const temporary = join(out, dirname(file), `.${randomBytes(8).toString("hex")}.tmp`);
      staged.set(temporary, join(out, file));
      const bytes = fresh.get(file) ?? Buffer.alloc(0);
      fs.writeFileSync(temporary, bytes, { flag: "wx" });
      entries.set(file, { kind: "file", bytes, state: stateOf(temporary) });
    }
  } catch (error) {
    for (const temporary of staged.keys()) fs.rmSync(temporary, { force: true });
    removeEmpty(out, written);
    throw error;
  }
  let replaced = 0;
  try {
    for (const [temporary, file] of staged) {
      fs.renameSync(temporary, file);
      replaced++;
    }
    for (const file of stale) fs.rmSync(join(out, file), { force: true });
    removeEmpty(out, stale);
  } catch (error) {
    for (const temporary of staged.keys()) fs.rmSync(temporary, { force: true });
    throw replaced === 0 ? error : new PartialWrite("", { cause: error });
  }
  return entries;
}

/** Step by step: Node's `recursive` never returns where a parent refuses to have children, as `/proc` does. */
function makeFolder(path: string): void {
  if (fs.statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  fs.mkdirSync(path);
}

function foldersOf(files: readonly string[]): readonly string[] {
  return [...new Set(files.map((file) => dirname(file)))];
}

/** Removes the folders of files and their parents where nothing is left; never the generated folder itself. */
function removeEmpty(out: string, files: readonly string[]): void {
  const isEmpty = (folder: string): boolean => fs.existsSync(folder) && fs.readdirSync(folder).length === 0;
  for (let folder of foldersOf(files))
    for (; folder !== "." && isEmpty(join(out, folder)); folder = dirname(folder))
      fs.rmdirSync(join(out, folder));
}
