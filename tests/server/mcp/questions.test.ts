import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { inPay } from "../../metrics/pay-tables.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { manifestText } from "../../starter/starter-manifest.js";

/** A question in words that a catalogue need not have, and the endpoints that answer it: none where nothing does. */
interface Question {
  readonly question: string;
  /** The project that is asked. */
  readonly of: string;
  readonly answers: readonly string[];
  /** Not looked at while the search was made. */
  readonly held?: boolean;
}

const read = (file: string | URL): readonly Question[] =>
  JSON.parse(readFileSync(file, "utf8")) as readonly Question[];

/** The paths that `search_endpoints` finds, best first. */
async function foundBy(url: string, query: string): Promise<readonly string[]> {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "X-API-Key": KEYS.tier3,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "search_endpoints", arguments: { query } },
    }),
  });
  const { result } = (await response.json()) as {
    readonly result: {
      readonly structuredContent: { readonly endpoints: readonly { readonly path: string }[] };
    };
  };
  return result.structuredContent.endpoints.map(({ path }) => path);
}

/** Shares of questions, in percent. */
interface Figures {
  /** Of those with an answer: it is found first. */
  readonly first: number;
  /** It is among the first three. */
  readonly amongThree: number;
  /** Of those without: nothing is found. */
  readonly none: number;
}

const urls = new Map([
  ["starter", await serveManifest(JSON.parse(manifestText))],
  ["pay", await serveManifest(JSON.parse(inPay("manifest.json")))],
]);

async function figuresOf(questions: readonly Question[]): Promise<Figures> {
  const asked = await Promise.all(
    questions.map(async ({ question, of, answers }) => ({
      answers,
      found: await foundBy(urls.get(of) ?? "", question),
    })),
  );
  const share = (all: typeof asked, isRight: (each: (typeof asked)[number]) => boolean): number =>
    (100 * all.filter(isRight).length) / all.length;
  const some = asked.filter(({ answers }) => answers.length > 0);
  const within = (rank: number): number =>
    share(some, ({ answers, found }) => found.slice(0, rank).some((path) => answers.includes(path)));
  const others = asked.filter(({ answers }) => answers.length === 0);
  return { first: within(1), amongThree: within(3), none: share(others, ({ found }) => found.length === 0) };
}

const isHeld = ({ held = false }: Question): boolean => held;
const atLeast = (bars: Figures): Record<keyof Figures, unknown> => ({
  first: expect.toSatisfy((share: number) => share >= bars.first) as unknown,
  amongThree: expect.toSatisfy((share: number) => share >= bars.amongThree) as unknown,
  none: expect.toSatisfy((share: number) => share >= bars.none) as unknown,
});

describe("a search finds the endpoint that answers a question, and none where none does", () => {
  const questions = read(new URL("questions.json", import.meta.url));

  it("for questions in other words", async () => {
    const figures = await figuresOf(questions.filter((each) => !isHeld(each)));
    expect(figures).toEqual(atLeast({ first: 90, amongThree: 98, none: 95 }));
  });

  it("for questions that nobody looked at when the search was made", async () => {
    const figures = await figuresOf(questions.filter(isHeld));
    expect(figures).toEqual(atLeast({ first: 60, amongThree: 75, none: 95 }));
  });
});

const { QUESTIONS, QUESTIONS_MANIFEST } = process.env;
const isAsked = QUESTIONS !== undefined && QUESTIONS_MANIFEST !== undefined;
if (!isAsked)
  console.warn(
    "SKIPPED: questions about a catalogue of your own: set QUESTIONS (as questions.json, of `own`) and QUESTIONS_MANIFEST.",
  );

it.skipIf(!isAsked)("a catalogue of one's own is searched as well", async () => {
  // No row is read, so that it need not be the engine of the manifest.
  const manifest = readFileSync(QUESTIONS_MANIFEST ?? "", "utf8").replace(
    /"adapter_type": ?"\w+"/,
    '"adapter_type": "postgres"',
  );
  urls.set("own", await serveManifest(JSON.parse(manifest)));
  const questions = read(QUESTIONS ?? "");
  const [seen, held] = [questions.filter((each) => !isHeld(each)), questions.filter(isHeld)];
  const figures = { seen: await figuresOf(seen), held: await figuresOf(held) };
  console.warn(JSON.stringify(figures));
  expect(figures.seen).toEqual(atLeast({ first: 90, amongThree: 98, none: 95 }));
});
