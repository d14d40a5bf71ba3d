/** What a file system said no to in a generated folder, as one line that tells what to do; null for any other fault. */
export function folderProblem(
  path: string,
  error: unknown,
  doing: "read" | "write" = "write",
): string | null {
  const { code = "", syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined) return null;
  const reason = REASONS.get(code) ?? (error as Error).message;
  return `Cannot ${doing} the folder ${path}: ${reason} Nothing was changed.`;
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ["ENOTDIR", "the path or one of its parents is a file. Name a folder with --out."],
  ["EEXIST", "a file of that name is there already. Name a folder with --out."],
  ["EACCES", "there is no permission to read or write it."],
  ["EPERM", "there is no permission to read or write it."],
  ["EROFS", "its file system is read-only."],
  ["ENOSPC", "the disk is full."],
  ["EDQUOT", "the disk quota is used up."],
]);
