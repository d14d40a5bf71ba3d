import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { addKey } from "@routewright/runtime/keys";
import { TIERS, type Tier } from "@routewright/runtime/model";

/** A key per tier, for trying. */
export type DemoKeys = Readonly<Record<Tier, string>>;

/**
 * The demo's keys: made at the first start and shown at every one, so they are kept readable beside the hashed file
 * that the server reads. Keys for real use are made with `routewright keys create`.
 */
export function demoKeys(keyFile: string, shownFile: string): DemoKeys {
  if (existsSync(shownFile) && existsSync(keyFile))
    return JSON.parse(readFileSync(shownFile, "utf8")) as DemoKeys;
  const keys = Object.fromEntries(TIERS.map((tier) => [tier, makeKey(keyFile, tier)])) as DemoKeys;
  writeFileSync(shownFile, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
  return keys;
}

function makeKey(keyFile: string, tier: Tier): string {
  const added = addKey(keyFile, { tier, user: `demo-${tier}`, org: "demo" });
  if (!added.ok) throw new Error(added.problem);
  return added.value.key;
}
