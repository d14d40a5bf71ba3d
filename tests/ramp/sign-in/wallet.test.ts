import jwt from "jsonwebtoken";
import { getAddress, getContractAddress, type Hex, serializeErc6492Signature } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { createSiweMessage } from "viem/siwe";
import { afterAll, describe, expect, it } from "vitest";
import { updateProject } from "../../../runtime/ramp/operator/projects.js";
import { startProcess } from "../support/processes.js";
import {
  expectRefused,
  made,
  onramp,
  ownWorld,
  reached,
  type Reply,
  type TestProject,
} from "../support/world.js";

const world = await ownWorld();
const DOMAIN = "app.example.com";
const project = await world.project({ walletDomains: [DOMAIN, "localhost:3000"] });
const account = privateKeyToAccount(generatePrivateKey());

interface SignIn {
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly signer?: typeof account;
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A sign-in with a nonce of its own unless the fields name one. */
async function signIn({ fields = {}, signer = account, more = {} }: SignIn = {}): Promise<Reply> {
  const nonce = await world.call("GET", "/v1/auth/wallet/nonce");
  expect(nonce.headers.get("content-type")).toMatch(/^text\/plain/);
  const message = createSiweMessage({
    address: account.address,
    chainId: 100,
    domain: DOMAIN,
    nonce: nonce.text,
    uri: `https://${DOMAIN}/sign-in`,
    version: "1",
    ...fields,
  });
  return challenge(message, await signer.signMessage({ message }), more);
}

const challenge = (message: string, signature: string, more: object = {}): Promise<Reply> =>
  world.call("POST", "/v1/auth/wallet/challenge", { body: { message, signature, ...more } });

const exchange = (token: unknown, id: string, within: TestProject = project): Promise<Reply> =>
  world.call("POST", "/v1/customers", { auth: within.basic, body: { id, subject_token: token } });

const claimsOf = (reply: Reply): jwt.JwtPayload => jwt.decode(String(reply.json.token)) as jwt.JwtPayload;
const inMinutes = (minutes: number): Date => new Date(Date.now() + minutes * 60_000);

describe("a wallet sign-in", () => {
  it("is accepted as a subject token by a project that registered the domain, and by no other", async () => {
    const { status, json, text } = await signIn();
    expect(status, text).toBe(200);
    const customer = await exchange(json.token, "wallet-customer");
    expect(customer.status, customer.text).toBe(201);
    const other = await world.project({ walletDomains: ["shop.example.com"] });
    const without = await world.project();
    const phished = await signIn({
      fields: { domain: "evil.example.com", uri: "https://evil.example.com/sign-in" },
    });
    const refused = [
      await exchange(json.token, "other", other),
      await exchange(json.token, "without", without),
      await exchange(phished.json.token, "phished"),
    ];
    expectRefused(refused, 401, "SUBJECT_TOKEN_REJECTED");
  });

  it("is refused once the project no longer names the domain", async () => {
    const own = await world.project({ walletDomains: [DOMAIN] });
    expect((await exchange((await signIn()).json.token, "before", own)).status).toBe(201);
    made(await updateProject(world, own.id, { walletDomains: ["new.example.com"] }));
    expect((await exchange((await signIn()).json.token, "after", own)).status).toBe(401);
  });

  it("with a domain that has a port names the port", async () => {
    const reply = await signIn({ fields: { domain: "localhost:3000", uri: "http://localhost:3000/" } });
    expect(reply.status, reply.text).toBe(200);
    expect(claimsOf(reply).aud).toBe("localhost:3000");
  });

  it("is one identity on every chain", async () => {
    const first = await signIn({ fields: { chainId: 1 } });
    const second = await signIn({ fields: { chainId: 8453 } });
    expect(claimsOf(first).sub).toBe(claimsOf(second).sub);
    const own = await world.project({ walletDomains: [DOMAIN] });
    expect((await exchange(first.json.token, "one", own)).status).toBe(201);
    expect((await exchange(second.json.token, "one", own)).status).toBe(201);
    expect((await exchange(second.json.token, "two", own)).json.error).toBe("IDENTITY_CONFLICT");
  });

  it("uses each nonce once, and only nonces of this service", async () => {
    const nonce = (await world.call("GET", "/v1/auth/wallet/nonce")).text;
    expect((await signIn({ fields: { nonce } })).status).toBe(200);
    for (const used of [nonce, "0123456789abcdef"]) {
      const reply = await signIn({ fields: { nonce: used } });
      expect(reply.json).toMatchObject({
        error: "INVALID_WALLET_SIGNATURE",
        message: expect.stringMatching(/nonce/),
      });
    }
  });

  /** Each when it is used: the times are minutes from then. */
  const refusals: readonly (readonly [string, () => SignIn, RegExp])[] = [
    [
      "another key signed it",
      () => ({ signer: privateKeyToAccount(generatePrivateKey()) }),
      /not signed by the key/,
    ],
    ["it was issued over 10 minutes ago", () => ({ fields: { issuedAt: inMinutes(-11) } }), /Issued At/],
    ["it is issued in over 10 minutes", () => ({ fields: { issuedAt: inMinutes(11) } }), /Issued At/],
    ["it has expired", () => ({ fields: { expirationTime: inMinutes(-1) } }), /expired/],
    ["it is not valid yet", () => ({ fields: { notBefore: inMinutes(1) } }), /not valid yet/],
    ["its URI is of another host", () => ({ fields: { uri: "https://evil.example.com/" } }), /URI/],
  ];
  it.each(refusals)("is refused when %s", async (_name, given, message) => {
    const { status, json } = await signIn(given());
    expect([status, json.error]).toEqual([400, "INVALID_WALLET_SIGNATURE"]);
    expect(json.message).toMatch(message);
  });

  it("gives a token that lives as long as requested, and no longer than the message", async () => {
    const lifetime = (reply: Reply): number => (claimsOf(reply).exp ?? 0) - (claimsOf(reply).iat ?? 0);
    expect(lifetime(await signIn())).toBe(3_600);
    expect(lifetime(await signIn({ more: { ttlInSeconds: 60 } }))).toBe(60);
    const expirationTime = inMinutes(5);
    const bounded = await signIn({ fields: { expirationTime }, more: { ttlInSeconds: 86_400 } });
    expect(claimsOf(bounded).exp).toBe(Math.floor(expirationTime.getTime() / 1000));
    for (const ttlInSeconds of [59, 86_401])
      expect((await signIn({ more: { ttlInSeconds } })).json.error).toBe("INVALID_REQUEST");
  });

  it("whose identity a provider has checked carries that to a new customer", async () => {
    const checked = await world.project({ providers: ["sandbox-north"], walletDomains: [DOMAIN] });
    const body = onramp({
      srcAmount: "500.00",
      src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } },
    });
    const create = async (id: string, within: TestProject, chainId: number): Promise<[Reply, string]> => {
      const { json } = await exchange((await signIn({ fields: { chainId } })).json.token, id, within);
      const auth = `Bearer ${String(json.accessToken)}`;
      return [await world.call("POST", "/v1/intent", { auth, body }), auth];
    };
    await world.sandbox.set({ onboarding: "approve" });
    const [first, auth] = await create("checked", checked, 1);
    // Its check, which can be completed by now.
    expect(first.json.intent.requirements, first.text).toHaveLength(1);
    await reached(world, `/v1/intent/${String(first.json.intent.id)}`, { auth }, "PENDING_PAYMENT");
    await world.sandbox.set({ onboarding: "wait" });
    const other = await world.project({ providers: ["sandbox-north"], walletDomains: [DOMAIN] });
    const [second] = await create("elsewhere", other, 137);
    expect(second.json).toMatchObject({ intent: { status: "PENDING_PAYMENT" }, onboardingUrl: null });
  });
});

describe("a contract wallet", async () => {
  const node = await startProcess("./ethereum-node-process.ts", { CHAIN_ID: "137" });
  afterAll(() => node.kill());
  const deployed = await fetch(`${node.said}/wallets`, { method: "POST", body: account.address });
  const address = getAddress(await deployed.text());
  const withNode = async (): Promise<TestProject> => {
    const own = await world.project({ walletDomains: [DOMAIN] });
    made(await updateProject(world, own.id, { walletRpc: [`137=${node.said}`] }));
    return own;
  };
  const contractSignIn = (clientId?: string, more: SignIn = {}): Promise<Reply> =>
    signIn({
      ...more,
      fields: { address, chainId: 137, ...more.fields },
      more: clientId ? { clientId } : {},
    });

  it("signs in when the contract accepts the signature; the token is for this project alone", async () => {
    const own = await withNode();
    const reply = await contractSignIn(own.clientId);
    expect(reply.status, reply.text).toBe(200);
    expect(claimsOf(reply).sub).toBe(`eip155:137:${address.toLowerCase()}`);
    expect((await exchange(reply.json.token, "contract", project)).json.error).toBe("SUBJECT_TOKEN_REJECTED");
    const customer = await exchange(reply.json.token, "contract", own);
    expect(customer.status, customer.text).toBe(201);
  });

  it("is refused when the contract does not accept the signature, or there is no contract", async () => {
    const { clientId } = await withNode();
    const replies = [
      await contractSignIn(clientId, { signer: privateKeyToAccount(generatePrivateKey()) }),
      await contractSignIn(clientId, { fields: { address: getAddress(`0x${"ab".repeat(20)}`) } }),
    ];
    for (const { status, json } of replies)
      expect([status, json.error]).toEqual([400, "INVALID_WALLET_SIGNATURE"]);
  });

  describe("that is not deployed yet", async () => {
    const fromNode = async (path: string, owner = account.address): Promise<Hex> =>
      (await (await fetch(`${node.said}${path}`, { method: "POST", body: owner })).text()) as Hex;
    const [factory, initCode] = [await fromNode("/factories"), await fromNode("/init-code")];
    const salt: Hex = `0x${"00".repeat(32)}`;
    const planned = getContractAddress({ opcode: "CREATE2", from: factory, salt, bytecode: initCode });

    /** Signs in as the wallet of this address, with a signature that says how it is deployed. */
    async function plannedSignIn(
      address: Hex,
      deployment: { readonly address?: Hex; readonly data?: Hex } = {},
      signer = account,
    ): Promise<Reply> {
      const own = await withNode();
      const nonce = (await world.call("GET", "/v1/auth/wallet/nonce")).text;
      const message = createSiweMessage({
        ...{ address, chainId: 137, domain: DOMAIN, nonce, uri: `https://${DOMAIN}/`, version: "1" },
      });
      const signature = serializeErc6492Signature({
        ...{ address: factory, data: initCode, ...deployment },
        signature: await signer.signMessage({ message }),
      });
      return challenge(message, signature, { clientId: own.clientId });
    }

    it("signs in with a signature that says how it is deployed (ERC-6492), and stays undeployed", async () => {
      for (let time = 0; time < 2; time++) {
        const reply = await plannedSignIn(planned);
        expect(reply.status, reply.text).toBe(200);
        expect(claimsOf(reply).sub).toBe(`eip155:137:${planned.toLowerCase()}`);
      }
      const { clientId } = await withNode();
      const bare = await contractSignIn(clientId, { fields: { address: planned } });
      expect([bare.status, bare.json.error]).toEqual([400, "INVALID_WALLET_SIGNATURE"]);
    });

    it("may be deployed meanwhile", async () => {
      expect((await plannedSignIn(address)).status).toBe(200);
    });

    it("is refused with another key, another address, or a deployment that makes another wallet or fails", async () => {
      const otherOwner = privateKeyToAccount(generatePrivateKey());
      const replies = [
        await plannedSignIn(planned, {}, otherOwner),
        await plannedSignIn(getAddress(`0x${"cd".repeat(20)}`)),
        await plannedSignIn(planned, { data: await fromNode("/init-code", otherOwner.address) }),
        await plannedSignIn(planned, { data: "0xfe" }),
        await plannedSignIn(planned, { address: getAddress(`0x${"ef".repeat(20)}`) }),
      ];
      for (const { status, json } of replies)
        expect([status, json.error]).toEqual([400, "INVALID_WALLET_SIGNATURE"]);
    });
  });

  it("gets an error that names what is missing: the client id, a node for the chain, the domain", async () => {
    const own = await withNode();
    const replies = [
      [await contractSignIn(), /`clientId`/],
      [await contractSignIn(project.clientId), /no contract wallets of chain 137/],
      [await contractSignIn(own.clientId, { fields: { chainId: 1 } }), /no contract wallets of chain 1 /],
      [
        await contractSignIn(own.clientId, { fields: { domain: "a.example", uri: "https://a.example/" } }),
        /no contract wallets of chain 137 on this domain/,
      ],
    ] as const;
    for (const [{ status, json }, message] of replies) {
      expect([status, json.error]).toEqual([400, "INVALID_WALLET_SIGNATURE"]);
      expect(json.message).toMatch(message);
    }
  });

  it("gets 503 when the node does not answer", async () => {
    const own = await world.project({ walletDomains: [DOMAIN] });
    const gone = await startProcess("./ethereum-node-process.ts", { CHAIN_ID: "10" });
    made(await updateProject(world, own.id, { walletRpc: [`10=${gone.said}`] }));
    await gone.kill();
    const reply = await contractSignIn(own.clientId, { fields: { chainId: 10 } });
    expect([reply.status, reply.json.error]).toEqual([503, "SERVICE_UNAVAILABLE"]);
    expect(reply.headers.get("retry-after")).not.toBeNull();
    // The nonce is checked before the node is called.
    const nonce = "0123456789abcdef";
    const unknown = await contractSignIn(own.clientId, { fields: { chainId: 10, nonce } });
    expect([unknown.status, unknown.json.message]).toEqual([400, expect.stringMatching(/nonce/)]);
  });

  it("has its node checked at set-up: it must answer for the chain it is named for", async () => {
    const set = (walletRpc: readonly string[]) => updateProject(world, project.id, { walletRpc });
    expect(await set([`1=${node.said}`])).toMatchObject({
      ok: false,
      problems: [expect.stringMatching(/serves chain 137/)],
    });
    expect(await set(["1=http://127.0.0.1:1/"])).toMatchObject({
      ok: false,
      problems: [expect.stringMatching(/does not answer/)],
    });
    expect(await set(["1=ftp://x"])).toMatchObject({
      ok: false,
      problems: [expect.stringMatching(/<chain id>=<URL>/)],
    });
  });
});
