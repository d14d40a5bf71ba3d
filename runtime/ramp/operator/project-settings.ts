import type { ProjectId } from "../database/id.js";
import type { OperatorTransaction, RampDatabase } from "../database/ramp-database.js";
import { chainIdOf, walletRpcPurpose } from "../sign-in/wallet-token.js";
import { isOrigin } from "../core/json-schema.js";
import type { Vault } from "../core/vault.js";
import { failed, type Outcome, succeeded } from "../../model/outcome.js";

/** Settings of a project (runtime/ramp/docs/operations.md, Set-up). What is left out stays as it is; an empty list empties it. */
export interface ProjectSettings {
  readonly name: string;
  /** Added to the expiry of a subject token. */
  readonly tokenTtlSeconds: number;
  /** Longest lifetime of a customer token. */
  readonly maxTokenSeconds: number;
  /** Origins that may frame the hosted pages. */
  readonly pageOrigins: readonly string[];
  /** Origins that redirect URLs may have; none: any. */
  readonly redirectOrigins: readonly string[];
  /** Hosts of the sites whose wallet sign-ins are accepted; none: no wallet sign-in. */
  readonly walletDomains: readonly string[];
  /** How far, in percent, the received amount may be from a held price. */
  readonly amountTolerance: string;
}

/** What is wrong with settings, or null. */
export function settingsProblem(settings: Partial<ProjectSettings>): string | null {
  const { name, pageOrigins = [], redirectOrigins = [], walletDomains = [] } = settings;
  if (name !== undefined && name.trim() === "") return "The name is empty.";
  const origin = [...pageOrigins, ...redirectOrigins].find((text) => !isOrigin(text));
  if (origin !== undefined) return `${origin} is not an origin such as https://app.example.com.`;
  const domain = walletDomains.find((text) => !isHost(text));
  if (domain !== undefined) return `${domain} is not a host such as app.example.com or localhost:3000.`;
  const { amountTolerance } = settings;
  if (
    amountTolerance !== undefined &&
    !(/^\d{1,2}(\.\d{1,4})?$/.test(amountTolerance) && Number(amountTolerance) <= 50)
  )
    return "The amount tolerance must be a percentage from 0 to 50, such as 0.5.";
  return null;
}

function isHost(text: string): boolean {
  return (
    /^[a-z0-9.:[\]-]+$/.test(text) &&
    URL.canParse(`http://${text}`) &&
    new URL(`http://${text}`).host === text
  );
}

/** Writes settings that `settingsProblem` found nothing wrong with. */
export async function writeSettings(
  tx: OperatorTransaction,
  projectId: string,
  settings: Partial<ProjectSettings>,
): Promise<void> {
  const {
    name,
    tokenTtlSeconds,
    maxTokenSeconds,
    pageOrigins,
    redirectOrigins,
    walletDomains,
    amountTolerance,
  } = settings;
  await tx.rows(
    `UPDATE ramp.projects SET name = COALESCE($2, name), token_ttl_seconds = COALESCE($3, token_ttl_seconds),
       max_token_seconds = COALESCE($4, max_token_seconds), page_origins = COALESCE($5, page_origins),
       redirect_origins = COALESCE($6, redirect_origins), wallet_domains = COALESCE($7, wallet_domains),
       amount_tolerance = COALESCE($8, amount_tolerance) WHERE id = $1`,
    [
      projectId,
      name?.trim() ?? null,
      tokenTtlSeconds ?? null,
      maxTokenSeconds ?? null,
      pageOrigins ?? null,
      redirectOrigins ?? null,
      walletDomains ?? null,
      amountTolerance ?? null,
    ],
  );
}

interface ProjectChange extends Partial<ProjectSettings> {
  /** Addresses of Ethereum nodes as `<chain id>=<URL>`; replaces all of them. */
  readonly walletRpc?: readonly string[];
}

/** Changes a project's settings. Each node must answer with its chain id. */
export async function updateProject(
  { database, vault }: { readonly database: RampDatabase; readonly vault: Vault },
  projectId: ProjectId,
  { walletRpc, ...settings }: ProjectChange,
): Promise<Outcome<{ projectId: string }>> {
  const wrong = settingsProblem(settings);
  if (wrong !== null) return failed(wrong);
  const nodes = walletRpc && (await readNodes(walletRpc));
  if (typeof nodes === "string") return failed(nodes);
  await database.asOperator(async (tx) => {
    await writeSettings(tx, projectId, settings);
    if (nodes === undefined) return;
    const sealed = vault.seal(walletRpcPurpose(projectId), JSON.stringify(nodes));
    await tx.rows("UPDATE ramp.projects SET wallet_rpc = $2 WHERE id = $1", [projectId, sealed]);
  });
  return succeeded({ projectId });
}

/** Nodes by chain id, or what is wrong with them. Addresses are not repeated: they often carry an API key. */
async function readNodes(given: readonly string[]): Promise<Readonly<Record<string, string>> | string> {
  const nodes: Record<string, string> = {};
  for (const text of given) {
    const [, chain = "", url = ""] = /^([1-9]\d{0,14})=(https?:\/\/\S+)$/.exec(text) ?? [];
    if (!URL.canParse(url))
      return "A wallet RPC address is not of the form <chain id>=<URL>, such as 1=https://…";
    const served = await chainIdOf(url);
    if (served === null) return `The node of chain ${chain} does not answer eth_chainId.`;
    if (served !== Number(chain)) return `The node of chain ${chain} serves chain ${String(served)}.`;
    nodes[chain] = url;
  }
  return nodes;
}
