import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { failed, messageOf, type Outcome, succeeded } from "@routewright/runtime/model";

/**
 * Writes a text beside the file and renames it: a reader, a full disk or a killed process leaves the former text or the new
 * one. A link stays a link, and an existing file keeps its mode.
 *
 * @throws an error of the system, which changed nothing
 */
function replaceFile(file: string, text: string, mode = 0o644): void {
  const target = fs.existsSync(file) ? fs.realpathSync(file) : file;
  const known = fs.statSync(target, { throwIfNoEntry: false });
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(4).toString("hex")}.tmp`);
  try {
    // A rename needs no permission of the file that it replaces.
    if (known) fs.accessSync(target, fs.constants.W_OK);
    fs.writeFileSync(temporary, text, { flag: "wx", mode: known?.mode ?? mode });
    fs.renameSync(temporary, target);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/** Writes files, with the folders that are missing. Says of the first that cannot be written what is missing. */
export function writeFiles(
  files: readonly { readonly file: string; readonly text: string; readonly mode?: number }[],
): Outcome<null> {
  const written: string[] = [];
  for (const { file, text, mode } of files) {
    try {
      fs.mkdirSync(dirname(file), { recursive: true });
      replaceFile(file, text, mode);
    } catch (error) {
      const { code, syscall } = error as NodeJS.ErrnoException;
      if (syscall === undefined) throw error;
      const hint = HINTS[code ?? ""] ?? "";
      const rest =
        written.length === 0 ? "Nothing was changed." : `Written before it: ${written.join(", ")}.`;
      return failed(`Cannot write ${file}: ${messageOf(error)}.${hint} ${rest}`);
    }
    written.push(file);
  }
  return succeeded(null);
}

const IN_THE_WAY = " It is a folder, or a folder above it is a file: move that away, or name another file.";

const HINTS: Readonly<Record<string, string>> = {
  EISDIR: IN_THE_WAY,
  ENOTDIR: IN_THE_WAY,
  EEXIST: IN_THE_WAY,
  ENOTEMPTY: IN_THE_WAY,
  EACCES: " Allow this user to write there.",
  EPERM: " Allow this user to write there.",
  ENOSPC: " The disk is full.",
};
