import { messageOf } from "@routewright/runtime/model";
import type { Settings } from "../config.js";
import { readRevision } from "../diff/revision.js";
import { ACCEPT_FILE, applyAcceptFile, readNamedFile } from "../report/accept-file.js";
import { type FailOn, shouldFail } from "../report/finding.js";
import { visible } from "../manifest/strings.js";
import { renderReport } from "../report/render-report.js";
import type { Format } from "../report/report.js";
import { CACHE_RULES, verifyCache } from "../verify/cache/verify-cache.js";
import { withSeverities } from "../verify/checks.js";
import { type CommandResult, EXIT, failure } from "./command.js";
import { withProgress } from "./progress.js";
import { redactedRequest, sharedCacheOf } from "./purge.js";
import { purgeAddresses, type SharedCache } from "./shared-cache.js";
import { verifyReport } from "../verify/verify-report.js";

/** `routewright verify --cache`: what callers can put into the shared cache in front of the server. */
export async function verifyAt(
  address: string,
  from: string,
  settings: Settings & { readonly format: Format; readonly failOn: FailOn },
): Promise<CommandResult> {
  if (!/^https?:\/\/[^/]/.test(address) || !URL.canParse(address))
    return failure(
      `--cache takes the address of the cache, such as https://data.example.com, not "${visible(address)}".`,
    );
  const accept = await readNamedFile(settings.accept);
  if (!accept.ok) return failure(...accept.problems);
  const revision = await readRevision(from, { ...settings, generated: settings.out, cwd: process.cwd() });
  if (!revision.ok) return failure(...revision.problems);
  const { variables, format, failOn } = settings;
  const { entries } = revision.value.catalogue;
  const cache = sharedCacheOf(settings, variables["PURGE_TOKEN"]?.trim() || null);
  const key = variables["VERIFY_API_KEY"]?.trim() || null;
  try {
    const { mismatches, notes } = await withProgress("Trying the cache", (progress) =>
      verifyCache(entries, { address, key, purge: cache && purgeFrom(cache), progress }),
    );
    const today = new Date().toISOString().slice(0, 10);
    const differences = withSeverities(mismatches, settings.verify);
    const outcome = applyAcceptFile(differences, accept.value, CACHE_RULES, today);
    const failed = shouldFail(outcome.unaccepted, failOn);
    const acceptFile = settings.accept ?? ACCEPT_FILE;
    const facts = { title: "API and shared cache", notes, endpoints: entries.length, failed, acceptFile };
    const output = renderReport(verifyReport(facts, outcome), format);
    return { exit: failed ? EXIT.findings : EXIT.ok, output };
  } catch (error) {
    return failure(messageOf(error));
  }
}

/** What removes attempts. Rejects where the cache does not: they would stay. */
function purgeFrom(cache: SharedCache) {
  return async (model: string, addresses: readonly string[]): Promise<void> => {
    const [problem] = await purgeAddresses(cache, model, addresses);
    if (problem) throw new Error(`${redactedRequest(problem.request)}: ${problem.reason}.`);
  };
}
