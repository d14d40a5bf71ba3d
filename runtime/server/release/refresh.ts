import type { Logger } from "../../core/http/logger.js";
import { failed, NO_CHANGES, type RefreshResult, type ReleaseStatus, success } from "./activate.js";
import type { Release } from "./release.js";
import type { ActiveRelease, ManifestVersion } from "../../core/handler/loaded-release.js";
import { CoalescingRunner } from "../../core/model/coalescing-runner.js";
import { messageOf } from "../../core/model/outcome.js";

export type RenderResult =
  | { readonly kind: "rendered"; readonly release: Release }
  | { readonly kind: "unchanged" }
  | { readonly kind: "error"; readonly detail: string };

/** The manifest of the active release. */
export type ActiveManifest = Pick<ManifestVersion, "hash" | "folder">;

/**
 * Renders the current manifest in another thread. The runtime does not import the generator: the command that starts the
 * server passes in a renderer.
 */
export interface ManifestRenderer {
  /** `active`: the active manifest, which is not rendered again with the same generated folder. */
  render(active: ActiveManifest | null): Promise<RenderResult>;
  close(): Promise<void>;
}

/** Where a release is activated: this process, or several workers. */
export interface ReleaseTarget {
  readonly status: ReleaseStatus;
  /** Activates a release. Rejects when it does not load; the old one stays active. */
  activate(release: Release): Promise<RefreshResult>;
}

/** The target of a server without worker processes. */
export function localTarget(
  active: ActiveRelease,
  activate: (release: Release) => Promise<RefreshResult>,
): ReleaseTarget {
  return {
    get status() {
      const { manifest, endpoints } = active.current;
      return { manifest, endpoints: endpoints.size };
    },
    activate,
  };
}

/** Renders the current manifest and activates the result at a target. */
export class Refresher {
  readonly #target: ReleaseTarget;
  readonly #renderer: ManifestRenderer;
  readonly #runner = new CoalescingRunner(() => this.#run());

  constructor(target: ReleaseTarget, renderer: ManifestRenderer) {
    this.#target = target;
    this.#renderer = renderer;
  }

  /** Never rejects. */
  refresh(): Promise<RefreshResult> {
    return this.#runner.run();
  }

  async #run(): Promise<RefreshResult> {
    const { status } = this.#target;
    try {
      const { manifest } = status;
      const active = manifest && { hash: manifest.hash, folder: manifest.folder };
      const rendered = await this.#renderer.render(active);
      switch (rendered.kind) {
        case "rendered":
          if (rendered.release.modules.length === 0 && status.endpoints > 0)
            return failed(status, NO_ENDPOINT);
          return await this.#target.activate(rendered.release);
        case "unchanged":
          return success(status, NO_CHANGES);
        case "error":
          return failed(status, rendered.detail);
      }
    } catch (error) {
      return failed(status, messageOf(error));
    }
  }
}

const NO_ENDPOINT =
  "The manifest has no endpoint: it is probably broken and was not activated. To serve no endpoint, restart the server.";

/** Logs and counts refreshes; a lasting problem is logged once. */
export class RefreshLog {
  readonly counts = { reloaded: 0, unchanged: 0, error: 0 };
  /** Failures since the last success. */
  #failures = 0;
  readonly #log: Logger;
  #lastProblem = "";

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Why the active release may be old; null unless the last two refreshes failed: one may have met a writer. */
  get degraded(): string | null {
    return this.#failures < 2 ? null : "The manifest cannot be refreshed: the log has the reason.";
  }

  /** Returns the result unchanged. */
  record(result: RefreshResult): RefreshResult {
    this.counts[result.status]++;
    this.#failures = result.status === "error" ? this.#failures + 1 : 0;
    if (result.status === "error") {
      if (result.detail !== this.#lastProblem)
        this.#log.warn({ detail: result.detail }, "manifest not refreshed: the active release stays");
      this.#lastProblem = result.detail;
      return result;
    }
    this.#lastProblem = "";
    for (const { kind, subject, reason } of result.warnings)
      this.#log.warn({ kind, subject, reason }, "refresh warning");
    if (result.status === "reloaded") {
      const { endpoints, added, removed, changed, skipped, manifest_hash } = result;
      const counts = {
        added: added.length,
        removed: removed.length,
        changed: changed.length,
        skipped: skipped.length,
      };
      this.#log.info({ endpoints, ...counts, manifest_hash }, "manifest refreshed");
    }
    return result;
  }
}

/** Log message of a successful reload. `manifest`: of the active release. */
export function reloadMessage(manifest: ManifestVersion | null): string {
  return manifest === null
    ? "reloaded"
    : "reloaded, except the generated folder: the release of the manifest refresh stays active";
}

/** Log message where the manifest could not be rendered with the folder as it is now. */
export const NOT_REFRESHED = "reloaded, but the manifest was not refreshed: the next refresh tries it again";

/** Why a release is not activated that was rendered with an earlier folder: it may be laxer. */
export const FOLDER_CHANGED = "The generated folder has changed since the manifest was rendered.";

export const NOT_RELOADED =
  "not reloaded: the server keeps serving; correct the problem and send SIGHUP again";
