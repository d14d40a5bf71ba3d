import type { Tier } from "@routewright/runtime/model";
import { catalogueOf } from "../catalogue/build.js";
import { readCatalog, withWarehouseColumns } from "../manifest/catalog.js";
import { compare, emptyProblem, readFolder } from "../output/folder.js";
import { type ModuleCache, renderCached } from "../render/render.js";
import { parseManifest } from "../manifest/manifest.js";
import { shownLocation } from "../manifest/source.js";
import { FollowedSource } from "../watch/followed-source.js";
import { recoverFolder, updateFolder } from "../output/replace.js";
import { follow } from "../watch/schedule.js";
import { EXIT, type Outcome } from "./outcome.js";
import { conflictingFile, reportText } from "./report.js";

export interface WatchOptions {
  /** File or http(s) address of the manifest. */
  readonly manifest: string;
  /** Of dbt's catalog.json. */
  readonly catalog?: string;
  readonly out: string;
  readonly intervalSeconds: number;
  readonly defaultTier: Tier;
  /** Title of the OpenAPI document; null for its own. */
  readonly title: string | null;
  /** Takes what is worth telling. */
  readonly tell: (text: string) => void;
  /** Resolves when it is time to stop. */
  readonly until: Promise<void>;
}

/** `routewright watch`: regenerates whenever the manifest changes. A problem changes nothing, and is told once. */
export async function watch(options: WatchOptions): Promise<Outcome> {
  const { manifest, out, intervalSeconds, tell, until } = options;
  recoverFolder(out);
  const watcher = new Watcher(options);
  let told = "";
  const look = async (): Promise<void> => {
    const news = await watcher.round();
    if (news !== null && news !== told) tell(news);
    told = news ?? told;
  };
  tell(`Watching ${shownLocation(manifest)}, every ${String(intervalSeconds)} s.\n`);
  const unfollow = follow({ source: manifest, intervalSeconds, look });
  await until;
  await unfollow();
  return { exit: EXIT.ok };
}

class Watcher {
  readonly #options: WatchOptions;
  readonly #source: FollowedSource;
  /** Hash of the manifest that the folder was last brought up to date with. */
  #written: string | null = null;
  #modules: ModuleCache = new Map();

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#source = new FollowedSource(options.manifest);
  }

  /** One look at the manifest; what is worth telling of it, or null. */
  async round(): Promise<string | null> {
    try {
      const look = await this.#source.look(this.#written);
      if (look.kind === "unchanged") return null;
      if (look.kind === "error") return problem(look.detail);
      const news = await this.#write(look.text, look.shown);
      if (news.ok) this.#written = look.hash;
      return news.text;
    } catch (error) {
      // A full disk or a missing permission: the folder is as it was, and the next round tries again.
      return problem(error instanceof Error ? error.message : String(error));
    }
  }

  async #write(text: string, shown: string): Promise<{ readonly ok: boolean; readonly text: string }> {
    const { out, catalog, defaultTier, title } = this.#options;
    const reading = parseManifest(text, shown);
    if (!reading.ok) return { ok: false, text: problem(reading.problem) };
    const found = catalog === undefined ? NO_COLUMNS : await readCatalog(catalog);
    if (!found.ok) return { ok: false, text: problem(found.problem) };
    const catalogue = catalogueOf(withWarehouseColumns(reading.manifest, found.columns), { defaultTier });
    const { files: fresh, cache } = renderCached(catalogue, { title, cache: this.#modules });
    this.#modules = cache;
    const drift = compare(readFolder(out), fresh);
    const blocked = drift.filter(({ kind }) => kind === "blocked");
    if (blocked.length > 0)
      return { ok: false, text: blocked.map(({ file }) => problem(conflictingFile(out, file))).join("") };
    const empty = emptyProblem(catalogue.entries.length, drift);
    if (empty !== null) return { ok: false, text: problem(empty.replace(", or pass --allow-empty", "")) };
    updateFolder(out, fresh, drift);
    return {
      ok: true,
      text: reportText({ out, check: false, warnings: reading.manifest.warnings, catalogue, drift }),
    };
  }
}

const NO_COLUMNS = { ok: true, columns: new Map() } as const;

function problem(detail: string): string {
  return `error: ${detail}\n`;
}
