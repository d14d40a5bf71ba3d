/** What the sandbox says of a wrong request to its own paths: what is wrong, and what it takes. */
import { expect, it } from "vitest";
import { ownSandbox } from "../support/world.js";

const sandbox = await ownSandbox();

async function post(path: string, body: unknown): Promise<{ status: number; message: string }> {
  const response = await fetch(sandbox.url + path, { method: "POST", body: JSON.stringify(body) });
  const { message } = (await response.json()) as { message: string };
  return { status: response.status, message };
}

it("names an unknown switch, and lists those that there are", async () => {
  const { status, message } = await post("/switches", { settlesMs: 1 });
  expect(status).toBe(400);
  expect(message).toContain("/settlesMs is not a known field");
  expect(message).toContain("The switches are settleMs, slowMs, failNext,");
});

it("names the switch of an unknown value, and lists the values", async () => {
  const { status, message } = await post("/switches", { refunds: "never" });
  expect(status).toBe(400);
  expect(message).toContain("/refunds must be one of accept, refuse, settle, fail, stall, omit, rename");
});

it("says that a deposit account is unknown, by its id", async () => {
  const depositAccountId = "0f5a4d0e-6a52-4f43-9a35-9fd2b6f0a1c3";
  const { status, message } = await post("/deposits", { depositAccountId, srcAmount: "1.00" });
  expect(status).toBe(404);
  expect(message).toContain(`There is no deposit account ${depositAccountId} here.`);
});

it("names the field of a deposit that is wrong", async () => {
  const { status, message } = await post("/deposits", { depositAccountId: "mine", srcAmount: "1.00" });
  expect(status).toBe(400);
  expect(message).toContain("/depositAccountId ");
});
