import { addKey, removeKey, storedKeys, type StoredKey } from "@routewright/runtime/keys";
import { EXIT, type Outcome } from "./outcome.js";

const RESTART = "Keys are read when the server starts: restart it.";

/** `routewright keys create`: the key on standard output, alone, so that a script can take it. */
export function createKey(file: string, owner: Omit<StoredKey, "id">): Outcome {
  const added = addKey(file, owner);
  if (!added.ok) return failed(added.problem);
  const { key, id } = added.value;
  const notes = [`Stored hashed in ${file} as ${id}. The key is shown this once.`, RESTART];
  return { exit: EXIT.ok, output: `${key}\n`, notes };
}

/** `routewright keys list`: who has which tier; the keys themselves are not in the file. */
export function listKeys(file: string): Outcome {
  const keys = storedKeys(file);
  if (!keys.ok) return failed(keys.problem);
  const rows = keys.value.map(({ id, tier, user, org }) => [id, tier, user, org]);
  const lines = [["id", "tier", "user", "org"], ...rows].map((row) => row.join("\t").trimEnd());
  return { exit: EXIT.ok, output: `${lines.join("\n")}\n` };
}

/** `routewright keys revoke`: removes the one key that the id names. */
export function revokeKey(file: string, id: string): Outcome {
  const removed = removeKey(file, id);
  if (!removed.ok) return failed(removed.problem);
  const [match, ...others] = removed.value;
  if (match === undefined)
    return failed(`No key in ${file} has the id ${id}. \`routewright keys list\` shows the ids.`);
  if (others.length > 0)
    return failed(`The id ${id} names ${String(removed.value.length)} keys; give more of it.`);
  return { exit: EXIT.ok, output: `Revoked ${match}.\n`, notes: [RESTART] };
}

function failed(problem: string): Outcome {
  return { exit: EXIT.error, errors: [problem] };
}
