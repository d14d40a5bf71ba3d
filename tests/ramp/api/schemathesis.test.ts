import pino from "pino";
import { expect, describe, it } from "vitest";
import { runSchemathesis, type ExpectedFinding } from "../../support/schemathesis.js";
import { needs } from "../../support/needs.js";
import { newCustomer, ownWorld } from "../support/world.js";

/** What a valid request can be refused for: the document says how a value is written, not which values there are. */
const EXPECTED: readonly ExpectedFinding[] = [
  [
    /^ST202 [^]*"path":"\/starting_after","message":"names no item of this list"/,
    "It is the id of an item of the list.",
  ],
  [
    /^ST202 [^]*"path":"\/(destAmount|srcAmount)","message":"is (given beside|required)/,
    "Exactly one of two: OpenAPI cannot state this of query parameters. The summary does.",
  ],
  [
    /^ST202 [^]*"path":"\/(starting_after|order)","message":"is not for changes/,
    "The same of `updatedSince`, whose description says so.",
  ],
  [
    /^ST202 [^]*"error":"(UNKNOWN_CURRENCY|UNSUPPORTED_PATH|AMOUNT_TOO_SMALL|AMOUNT_TOO_LARGE|PROVIDER_NOT_AVAILABLE|INVALID_ACCOUNT_DETAILS|INVALID_AMOUNT)"/,
    "Currencies, providers, amounts and account details are those of the project's providers.",
  ],
  [
    /^ST202 [^]*"error":"(INTENT_CLOSED|TRANSACTION_EXISTS|COMPLIANCE_NOT_COMPLETE|NOT_REFUNDABLE)"/,
    "The state of the intent decides.",
  ],
  [
    /^ST202 [^]*"error":"IDEMPOTENCY_KEY_REUSED"/,
    "The example of the key is used for requests that differ: 422, as specified.",
  ],
  [
    /^ST202 [^]*"error":"(INVALID_WALLET_SIGNATURE|INVALID_SUBJECT_TOKEN|INVALID_SIGNATURE)"/,
    "Nobody has signed these.",
  ],
  [
    /^ST202 [^]*"path":"\/(url|onboardingRedirectUrl|checkoutRedirectUrl)","message":"[^"]*http/,
    "OpenAPI has no format for addresses of http and https alone: the description says so.",
  ],
];

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}
interface Operation {
  readonly operationId: string;
  readonly security: readonly object[];
}

describe.skipIf(!needs("schemathesis"))("the ramp's API", async () => {
  const unlimited = 10_000_000;
  const errors: string[] = [];
  const world = await ownWorld({
    log: pino({ level: "error" }, { write: (line) => errors.push(line) }),
    limits: {
      perProject: unlimited,
      perCustomer: unlimited,
      perAddress: unlimited,
      failedLoginsPerAddress: unlimited,
      documentsPerAddress: unlimited,
    },
  });
  const project = await world.project({ providers: ["sandbox-south"] });

  /** Operations that take no such credentials; tests/ramp/api/api.test.ts has how they refuse them. */
  const refusing = async (scheme: string): Promise<readonly string[]> => {
    const { paths } = (await (await fetch(`${world.url}/openapi.json`)).json()) as Document;
    return Object.values(paths)
      .flatMap((path) => Object.values(path))
      .flatMap(({ operationId, security }) => {
        const takesAny = security.length === 0 && scheme === "project";
        return takesAny || security.some((each) => scheme in each) ? [] : [operationId];
      });
  };

  it.each([
    ["a project's credentials", "project", () => Promise.resolve(project.basic)],
    ["a customer's token", "customer", () => newCustomer(world, project)],
  ])(
    "is as its OpenAPI document says, tried by all checks of schemathesis with %s",
    { timeout: 600_000 },
    async (_, scheme, credentials) => {
      const header = `Authorization: ${await credentials()}`;
      const unexpected = await runSchemathesis(world.url, header, EXPECTED, await refusing(scheme));
      expect(unexpected, errors.join("")).toEqual([]);
    },
  );
});
