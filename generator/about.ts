import { readFileSync } from "node:fs";
import { extname } from "node:path";
import {
  type ApiAbout,
  faintContrast,
  allowsPath,
  type Outcome,
  type Plans,
  type SignUp,
  unlessFailed,
} from "@routewright/runtime/model";
import type { Catalogue } from "./catalogue/catalogue.js";
import type { Config } from "./config-schema.js";

/** Media types of a logo. */
const PICTURES: Readonly<Record<string, string>> = {
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webp": "image/webp",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
};

/** The logo is part of `openapi.json` and of every page. */
const MAX_LOGO_BYTES = 32_768;

/** What the config file says of the API and its operator. */
export function aboutOf({
  description,
  contact,
  termsOfService,
  logo,
  accent,
  headline,
  signUp,
  plans,
}: Config): Outcome<ApiAbout | undefined> {
  const texts = Object.entries({ description, contact, termsOfService, accent });
  const numbers = headline !== undefined && headline.length > 0 && { headline };
  const about = Object.fromEntries(texts.filter(([, value]) => value !== undefined)) as ApiAbout;
  const picture = logo === undefined ? null : pictureOf(logo);
  const problems = [
    ...(picture?.problems ?? []),
    ...accentProblems(accent),
    ...signUpProblems(signUp, plans),
  ];
  const whole = {
    ...about,
    ...(picture && { logo: picture.address }),
    ...numbers,
    ...(signUp && { signUp }),
  };
  return unlessFailed(problems, Object.keys(whole).length === 0 ? undefined : whole);
}

function signUpProblems(signUp: SignUp | undefined, plans: Plans = {}): readonly string[] {
  if (signUp === undefined) return [];
  const { plan, who, mailDomains } = signUp;
  return [
    ...(Object.hasOwn(plans, plan)
      ? []
      : [`\`signUp.plan\`: \`plans\` has no ${JSON.stringify(plan)}. Write it there, or name another.`]),
    ...((who === "mailDomains") === (mailDomains !== undefined)
      ? []
      : ['`signUp.mailDomains` and `"who": "mailDomains"` need each other: write both, or neither.']),
  ];
}

function accentProblems(accent: string | undefined): readonly string[] {
  const contrast = accent === undefined ? null : faintContrast(accent);
  if (contrast === null) return [];
  return [
    `\`accent\`: ${String(accent)} on the ground of the pages has a contrast of ${contrast.toFixed(1)}, below 4.5: links could not be read. Choose a darker colour; the dark theme gets a lighter one by itself.`,
  ];
}

/** Why the numbers of the first page cannot be shown: everybody sees them. */
export function headlineProblems(
  { headline = [] }: ApiAbout,
  { entries }: Pick<Catalogue, "entries">,
): readonly string[] {
  return headline.flatMap(({ path, column }) => {
    const entry = entries.find((each) => each.path === path);
    if (entry === undefined) return [`\`headline\`: no endpoint has the path ${path}.`];
    const { tier, rows, allowUnfiltered, columns } = entry;
    if (tier !== "tier0" || rows !== undefined || !allowUnfiltered)
      return [
        `\`headline\`: ${path} does not answer everybody. Name an endpoint of tier0 without required filters.`,
      ];
    const isThere = columns.length === 0 || columns.some(({ name }) => name === column);
    return isThere ? [] : [`\`headline\`: ${path} has no column ${column}.`];
  });
}

/** Names of plans that no endpoint has: a plan that opens nothing of what it says. */
export function planProblems(plans: Plans, { entries }: Pick<Catalogue, "entries">): readonly string[] {
  return Object.entries(plans).flatMap(([plan, { allowed = [] }]) =>
    allowed
      .filter((name) => name !== "system" && !entries.some(({ path }) => allowsPath([name], path)))
      .map((name) => `\`plans.${plan}.allowed\`: no endpoint has the category or path ${name}.`),
  );
}

/** A picture file as a `data:` address. */
function pictureOf(file: string): { readonly address: string; readonly problems: readonly string[] } {
  const failed = (problem: string) => ({ address: "", problems: [`\`logo\`: ${file} ${problem}`] });
  const type = PICTURES[extname(file).toLowerCase()];
  if (type === undefined)
    return failed(`is no picture of a known type. Name a file ${Object.keys(PICTURES).join(", ")}.`);
  let content: Buffer;
  try {
    content = readFileSync(file);
  } catch {
    return failed("cannot be read. Name a file relative to the config file.");
  }
  if (content.length > MAX_LOGO_BYTES)
    return failed(`has ${String(content.length)} bytes: at most ${String(MAX_LOGO_BYTES)} are allowed.`);
  return { address: `data:${type};base64,${content.toString("base64")}`, problems: [] };
}
