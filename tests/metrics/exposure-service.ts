import { serveManifest } from "../support/service.js";
import { EXPOSURE, exposureDatabase } from "./exposure-tables.js";

/** Serves the project with keys of two organizations, of none and of all. */
export async function exposureService() {
  const DATABASE = {
    DATABASE_URL: await exposureDatabase(),
    RATE_LIMITS: "100000",
    API_KEYS: JSON.stringify({
      sk_live_acme: { tier: "tier0", user: "acme", org: "acme" },
      sk_live_other: { tier: "tier0", user: "other", org: "other" },
      sk_live_none: { tier: "tier0", user: "none", org: "" },
      sk_live_all: { tier: "tier3", user: "all", org: "*" },
    }),
  };
  const url = await serveManifest(EXPOSURE, DATABASE);

  async function ask(request: string, key?: "acme" | "other" | "none" | "all", of = url) {
    const headers: Record<string, string> = key === undefined ? {} : { "X-API-Key": `sk_live_${key}` };
    const response = await fetch(`${of}/v1/pay/${request}`, { headers });
    return { status: response.status, body: await response.json() };
  }

  return { DATABASE, url, ask };
}
