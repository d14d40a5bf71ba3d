import {
  type ClickhouseAddress,
  failed,
  messageOf,
  type Outcome,
  succeeded,
} from "@routewright/runtime/model";
import { clickhouseLiteral as literal } from "./literal.js";
import { clickhouseSession, type RunSql } from "./session.js";

/** The servers that hold a copy. */
export interface LoadedNodes {
  /** Name of the cluster in `remote_servers`; null for one server. */
  readonly cluster: string | null;
  /** The first one reads the exports. */
  readonly nodes: readonly RunSql[];
}

/** `hosts`: `host` or `host:port` of each node's HTTP interface; without them those that the cluster names. */
export async function loadedNodes(
  address: ClickhouseAddress,
  cluster: string | null,
  hosts: readonly string[],
): Promise<Outcome<LoadedNodes>> {
  const run = clickhouseSession(address);
  try {
    await run("SELECT 1");
    if (cluster === null) return succeeded({ cluster, nodes: [run] });
    const members = await membersOf(run, cluster);
    if (members.length === 0) return failed(`ClickHouse knows no cluster ${cluster} (system.clusters).`);
    if (members.some(({ isReplicated, replica }) => isReplicated && replica > 1)) return failed(REPLICATED);
    const named = hosts.length > 0 ? hosts : members.map(({ host }) => host);
    const nodes = named.map((host) => clickhouseSession(addressOf(address, host)));
    const problem = await nodesProblem(nodes, cluster, members);
    return problem === null ? succeeded({ cluster, nodes }) : failed(problem);
  } catch (error) {
    return failed(`ClickHouse cannot be reached: ${messageOf(error)}`);
  }
}

/** With `internal_replication` ClickHouse writes to one replica of a shard, and the tables of a load do not replicate. */
const REPLICATED =
  "A shard of the cluster has several replicas and internal_replication: name a cluster without it in remote_servers, so that rows reach every replica.";

interface ClusterMember {
  readonly shard: number;
  readonly replica: number;
  readonly host: string;
  readonly isLocal: boolean;
  readonly isReplicated: boolean;
}

async function membersOf(run: RunSql, cluster: string): Promise<readonly ClusterMember[]> {
  const rows = await run(
    `SELECT shard_num, replica_num, host_name, is_local, internal_replication FROM system.clusters WHERE cluster = ${literal(cluster)} ORDER BY ALL FORMAT JSONCompactEachRow`,
  );
  return rows
    .split("\n")
    .filter((line) => line !== "")
    .map((line): ClusterMember => {
      const [shard, replica, host, isLocal, isReplicated] = JSON.parse(line) as [
        number,
        number,
        string,
        number,
        number,
      ];
      return { shard, replica, host, isLocal: isLocal === 1, isReplicated: isReplicated === 1 };
    });
}

function addressOf(address: ClickhouseAddress, host: string): ClickhouseAddress {
  const [, hostname = host, port] =
    /^\[?(.+?)\]?:(\d+)$/.exec(host.replace(/^(?!\[)(.*:.*:.*)$/, "[$1]:")) ?? [];
  return { ...address, hostname, port: port === undefined ? address.port : Number(port) };
}

/** Null where each node of the cluster is there once. */
async function nodesProblem(
  nodes: readonly RunSql[],
  cluster: string,
  members: readonly ClusterMember[],
): Promise<string | null> {
  const places = members.map(({ shard, replica }) => `${String(shard)}/${String(replica)}`);
  const found: string[] = [];
  for (const node of nodes) {
    const own = (await membersOf(node, cluster)).filter(({ isLocal }) => isLocal);
    found.push(...own.map(({ shard, replica }) => `${String(shard)}/${String(replica)}`));
  }
  if (found.toSorted().join() === places.toSorted().join()) return null;
  return `The cluster ${cluster} has the nodes ${places.join(", ")} (shard/replica), and the servers that are loaded are ${found.join(", ") || "none of them"}: name the HTTP address of each node with --nodes.`;
}
