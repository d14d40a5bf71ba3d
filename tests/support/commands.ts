/** Commands of the pages, and a shell to run them in as a reader would. */
import { exec, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { atEnd } from "./at-end.js";
import { ownFolder } from "./service.js";

export const root = join(import.meta.dirname, "../..");
export const FILES = execFileSync("git", ["ls-files", "*.md", ":!tests"], { cwd: root, encoding: "utf8" })
  .trim()
  .split("\n");
/** Pages whose commands `tests/readme/how-to.test.ts` runs, in one project. */
export const SHOP_PAGES: readonly string[] = FILES.filter((file) =>
  /\/docs\/(tutorial|how-to\/)/.test(file),
).filter((file) => !/(ci|typed-clients)\.md$/.test(file));
export const textOf = (file: string): string => readFileSync(join(root, file), "utf8");

/** Commands of the shell blocks under a heading, as they are written; one with a here-document spans lines. */
export function commandsOf(file: string, heading: string): string[] {
  const section =
    textOf(file)
      .split(/^(?=#+ )/m)
      .find((part) => part.startsWith(`${heading}\n`)) ?? "";
  return blocksOf(section, "sh").flatMap((block) =>
    [...block.matchAll(/^.*<<EOT\n[\s\S]*?^EOT$|^.+$/gm)].map(([command]) => command),
  );
}

/** The code blocks of a language in a text. */
export const blocksOf = (text: string, language: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, block = ""]) =>
    block.trimEnd(),
  );

/** Without `npx`, which takes 0.4 s of a processor to find what it starts; tests/ci-templates runs its commands with it. */
const started = (command: string): string =>
  command.replaceAll(/\bnpx (?=(?:routewright|tsx) )/g, "node_modules/.bin/");

export type Variables = Readonly<Record<string, string | undefined>>;

/** Starts a command that does not end and resolves once its output matches. It ends with the test. */
export async function startUntil(...command: Parameters<typeof startCommand>): Promise<RegExpExecArray> {
  return (await startCommand(...command)).match;
}

/** As `startUntil`; `stop` ends it before. */
export function startCommand(
  command: string,
  cwd: string,
  variables: Variables,
  pattern: RegExp,
): Promise<{ readonly match: RegExpExecArray; readonly stop: () => Promise<void> }> {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], ...variables };
  const child = spawn(started(command), {
    cwd,
    env,
    shell: true,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(child, "close");
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, "SIGTERM");
    await closed;
  };
  atEnd(stop);
  let output = "";
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        const match = pattern.exec(output);
        if (match) resolve({ match, stop });
      });
    void closed.then(() => reject(new Error(`${command} ended: ${output}`)));
  });
}

/** Runs a command to its end and returns its standard output; rejects where it fails. */
export async function shell(command: string, cwd: string, variables: Variables = {}): Promise<string> {
  // npm writes its logs there.
  const env = { PATH: process.env["PATH"], HOME: cwd === root ? ownFolder() : cwd, ...variables };
  const failed = ({ message, stdout }: Error & { stdout?: string }): never => {
    throw new Error(`${message}\n${stdout ?? ""}`);
  };
  return (await promisify(exec)(started(command), { cwd, env, shell: "/bin/bash" }).catch(failed)).stdout;
}

/** A repository with a dbt project and the packages of the clone; tests/packaging installs the packed ones. */
export function repository(): string {
  const folder = ownFolder();
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "shop", private: true, type: "module" }),
  );
  writeFileSync(join(folder, "dbt_project.yml"), "name: shop\n");
  mkdirSync(join(folder, "target"));
  copyFileSync(join(root, "templates/starter/manifest.json"), join(folder, "target/manifest.json"));
  return folder;
}

/** `JAVA_TOOL_OPTIONS` of programs that run for seconds: compiling them for long runs takes as much again. */
export const SHORT_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

export const INSTALL = "npm install routewright @routewright/runtime";
