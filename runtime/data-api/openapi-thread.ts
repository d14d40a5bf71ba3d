/** Entry of the thread that prepares the OpenAPI document (`Documents`). */
import { parentPort, workerData } from "node:worker_threads";
import { openApiForTier } from "../docs/openapi-for-tier.js";
import type { Tier } from "../model/tier.js";
import { entityTag } from "../results/result-service.js";

export interface OpenApiJob {
  readonly openApi: Uint8Array;
  /** Null: the whole document. */
  readonly tier: Tier | null;
}

export interface OpenApiResult {
  /** The tier's part; null: the document as it is. */
  readonly text: Uint8Array | null;
  readonly tag: string;
}

const { openApi, tier } = workerData as OpenApiJob;
const bytes = Buffer.from(openApi.buffer, openApi.byteOffset, openApi.length);
const text = tier === null ? null : new TextEncoder().encode(openApiForTier(bytes.toString(), tier));
const tag = entityTag(text === null ? bytes : Buffer.from(text.buffer));
const result: OpenApiResult = { text, tag };
parentPort?.postMessage(result, text === null ? [] : [text.buffer]);
