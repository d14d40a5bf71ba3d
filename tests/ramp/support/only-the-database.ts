/**
 * Between the begin and the end of a transaction nothing is awaited but its own connection to the database. Where this file is imported,
 * whatever else would wait there (HTTP, name servers, our own timers, a second connection) throws, and the transaction fails also where that is
 * caught.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import dns from "node:dns";
import dnsPromises from "node:dns/promises";
import http from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import timersPromises from "node:timers/promises";
import pg from "pg";
import { DbSession } from "../../../runtime/ramp/database/session.js";

/** What runs because of a transaction's work; it may wait again once the transaction is over. */
const transaction = new AsyncLocalStorage<{ isOpen: boolean; violation?: Error }>();
// What began to wait before the first use would share the store of the transaction that is open when it goes on.
transaction.run({ isOpen: false }, () => undefined);

const { transactionAt, commit, rollback } = DbSession.prototype;
DbSession.prototype.transactionAt = function (now) {
  transaction.enterWith({ isOpen: true });
  return transactionAt.call(this, now);
};
DbSession.prototype.commit = async function (tx) {
  const { violation } = transaction.getStore() ?? {};
  if (violation) throw violation;
  await commit.call(this, tx).finally(leave);
};
DbSession.prototype.rollback = async function () {
  await rollback.call(this).finally(leave);
};
function leave(): void {
  const store = transaction.getStore();
  if (store) store.isOpen = false;
}

/** Also of a function without a name, and of `new Promise`. */
const IS_NODES_OWN = /[ (]node:|\(<anonymous>\)/;

/** The driver's own timers and look-ups are the database's. */
function isOfOurs(): boolean {
  const [caller = ""] = (new Error().stack ?? "")
    .split("\n")
    .slice(1)
    .filter((frame) => !frame.includes("only-the-database") && !IS_NODES_OWN.test(frame));
  return caller.includes("/runtime/") && !caller.includes("node_modules");
}

type Waits = (...given: never[]) => unknown;

/** Has a function throw inside of a transaction. */
function guard<K extends string>(of: Record<K, unknown>, name: K): void {
  const original = of[name] as Waits;
  const guarded = function (this: unknown, ...given: never[]): unknown {
    const store = transaction.getStore();
    if (store?.isOpen === true && isOfOurs()) {
      store.violation ??= new Error(`${name} inside of a transaction: await nothing but the database there.`);
      throw store.violation;
    }
    return original.apply(this, given);
  };
  of[name] = Object.assign(guarded, original);
}

guard(globalThis, "fetch");
guard(globalThis, "setTimeout");
guard(timersPromises as Record<"setTimeout", unknown>, "setTimeout");
for (const module of [http, https]) for (const name of ["request", "get"] as const) guard(module, name);
for (const module of [dns, dnsPromises]) guard(module as Record<"lookup", unknown>, "lookup");
for (const Resolver of [dns.Resolver, dnsPromises.Resolver])
  for (const name of ["resolve4", "resolve6"] as const) guard(Resolver.prototype, name);
// Each waits for the connection that another one holds.
guard(pg.Pool.prototype as unknown as Record<"connect", unknown>, "connect");
syncBuiltinESMExports();
