import { randomBytes } from "node:crypto";
import { clickhouseIdentifier as identifier } from "../../verify/clickhouse-relations.js";
import type { CopiedRelation } from "../copied-relation.js";

export const quoted = (relation: readonly string[]): string => relation.map(identifier).join(".");

/** By default ClickHouse does not drop a table of more than 50 GB. */
export const dropped = (relation: readonly string[]): string =>
  `DROP TABLE IF EXISTS ${quoted(relation)} SYNC SETTINGS max_table_size_to_drop = 0`;

export const NEW = "__new_";
const SHARD = "__shard_";

interface OwnTable {
  readonly copied: CopiedRelation;
  /** Names the tables of the load. */
  readonly id: string;
}
export const newName = ({ copied, id }: OwnTable): string => `${copied.relation[1]}${NEW}${id}`;
export const shardName = ({ copied, id }: OwnTable): string => `${copied.relation[1]}${SHARD}${id}`;

/** Names the tables of a load: two loads at once have tables of their own. */
export const newLoadId = (): string => `${Date.now().toString(36)}${randomBytes(4).toString("hex")}`;
const TIME_DIGITS = 8;
export const loadTime = (id: string): number => parseInt(id.slice(0, TIME_DIGITS), 36);

/** A pattern of the names of tables that loads of a relation have made. */
export const tablesOfLoads = ({ relation: [, name] }: CopiedRelation): string =>
  `^${name.replace(/[^\w]/g, "\\$&")}(${NEW}|${SHARD})[0-9a-z]{${String(TIME_DIGITS)}}[0-9a-f]{8}$`;
