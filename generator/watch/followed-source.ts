import { createHash } from "node:crypto";
import type { Validators } from "../manifest/fetch.js";
import { readIfModified } from "../manifest/source.js";

/** What a poll of a source found. */
export type PollResult =
  | {
      readonly kind: "text";
      readonly text: string;
      readonly hash: string;
      /** Where it is from, fit to be shown. */
      readonly shown: string;
    }
  /** It is the one that the caller knows. */
  | { readonly kind: "unchanged" }
  | { readonly kind: "error"; readonly detail: string };

/** A file or address that is polled: by its content's hash, and over HTTP with conditional requests. */
export class FollowedSource {
  readonly #location: string;
  /** The version last read, for recognising it. */
  #last: { readonly hash: string; readonly validators: Validators } | null = null;

  constructor(location: string) {
    this.#location = location;
  }

  /** `known`: hash of what the caller has; null for nothing. */
  async poll(known: string | null): Promise<PollResult> {
    const has = this.#last?.hash === known ? this.#last.validators : null;
    const source = await readIfModified(this.#location, has);
    if (!source.ok) return { kind: "error", detail: source.problem };
    if ("notModified" in source) return { kind: "unchanged" };
    const { text, shown, validators = null } = source;
    const hash = createHash("sha256").update(text).digest("hex");
    this.#last = validators && { hash, validators };
    return hash === known ? { kind: "unchanged" } : { kind: "text", text, hash, shown };
  }
}
