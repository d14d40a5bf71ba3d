/** Reports and reconciliation over thousands of intents, and the erasure of a customer among them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownFolder } from "../../support/service.js";
import { json, routewright } from "../support/command-line.js";
import { eventually, newCustomer, onramp, ownWorld, SECRETS_KEY, untilTrue } from "../support/world.js";

/** `FINANCE_INTENTS=10000`: five times as many. */
const INTENTS = Number(process.env["FINANCE_INTENTS"] ?? 2_000);
const [HALF, TENTH, PAID] = [INTENTS / 2, INTENTS / 10, (INTENTS * 9) / 10];

const world = await ownWorld();
process.env["DATABASE_URL"] = world.databaseUrl;
process.env["RAMP_SECRETS_KEY"] = SECRETS_KEY.toString("hex");
const project = await world.project({ providers: ["sandbox-south"] });
await newCustomer(world, project, "payer");

// Intents of two days: nine of ten completed with a receipt, one of them refunded in part, and one failed.
await world.rows(
  `WITH c AS (SELECT c.id AS connection, u.id AS customer FROM ramp.provider_connections c
     JOIN ramp.customers u USING (project_id) WHERE project_id = $1),
   i AS (INSERT INTO ramp.intents (project_id, id, customer_id, connection_id, type, status, src_currency, src_details,
       dest_currency, dest_details, src_amount, rail, auto_execute, expires_at, created_at)
     SELECT $1, gen_random_uuid(), customer, connection, 'ONRAMP', 'PENDING', 'USD', '{}', 'USDC_POLYGON', '{}', 10 + n % 90,
       'ACH', true, now(), timestamptz '2026-06-01T12:00:00Z' + (n % 2) * interval '1 day' FROM c, generate_series(1, ${String(INTENTS)}) n
     RETURNING id, src_amount)
   INSERT INTO ramp.transactions (project_id, id, intent_id, status, provider_reference)
   SELECT $1, gen_random_uuid(), id, 'PENDING', 'ref-' || row_number() OVER () FROM i`,
  [project.id],
);
// Their ends, past the guards of single moves.
await world.rows("ALTER TABLE ramp.intents DISABLE TRIGGER guard_status");
await world.rows("ALTER TABLE ramp.transactions DISABLE TRIGGER guard_status");
await world.rows(`UPDATE ramp.transactions t SET status = CASE WHEN n % 10 = 0 THEN 'FAILED' ELSE 'SUCCESS' END
   FROM (SELECT id, split_part(provider_reference, '-', 2)::int AS n FROM ramp.transactions) numbered, ramp.intents i
   WHERE numbered.id = t.id AND i.id = t.intent_id`);
await world.rows(`UPDATE ramp.intents i SET status = CASE t.status WHEN 'FAILED' THEN 'TRANSACTION_FAILED' ELSE 'COMPLETED' END,
     failure_reason = CASE t.status WHEN 'FAILED' THEN 'x' END FROM ramp.transactions t WHERE t.intent_id = i.id`);
await world.rows("ALTER TABLE ramp.intents ENABLE TRIGGER guard_status");
await world.rows("ALTER TABLE ramp.transactions ENABLE TRIGGER guard_status");

// The journal: orders and receipts on the day of the intent, refunds two days later. The provider says that it received the eighth a day later.
await world.rows(`INSERT INTO ramp.postings (project_id, entry_id, line, intent_id, kind, about, account, currency, amount, posted_at, provider_date)
   SELECT i.project_id, md5(i.id || e.about)::uuid, side.line, i.id, e.kind, e.about, CASE side.line WHEN 1 THEN e.account ELSE e.other END, e.currency,
     e.amount * side.sign, i.created_at + e.days * interval '1 day', CASE WHEN n = 8 THEN timestamptz '2026-06-02T00:30:00Z' END
   FROM ramp.intents i JOIN ramp.transactions t ON t.intent_id = i.id
   CROSS JOIN LATERAL (SELECT split_part(t.provider_reference, '-', 2)::int AS n) numbered
   CROSS JOIN LATERAL (VALUES ('order', 'order', 'customer', 'exchange', 'USD', i.src_amount, 0, true),
     ('receipt', 'payment', 'provider', 'customer', 'USD', i.src_amount, 0, n % 10 <> 0),
     ('delivery', 'delivery', 'provider', 'exchange', 'USDC_POLYGON', 1 - i.src_amount, 0, n % 10 <> 0),
     ('fee', 'fee', 'provider', 'fees', 'USD', -1, 0, n % 10 <> 0),
     ('refund', 'refund a', 'provider', 'returned', 'USD', -2, 2, n % 10 = 1),
     ('refund', 'refund b', 'provider', 'returned', 'USD', -3, 2, n % 10 = 1)) e (kind, about, account, other, currency, amount, days, is_posted)
   CROSS JOIN (VALUES (1, 1), (2, -1)) side (line, sign) WHERE e.is_posted`);
// As the server does by itself, which here looks for it once an hour: without, the report compares each row with each.
await world.rows("ANALYZE ramp.intents, ramp.transactions, ramp.postings");

it("the journal is balanced and append-only, for its owner too", async () => {
  const one = "(SELECT intent_id FROM ramp.postings LIMIT 1)";
  const insert = (amount: number) =>
    world.rows(
      `INSERT INTO ramp.postings (project_id, entry_id, line, intent_id, kind, about, account, currency, amount)
       VALUES ($1, gen_random_uuid(), 1, ${one}, 'fee', 'fee', 'fees', 'USD', ${String(amount)})`,
      [project.id],
    );
  await expect(insert(1)).rejects.toMatchObject({ code: "RW006" });
  for (const change of [
    "UPDATE ramp.postings SET amount = amount",
    "DELETE FROM ramp.postings",
    "TRUNCATE ramp.postings",
  ])
    await expect(world.rows(change), change).rejects.toMatchObject({ code: "RW005" });
  for (const change of [
    "DELETE FROM ramp.postings",
    `INSERT INTO ramp.postings (entry_id, line, intent_id, kind, about, account, currency, amount, posted_at)
     VALUES (gen_random_uuid(), 1, ${one}, 'fee', 'fee', 'fees', 'USD', 1, '2026-06-01')`,
    "UPDATE ramp.refund_requests SET amount = 1",
  ]) {
    const asProject = world.database.inProject(project.id, (tx) => tx.rows(change));
    await expect(asProject, change).rejects.toMatchObject({ code: "42501" });
  }
});

it("a report sums what was ordered, received, charged and refunded", async () => {
  const rows = (await json("report", "--project", project.id)) as unknown as Record<
    string,
    string | number
  >[];
  const usd = rows.filter(({ currency }) => currency === "USD");
  expect(usd.map(({ day, closed, livemode, orders }) => [day, closed, livemode, orders])).toEqual([
    ["2026-06-01", true, true, HALF],
    ["2026-06-02", true, true, HALF],
    ["2026-06-04", true, true, 0],
  ]);
  const [expected] = await world.rows(
    `SELECT sum(src_amount)::text AS ordered, sum(src_amount) FILTER (WHERE status = 'COMPLETED')::text AS paid FROM ramp.intents`,
  );
  const sum = (name: string, currency = "USD"): number =>
    rows.filter((row) => row["currency"] === currency).reduce((total, row) => total + Number(row[name]), 0);
  expect([sum("ordered"), sum("received")]).toEqual([
    Number(expected?.["ordered"]),
    Number(expected?.["paid"]),
  ]);
  expect([sum("payments"), sum("fees"), sum("refunded"), sum("underAttention")]).toEqual([
    PAID,
    PAID,
    5 * TENTH,
    0,
  ]);
  expect(sum("delivered", "USDC_POLYGON")).toBe(sum("received") - PAID);
  // A refund counts on its own day.
  expect(usd.map(({ refunded }) => Number(refunded))).toEqual([0, 0, 5 * TENTH]);
  const csv = await routewright("report", "--format", "csv", "--from", "2026-06-04");
  expect(csv.out.split("\n")).toHaveLength(3);
  expect(csv.out).toMatch(/^day,closed,projectId,provider,/);
  const balances = (await json("balances", "--project", project.id)) as unknown as Record<string, string>[];
  expect(balances).toContainEqual(
    expect.objectContaining({ account: "returned", amount: String(5 * TENTH), intents: TENTH }),
  );
});

it("a reconciliation finds 20 seeded differences in thousands of intents, and nothing else", async () => {
  const rows =
    await world.rows(`SELECT t.id, t.provider_reference AS reference, t.status, i.src_amount::text AS src, CASE t.status WHEN 'SUCCESS' THEN (i.src_amount - 1)::text || '.000000' END AS received
     FROM ramp.transactions t JOIN ramp.intents i ON i.id = t.intent_id ORDER BY split_part(t.provider_reference, '-', 2)::int`);
  const header = "id,status,srcAmount,amountReceived,refunded";
  const lines = rows.map(({ id, reference, status, src, received }, at) => ({
    id: String(at % 2 === 0 ? id : reference),
    status: String(status),
    srcAmount: `${String(src)}.00`,
    amountReceived: String(received ?? ""),
    refunded: at % 10 === 0 ? "5.00" : "0",
  }));
  const same = [header, ...lines.map((line) => Object.values(line).join(","))].join("\n");
  const at = (index: number) => lines[index] ?? lines[0]!;
  // Each at a place where the transaction was paid: the numbers begin at 1, tens failed.
  for (let n = 0; n < 4; n++) at(n * 100 + 1).amountReceived = "1.00";
  for (let n = 0; n < 4; n++) at(n * 100 + 2).srcAmount = "7777.00";
  for (let n = 0; n < 3; n++) at(n * 100 + 3).status = "FAILED";
  for (let n = 0; n < 3; n++) at(n * 100 + 10).refunded = "0.01";
  const missing = new Set([4, 104, 204].map((index) => at(index)));
  const sent = [
    ...lines.filter((line) => !missing.has(line)),
    at(5),
    { ...at(6), id: "nobody-1" },
    { ...at(6), id: "nobody-2" },
  ];
  const statement = join(ownFolder(), "june.csv");
  const text = sent.map((line) =>
    [`"${line.id}"`, line.status, line.srcAmount, line.amountReceived, line.refunded].join(","),
  );
  writeFileSync(statement, [header, ...text].join("\r\n"));
  const command = [
    "reconcile",
    "--project",
    project.id,
    "--provider",
    "sandbox-south",
    "--statement",
    statement,
  ];
  const found = await routewright(...command, "--json");
  expect(found.exit, found.error).toBe(1);
  const differences = JSON.parse(found.out) as { difference: string }[];
  const counts: Record<string, number> = {};
  for (const { difference } of differences) counts[difference] = (counts[difference] ?? 0) + 1;
  expect(counts).toEqual({
    amountReceived: 4,
    srcAmount: 4,
    status: 3,
    refunded: 3,
    "missing in statement": 3,
    "missing in ramp": 2,
    "twice in statement": 1,
  });
  expect(differences).toHaveLength(20);

  writeFileSync(statement, same);
  expect(await routewright(...command)).toMatchObject({ exit: 0 });

  // Other forms of the same: the provider's own columns, the first cell empty, letter case, a currency, no status.
  const paid = rows
    .filter((row) => row["status"] === "SUCCESS")
    .map(({ id, src, received }) => [
      "",
      String(id).toUpperCase(),
      String(src),
      String(received),
      "usd",
      "1.00",
    ]);
  const compare = async (listed: readonly (readonly string[])[], ...more: string[]) => {
    const head = "Note,ID,SrcAmount,AMOUNTRECEIVED,Currency,totalFee";
    writeFileSync(statement, [head, ...listed.map((cells) => cells.join(","))].join("\n"));
    const { exit, out, error } = await routewright(...command, "--json", ...more);
    expect(exit, error).toBeLessThan(2);
    return JSON.parse(out) as { id: string; difference: string; ramp: string; statement: string }[];
  };
  expect(await compare(paid)).toEqual([]);
  const cells: readonly [column: number, cell: string, difference: string][] = [
    [3, "", "amountReceived"],
    [3, "0", "amountReceived"],
    [3, "-1", "amountReceived"],
    [3, "n/a", "amountReceived"],
    [2, "", "srcAmount"],
    [2, "1e2", "srcAmount"],
    [4, "EUR", "currency"],
    [5, "2.00", "totalFee"],
    [5, "", "totalFee"],
  ];
  const wrong = paid.map((line, n) => {
    const [column, cell] = cells[n] ?? [0, ""];
    return line.with(column, cell);
  });
  const failedId = String(rows.find((row) => row["status"] === "FAILED")?.["id"]);
  const [first = []] = paid;
  const others = await compare([
    ...wrong.slice(0, -1),
    first.with(1, ""),
    first.with(1, "ref-1"),
    first.with(1, failedId),
  ]);
  expect(others.slice(0, cells.length)).toMatchObject(
    cells.map(([, statementCell, difference], n) => ({
      id: paid[n]?.[1]?.toLowerCase(),
      difference,
      statement: statementCell,
    })),
  );
  expect(others.slice(cells.length).map(({ id, difference, ramp }) => [id, difference, ramp])).toEqual([
    ["", "missing in ramp", null],
    ["ref-1", "twice in statement", null],
    [failedId, "status", "FAILED"],
    [failedId, "srcAmount", expect.any(String)],
    [failedId, "amountReceived", ""],
    [failedId, "totalFee", ""],
    [paid.at(-1)?.[1]?.toLowerCase(), "missing in statement", "SUCCESS"],
  ]);

  // By the provider's day; orders of other days may be listed.
  const from = ["--from", "2026-06-02", "--until", "2026-06-03"];
  expect(await compare(paid, ...from)).toEqual([]);
  const days = rows.flatMap(({ id, reference, status }) =>
    status === "SUCCESS" ? [[String(id), Number(String(reference).slice(4))] as const] : [],
  );
  const second = paid.filter((_, n) => (days[n]?.[1] ?? 0) % 2 === 1);
  expect(await compare(second, ...from)).toEqual([
    {
      ok: false,
      id: days.find(([, n]) => n === 8)?.[0],
      difference: "missing in statement",
      ramp: "SUCCESS",
      statement: null,
    },
  ]);

  // Live and sandbox orders are on statements of their own.
  await world.rows(
    "UPDATE ramp.intents i SET sandbox = true FROM ramp.transactions t WHERE t.intent_id = i.id AND t.id = $1",
    [first[1]],
  );
  expect(await compare(paid.slice(1))).toEqual([]);
  expect(await compare(paid)).toMatchObject([{ id: first[1]?.toLowerCase(), difference: "livemode" }]);

  writeFileSync(statement, "reference,amount\nx,1\n");
  expect(await routewright(...command)).toMatchObject({
    exit: 2,
    error: expect.stringContaining("column `id`"),
  });
});

it("a customer's personal data is erased; its intents keep their amounts", async () => {
  await world.sandbox.set({ settleMs: 50 });
  const own = await world.project();
  const auth = await newCustomer(world, own, "Grace Hopper");
  const body = onramp({ metadata: { name: "Grace Hopper" } });
  const { json: created } = await world.call("POST", "/v1/intent", { auth, key: "once", body });
  const [customer] = (await world.call("GET", "/v1/customers", { auth: own.basic })).json;
  const path = `/v1/customers/${String(customer.id)}`;
  const early = await world.call("DELETE", path, { auth: own.basic });
  expect([early.status, early.json.error]).toEqual([409, "CUSTOMER_HAS_OPEN_INTENTS"]);
  const read = () => world.call("GET", `/v1/intents/${String(created.intent.id)}`, { auth: own.basic });
  await world.call("POST", `/v1/intent/${String(created.intent.id)}/transaction`, { auth });
  await eventually(read, (reply) => reply.json.intent.status === "COMPLETED");
  expect((await world.call("DELETE", path, { auth: own.basic })).status).toBe(204);
  // What the next look-up answers is not recorded again.
  const idle = "SELECT next_poll_at > now() AND lease_owner IS NULL FROM ramp.intents WHERE id = $1";
  await untilTrue(() => world.holds(idle, [created.intent.id]));
  expect(
    await world.rows(
      `SELECT (SELECT count(*)::int FROM ramp.provider_answers a WHERE a.intent_id = t.intent_id) AS answers, instructions
       FROM ramp.transactions t WHERE intent_id = $1`,
      [created.intent.id],
    ),
  ).toEqual([{ answers: 0, instructions: [] }]);
  const { json: kept } = await read();
  expect(kept.intent).toMatchObject({ status: "COMPLETED", srcAmount: "100.00", src: { details: {} } });
  expect(kept.intent).not.toHaveProperty("metadata");
  for (const { table_name: table } of await world.rows(
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'ramp'",
  )) {
    const found = await world.rows(
      `SELECT 1 FROM ramp.${String(table)} r WHERE r::text LIKE '%Grace%' OR r::text LIKE '%0x529084%'`,
    );
    expect([table, found.length]).toEqual([table, 0]);
  }
  expect(
    (await world.call("DELETE", `/v1/customers/${crypto.randomUUID()}`, { auth: own.basic })).status,
  ).toBe(404);
});
