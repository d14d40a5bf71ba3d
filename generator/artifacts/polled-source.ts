import { createHash } from "node:crypto";
import { readIfModified, type Source } from "./source.js";
import type { ArtifactAccess, Validators } from "./store.js";

/** The result of one poll. */
export type PollResult =
  | ({ readonly kind: "text"; readonly hash: string } & Source)
  /** The content has the hash that the caller knows. */
  | { readonly kind: "unchanged" }
  /** There is no such file, though it may appear. */
  | { readonly kind: "missing"; readonly detail: string }
  | { readonly kind: "error"; readonly detail: string };

/** A file or address to poll: compared by hash, in stores with conditional requests. */
export class PolledSource {
  readonly #location: string;
  readonly #limits: { readonly writer?: string };
  readonly #access: ArtifactAccess | undefined;
  /** The version that was read last, for a conditional request. */
  #last: { readonly hash: string; readonly validators: Validators } | null = null;

  /** `writer`: what writes the file, for the message that it is missing. */
  constructor(location: string, writer?: string, access?: ArtifactAccess) {
    this.#location = location;
    this.#limits = writer === undefined ? {} : { writer };
    this.#access = access;
  }

  /** `known`: hash of the caller's version; null for none. */
  async poll(known: string | null): Promise<PollResult> {
    const validatorsOfKnown = this.#last?.hash === known ? this.#last.validators : null;
    const read = await readIfModified(this.#location, validatorsOfKnown, this.#limits, this.#access);
    switch (read.kind) {
      case "unmodified":
        return { kind: "unchanged" };
      case "missing":
        return { kind: "missing", detail: read.problem };
      case "failed":
        return { kind: "error", detail: read.problem };
      case "text": {
        const { source, validators } = read;
        const hash = sha256(source.text);
        this.#last = validators && { hash, validators };
        return hash === known ? { kind: "unchanged" } : { kind: "text", hash, ...source };
      }
    }
  }
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
