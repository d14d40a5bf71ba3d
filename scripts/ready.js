/**
 * Makes a fresh clone ready: dependencies installed, sources built. Plain JavaScript on Node's own modules, since it
 * runs before anything is installed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const OLDEST_NODE = [20, 19];
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** What the build makes last. */
const BUILT = "generator/dist/validators/meta-api.cjs";

/** What is installed: npm writes it last. */
const INSTALLED = "node_modules/.package-lock.json";

/** One of the packages that `npm start` does without. */
const OF_THE_REST = "node_modules/vitest";

const QUIETLY = ["--no-audit", "--no-fund", "--loglevel=error"];

/** Installs and builds where that is needed; ends the process with a clear line where it cannot be done. */
export function makeReady() {
  makeInstalled();
  makeBuilt();
}

/** Installs what package.json names. */
export function makeInstalled() {
  checkNode();
  // Also where NODE_ENV is "production".
  const all = ["--include=dev", "--include=peer"];
  if (isStale(INSTALLED, ["package-lock.json"])) install("Installing dependencies", ["ci", ...all]);
  // Keeps what is there, and the lock file as it is.
  else if (!hasRest()) install("Installing the rest of the dependencies", ["install", "--no-save", ...all]);
}

/** Installs its `dependencies` alone, what builds and serves; where the rest is, it stays. */
export function makeServable() {
  if (hasRest()) return makeInstalled();
  checkNode();
  if (isStale(INSTALLED, ["package-lock.json"]))
    install("Installing what builds and serves", ["ci", "--omit=dev", "--omit=peer"]);
}

function hasRest() {
  const installed = `${ROOT}/${INSTALLED}`;
  return existsSync(installed) && OF_THE_REST in JSON.parse(readFileSync(installed, "utf8")).packages;
}

function install(what, command) {
  console.log(`${what} (npm ${command.join(" ")}) …`);
  run("npm", [...command, ...QUIETLY]);
}

/** @param sources nothing needs to be newer than these; without any, a build of whatever sources will do */
export function makeBuilt(sources = ["generator", "runtime", "scripts/build.ts", INSTALLED]) {
  if (!isStale(BUILT, sources)) return;
  console.log("Building (npm run build) …");
  run("npm", ["run", "--silent", "build"]);
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  console.error(
    `Routewright needs Node ${OLDEST_NODE.join(".")} or newer; this is ${process.versions.node}.`,
  );
  process.exit(2);
}

/** Runs a command in the clone and passes its failure on. */
export function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, {
    cwd: ROOT,
    stdio: "inherit",
    shell: process.platform === "win32",
    ...options,
  });
  if (error) console.error(`Cannot run ${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 2);
}

/** Whether a file is missing or older than the newest of its sources. */
function isStale(made, sources) {
  const file = `${ROOT}/${made}`;
  if (!existsSync(file)) return true;
  const { mtimeMs } = statSync(file);
  return sources.some((source) => newest(`${ROOT}/${source}`) > mtimeMs);
}

function newest(path) {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  const names = readdirSync(path).filter((name) => name !== "node_modules" && name !== "dist");
  return Math.max(0, ...names.map((name) => newest(`${path}/${name}`)));
}
