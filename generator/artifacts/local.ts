import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { sep } from "node:path";
import { failedFetch, type Fetched, type ReadFrom, tooLarge } from "./store.js";

/** A file of this machine. It is read at each poll: times of files are too coarse to tell versions apart. */
export const readLocal: ReadFrom<"local"> = async ({ path: file }, { limits }) => {
  const { maxBytes, writer } = limits;
  try {
    const found = await stat(file);
    // A named pipe without a writer would block every later refresh.
    if (!found.isFile() && !found.isDirectory())
      return failedFetch(`Cannot read ${file}: it is not a regular file.`);
    if (found.size > maxBytes) return tooLarge(file, maxBytes);
    return { kind: "content", bytes: await readFile(file), validators: null };
  } catch (error) {
    return fileProblem(file, error as NodeJS.ErrnoException, writer);
  }
};

function fileProblem(file: string, error: NodeJS.ErrnoException, writer: string): Fetched {
  const problem = `Cannot read ${file}: ${fileErrorText(error, writer)}${nameHint(file)}`;
  return { kind: error.code === "ENOENT" ? "missing" : "failed", problem };
}

function fileErrorText({ code, message }: NodeJS.ErrnoException, writer: string): string {
  if (code === "ENOENT") return `there is no such file. ${writer} writes it to target/.`;
  if (code === "EISDIR") return "it is a folder; name the file in it.";
  if (code === "EACCES") return "no permission to read it.";
  return message;
}

/** What a shell or another system would have made of the name of a missing file. */
function nameHint(file: string): string {
  if (existsSync(file)) return "";
  if (/^["']|["']$/.test(file)) return " The name has quotation marks: leave them out.";
  if (file.startsWith("~")) return " `~` is a home folder in a shell alone: write the whole path.";
  if (/[*?]/.test(file)) return " Write the name of one file: `*` and `?` stand for themselves here.";
  return sep === "/" && file.includes("\\") ? " Write `/` between folders." : "";
}
