import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { FileSet } from "../../render/render.js";
import { fail, type Failure } from "../../manifest/source.js";

export type RevisionReading = { readonly ok: true; readonly files: FileSet } | Failure;

/** Thousands of endpoints take some 10 MB; past this it is no generated folder. */
const MAX_FOLDER_BYTES = 500 * 1024 * 1024;

/** Where to look in git. */
export interface Revision {
  /** A branch, tag, commit or anything else that names a commit. */
  readonly ref: string;
  /** The generated folder, relative to `cwd`. */
  readonly folder: string;
  readonly cwd: string;
}

/**
 * Files of a folder as a commit has them, by their path in it. Straight from git's objects: the work tree and the index
 * are neither read nor written. Symbolic links and submodules are left out.
 */
export function readRevision({ ref, folder, cwd }: Revision): RevisionReading {
  const top = git(cwd, ["rev-parse", "--show-toplevel"]);
  if (!top.ok) return fail(`git:${ref} needs a git repository in the current folder: ${top.problem}`);
  const path = pathInRepository(lineOf(top.bytes), folder, cwd);
  if (path === undefined)
    return fail(`The folder ${folder} lies outside of the git repository; name one in it.`);
  const commit = git(cwd, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`]);
  if (!commit.ok) return fail(`git knows no commit ${ref}. ${FETCH}`);
  const noFolder = fail(`git:${ref} has no folder ${folder}. Name the generated folder with --generated.`);
  const tree = git(cwd, ["rev-parse", "--verify", "--quiet", `${lineOf(commit.bytes)}:${path}`]);
  if (!tree.ok) return noFolder;
  const listing = git(cwd, ["ls-tree", "-r", "-z", "--full-tree", lineOf(tree.bytes)]);
  if (!listing.ok) return noFolder;
  const blobs = blobsOf(listing.bytes.toString("utf8"));
  const contents = git(cwd, ["cat-file", "--batch"], blobs.map(({ id }) => `${id}\n`).join(""));
  if (!contents.ok) return fail(`git:${ref} cannot be read: ${contents.problem}`);
  return filesOf(blobs, contents.bytes) ?? fail(`git:${ref} lacks files of ${folder}. ${FETCH}`);
}

/** The usual reason in a pipeline, where a checkout has one commit only. */
const FETCH =
  "If it is on the server only, fetch it first: `git fetch origin <branch>`, or a checkout with its history.";

/** With `/` whatever the system; undefined outside of the repository. The folder itself need not exist any more. */
function pathInRepository(top: string, folder: string, cwd: string): string | undefined {
  const path = relative(realpathSync(top), resolve(realpathSync(cwd), folder));
  const isOutside = path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path);
  return isOutside ? undefined : path.split(sep).join("/");
}

type GitOutput = { readonly ok: true; readonly bytes: Buffer } | Failure;

function git(cwd: string, args: readonly string[], input = ""): GitOutput {
  const { error, status, stdout, stderr } = spawnSync("git", args, {
    cwd,
    input,
    maxBuffer: MAX_FOLDER_BYTES,
    env: { ...process.env, LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0" },
  });
  if (error !== undefined)
    return fail((error as NodeJS.ErrnoException).code === "ENOENT" ? "git is not installed." : error.message);
  return status === 0
    ? { ok: true, bytes: stdout }
    : fail(stderr.toString("utf8").trim().split("\n")[0] ?? "");
}

function lineOf(bytes: Buffer): string {
  return bytes.toString("utf8").replace(/\r?\n$/, "");
}

interface Blob {
  readonly id: string;
  readonly path: string;
}

/** The plain files of `ls-tree -z`: `<mode> <type> <id>\t<path>\0`. */
function blobsOf(listing: string): readonly Blob[] {
  return listing.split("\0").flatMap((line) => {
    const [, id, path] = /^100\d{3} blob ([0-9a-f]+)\t([^]+)$/.exec(line) ?? [];
    return id !== undefined && path !== undefined ? [{ id, path }] : [];
  });
}

/** What `cat-file --batch` prints for each: `<id> blob <size>\n<bytes>\n`; undefined where one is missing. */
function filesOf(blobs: readonly Blob[], contents: Buffer): RevisionReading | undefined {
  const files = new Map<string, string>();
  let at = 0;
  for (const { id, path } of blobs) {
    const lineEnd = contents.indexOf("\n", at);
    const [name, type, size] = contents.toString("latin1", at, lineEnd).split(" ");
    if (name !== id || type !== "blob") return undefined;
    const end = lineEnd + 1 + Number(size);
    files.set(path, contents.toString("utf8", lineEnd + 1, end));
    at = end + 1;
  }
  return { ok: true, files };
}
