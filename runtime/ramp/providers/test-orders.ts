import Big from "big.js";
import type { Movement, Pair } from "./protocol.js";
import { TRAVEL_RULE, travelRuleOf } from "./travel-rule.js";

/** What `ramp provider test` orders, and what its customers fill in. */

const CHECKED = { fullName: "Test Customer", dateOfBirth: "1990-01-01", decision: "approve" };
const NAMED = travelRuleOf(
  {
    ...{ originatorFirstName: "Test", originatorLastName: "Customer", originatorAddress: "1 Test Street" },
    ...{ originatorTown: "Testing", originatorCountry: "GB" },
    ...{ beneficiaryFirstName: "Test", beneficiaryLastName: "Receiver" },
  },
  { src: null, dest: null },
);

/** The fields of a check. */
export function fieldsFor(code: string): Readonly<Record<string, unknown>> {
  return code === TRAVEL_RULE ? NAMED : CHECKED;
}

/** An amount within the pair's limits of which fees leave something. */
export function amountOf({ minSrcAmount, maxSrcAmount }: Pair): string {
  const usual = new Big(minSrcAmount).gt(100) ? new Big(minSrcAmount) : new Big(100);
  return (usual.gt(maxSrcAmount) ? new Big(maxSrcAmount) : usual).toFixed(2);
}

/** A movement of the pair, with example values for the fields of the rail. */
export function movementOf(pair: Pair, fields: Readonly<Record<string, unknown>>): Movement {
  const isOnramp = !pair.srcCurrencyCode.includes("_");
  const bank = { countryCode: pair.countries[0] ?? "", rail: pair.rail, ...exampleFields(fields) };
  const wallet = { address: "0x52908400098527886E0F7030069857D2E4169EE7" };
  return {
    type: isOnramp ? "ONRAMP" : "OFFRAMP",
    src: { currencyCode: pair.srcCurrencyCode, details: isOnramp ? bank : wallet },
    dest: { currencyCode: pair.destCurrencyCode, details: isOnramp ? wallet : bank },
    srcAmount: amountOf(pair),
    rail: pair.rail,
  };
}

function exampleFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, schema]) => {
      const { examples } = schema as { readonly examples?: readonly unknown[] };
      return examples?.[0] === undefined ? [] : [[name, examples[0]]];
    }),
  );
}
