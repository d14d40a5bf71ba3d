import { execFileSync } from "node:child_process";

/** Runs git in a folder, with an author of its own, and returns what it prints. */
export function gitIn(folder: string): (...args: readonly string[]) => string {
  const settings = ["user.name=Test", "user.email=test@example.org", "commit.gpgsign=false"];
  const flags = settings.flatMap((setting) => ["-c", setting]);
  return (...args) => execFileSync("git", [...flags, ...args], { cwd: folder, encoding: "utf8" });
}
