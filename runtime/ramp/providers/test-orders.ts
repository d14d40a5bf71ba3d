import { Amount } from "../accounts/amount.js";
import type { CheckedCurrency } from "../accounts/currency.js";
import { providerViolations } from "../core/json-schema.js";
import type { Movement, Pair, RailDescription } from "./protocol.js";
import type { FilledForm } from "./form-values.js";
import { travelRuleOf } from "./travel-rule.js";

/** What `ramp provider test` orders, and the originator and beneficiary that it gives. */

/** Both have accents, which the standard's Latin letters may. */
const PARTIES = travelRuleOf(
  {
    ...{ originatorFirstName: "Test", originatorLastName: "Müller", originatorAddress: "1 Test Street" },
    ...{ originatorTown: "Testing", originatorCountry: "GB" },
    ...{ beneficiaryFirstName: "Test", beneficiaryLastName: "Receiver" },
  },
  { src: null, dest: null },
);

/** What meets the check `TRAVEL_RULE`. */
export const NAMED: FilledForm = { fields: PARTIES, missing: [] };

/**
 * An amount within the pair's limits of which fees leave something. Above the least where there is room: what a price gives costs a
 * little less than was asked about once it is rounded.
 */
export function amountOf({ minSrcAmount, maxSrcAmount }: Pair, { decimals }: CheckedCurrency): string {
  const least = Amount.of(minSrcAmount).percent("110");
  const [, usual = least] = Amount.sorted([least, "100"]);
  return usual.isMore(maxSrcAmount)
    ? Amount.of(maxSrcAmount).roundedDown(decimals).text(decimals)
    : usual.roundedUp(decimals).text(decimals);
}

/** A movement of the pair, with example values for the fields of the rail. */
export function movementOf(pair: Pair, src: CheckedCurrency, rail: RailDescription | undefined): Movement {
  const isOnramp = src.type === "FIAT";
  const bank = { countryCode: pair.countries[0] ?? "", rail: pair.rail, ...exampleFields(rail) };
  const wallet = { address: "0x52908400098527886E0F7030069857D2E4169EE7" };
  return {
    type: isOnramp ? "ONRAMP" : "OFFRAMP",
    src: { currencyCode: pair.srcCurrencyCode, details: isOnramp ? bank : wallet },
    dest: { currencyCode: pair.destCurrencyCode, details: isOnramp ? wallet : bank },
    srcAmount: amountOf(pair, src),
    rail: pair.rail,
  };
}

/** Values that fields of accounts take, where the rail gives no examples. */
const USUAL_VALUES = ["021000021", "DE89370400440532013000", "COBADEFFXXX", "test@example.com", "Test"];

/** The fields that an account needs and those with examples. */
function exampleFields(rail: RailDescription | undefined): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(rail?.properties ?? {}).flatMap(([name, schema]) => {
      const { examples, const: only, enum: some } = schema as FieldSchema;
      const usual = rail?.required.includes(name) === true ? [only, ...(some ?? []), ...USUAL_VALUES] : [];
      const value = [examples?.[0], ...usual].find(
        (known) => known !== undefined && providerViolations(schema, known).length === 0,
      );
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

interface FieldSchema {
  readonly examples?: readonly unknown[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
}
