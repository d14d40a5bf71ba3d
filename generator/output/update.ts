import type { FileSet } from "../render/render.js";
import { compare, type Drift, type Folder, readFolder } from "./folder.js";
import { writeDrift } from "./write.js";

interface UpdateOptions {
  readonly out: string;
  /** Compare only. */
  readonly check?: boolean;
  /** Write a folder without endpoints although the present one has some. */
  readonly allowEmpty?: boolean;
  /** Entries that Routewright writes into the folder; by default those of a generated folder. */
  readonly names?: ReadonlySet<string>;
}

/** What differed from the rendered files, or why nothing was written. */
type Update =
  | { readonly ok: true; readonly drift: readonly Drift[] }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Writes rendered files to a folder, or with `check` only compares them: the one writer of all commands. */
export function updateFolder(
  fresh: FileSet,
  { out, check = false, allowEmpty = false, names }: UpdateOptions,
): Update {
  try {
    const update = compared(readFolder(out, names), fresh, out);
    if (check || !update.ok || update.drift.length === 0) return update;
    const empty = allowEmpty ? null : emptyProblem(fresh, update.drift);
    if (empty !== null) return { ok: false, problems: [empty] };
    writeDrift(out, fresh, update.drift);
    const isWritten = compare(readFolder(out, names), fresh).length === 0;
    return isWritten ? update : { ok: false, problems: [otherWriter(out)] };
  } catch (error) {
    const problem = folderProblem(out, error, check ? "read" : "write");
    if (problem === null) throw error;
    return { ok: false, problems: [problem] };
  }
}

function compared(folder: Folder, fresh: FileSet, out: string): Update {
  const drift = compare(folder, fresh);
  const blocked = drift.filter(({ kind }) => kind === "blocked");
  return blocked.length === 0
    ? { ok: true, drift }
    : { ok: false, problems: blocked.map(({ file }) => conflictingFile(out, file)) };
}

/** The message for a folder that has other files than those just written. */
function otherWriter(out: string): string {
  return `Another process wrote ${out} at the same time, and its files may be mixed with these. Run \`routewright generate\` again.`;
}

/** The message for a path that another file has. */
function conflictingFile(out: string, file: string): string {
  return `${out}/${file} was not written by Routewright, or is a link. Move it away, or choose another folder with --out.`;
}

/** The message where all endpoints of a folder would be removed, as with a wrong manifest; else null. */
function emptyProblem(fresh: FileSet, drift: readonly Drift[]): string | null {
  const isRoute = (file: string): boolean => file.startsWith("routes/");
  const removed = drift.filter(({ file, kind }) => kind === "stale" && isRoute(file)).length;
  if (removed === 0 || [...fresh.keys()].some(isRoute)) return null;
  return `The manifest publishes no endpoint, and all ${String(removed)} of the folder would be removed. Nothing was changed. Check the manifest, or run \`routewright generate --allow-empty\`.`;
}

/** The message for a file system error at a generated folder; null for other errors. */
function folderProblem(path: string, error: unknown, access: "read" | "write"): string | null {
  const { code = "", syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined) return null;
  const reason = REASONS.get(code) ?? `${(error as Error).message}.`;
  return `Cannot ${access} the folder ${path}: ${reason} Nothing was changed.`;
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "one of its parents cannot have folders."],
  ["ENOTDIR", "the path or one of its parents is a file. Name a folder with --out."],
  ["EEXIST", "a file has this name already. Name a folder with --out."],
  ["EACCES", "permission denied."],
  ["EPERM", "permission denied."],
  ["EROFS", "its file system is read-only."],
  ["ENOSPC", "the disk is full."],
  ["EDQUOT", "the disk quota is used up."],
]);
