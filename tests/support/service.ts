import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CatalogueOptions, catalogueOf } from "../../generator/catalogue/build.js";
import { updateFolder } from "../../generator/output/folder.js";
import { render, type RenderOptions } from "../../generator/render/render.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { readEnvironment } from "../../runtime/server/operations/environment.js";
import { withCompiler } from "../../runtime/server/release/generated-folder.js";
import { type RunningService, startService } from "../../runtime/server/server.js";
import { atEnd } from "./at-end.js";
import { engineUrl } from "./engines.js";

/** A key per tier that every test service knows. */
export const KEYS = {
  tier0: "sk_live_test_tier0",
  tier1: "sk_live_test_tier1",
  tier2: "sk_live_test_tier2",
  tier3: "sk_live_test_tier3",
} as const;

/**
 * The compiler's process stays as long as this one: hundreds of services start here, and each start of it takes a large process
 * some 40 ms of a processor, a tenth of which is compiling.
 */
void withCompiler(() => new Promise<never>(() => undefined));

/** Folder of a test's or a test file's own, removed at the end. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "routewright-test-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Renders a manifest's JSON into a folder, as `generate` does. */
export function generateInto(
  folder: string,
  manifest: unknown,
  options: CatalogueOptions & RenderOptions = {},
): void {
  const reading = parseManifest(JSON.stringify(manifest), "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  const files = render(catalogueOf(reading.value, options), options);
  updateFolder(files, { out: folder, allowEmpty: true });
}

/** A folder with what `generate` makes of a manifest in `generated/`: where a server in a process of its own starts. */
export function ownInstallation(...generated: [manifest: unknown, options?: CatalogueOptions]): string {
  const folder = ownFolder();
  generateInto(join(folder, "generated"), ...generated);
  return folder;
}

/**
 * Serves a manifest the whole way: rendered, written, loaded from its TypeScript, on a free port, against the real
 * database. `variables` are environment variables. Stopped at the end of the test, or of the file.
 */
export async function serveManifest(
  manifest: unknown,
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  return (await startManifest(manifest, variables)).url;
}

/** As `serveManifest`, with the service itself. */
export async function startManifest(
  manifest: unknown,
  variables: Readonly<Record<string, string>> = {},
): Promise<RunningService> {
  const folder = ownFolder();
  generateInto(folder, manifest);
  return startFolder(folder, variables);
}

/** Serves a generated folder as `serve` does. A test may stop it before its end. */
export async function startFolder(
  folder: string,
  variables: Readonly<Record<string, string>> = {},
  options: Partial<Parameters<typeof startService>[0]> = {},
): Promise<RunningService> {
  const owners = Object.entries(KEYS).map(([tier, key]) => [
    key,
    { tier, user: `user-${tier}`, org: "test" },
  ]);
  const reading = readEnvironment({
    DATABASE_URL: engineUrl(),
    API_KEYS: JSON.stringify(Object.fromEntries(owners)),
    PORT: "0",
    LOG_LEVEL: "silent",
    // It would write into the database that all tests share.
    USAGE_ENABLED: "false",
    // Browsers of tests load pages as fast as they can.
    DOCUMENT_RATE_LIMIT: "1000000",
    ...variables,
  });
  if (!reading.ok) throw new Error(reading.problems.join("\n"));
  const service = await startService({
    environment: reading.value.environment,
    generated: folder,
    dataDir: ownFolder(),
    ...options,
  });
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopping ??= service.stop());
  atEnd(stop);
  return { ...service, stop };
}
