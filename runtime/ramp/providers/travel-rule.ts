import countries from "i18n-iso-countries";
import {
  described,
  listOf,
  oneOf,
  record,
  textOf,
  type Schema,
  type ValueOf,
} from "@routewright/runtime/internal/core/model/schema.js";
import type { Violation } from "../core/json-schema.js";
import { LATIN_PATTERN } from "../core/pattern-words.js";

/**
 * Originator and beneficiary of a transfer, as IVMS101.2023 has them: its elements, their lengths, and its constraints C1 and C4 to C9. C2 and C3
 * are checked by `travelRuleProblems`. The ramp stores and passes them, no more (runtime/ramp/docs/travel-rule.md).
 */

/** The check that a provider lists where it needs them: its form is the ramp's. */
export const TRAVEL_RULE = "TRAVEL_RULE";

/** Latin letters, with their marks, and numbers: the standard asks for the script, not for ASCII. Other letters have the local name. */
const Latin = (maxLength: number) => textOf({ pattern: LATIN_PATTERN, maxLength });
const Local = (maxLength: number) => textOf({ minLength: 1, maxLength });
const Country = textOf({ pattern: "^[A-Z]{2}$", description: "ISO 3166-1 alpha-2, or XX." });
const MOST = { maxItems: 10 };

const NaturalName = oneOf(["ALIA", "BIRT", "MAID", "LEGL", "MISC"]);
const LegalName = oneOf(["LEGL", "SHRT", "TRAD"]);

/** C8: at least a line, or a street with a number or a name of the building. */
const Address = {
  ...record(
    { addressType: oneOf(["HOME", "BIZZ", "GEOG"]), townName: Latin(35), country: Country },
    {
      ...{
        department: Latin(50),
        subDepartment: Latin(70),
        streetName: Latin(70),
        buildingNumber: Latin(16),
      },
      ...{
        buildingName: Latin(35),
        floor: Latin(70),
        postBox: Latin(16),
        room: Latin(70),
        postcode: Latin(16),
      },
      ...{ townLocationName: Latin(35), districtName: Latin(35), countrySubDivision: Latin(35) },
      addressLine: listOf(Latin(70), { minItems: 1, maxItems: 7 }),
    },
  ),
  anyOf: [
    { required: ["addressLine"] },
    { required: ["streetName", "buildingNumber"] },
    { required: ["streetName", "buildingName"] },
  ],
};

const identification = (types: readonly string[], more: Readonly<Record<string, Schema>>) =>
  record({ nationalIdentifier: Latin(35), nationalIdentifierType: oneOf(types) }, more);

/** C7 and C9: of a legal person, with the authority unless it is an LEI. */
const LegalIdentification = {
  ...identification(["RAID", "MISC", "LEIX", "TXID"], {
    registrationAuthority: textOf({ pattern: "^RA[0-9]{6}$" }),
  }),
  if: { properties: { nationalIdentifierType: { const: "LEIX" } } },
  then: {
    properties: { nationalIdentifier: { pattern: "^[0-9A-Z]{18}[0-9]{2}$" }, registrationAuthority: false },
  },
  else: { required: ["registrationAuthority"] },
};

const NaturalPerson = record(
  {
    name: record(
      {
        // C6: one of them is the legal name.
        nameIdentifier: listOf(
          record(
            { primaryIdentifier: Latin(100), naturalPersonNameIdentifierType: NaturalName },
            { secondaryIdentifier: Latin(100) },
          ),
          {
            ...MOST,
            minItems: 1,
            contains: { properties: { naturalPersonNameIdentifierType: { const: "LEGL" } } },
          },
        ),
      },
      localNames(
        { primaryIdentifier: Local(100), nameIdentifierType: NaturalName },
        { secondaryIdentifier: Local(100) },
      ),
    ),
  },
  {
    geographicAddress: listOf(Address, { minItems: 1, ...MOST }),
    nationalIdentification: identification(
      ["ARNU", "CCPT", "RAID", "DRLC", "FIIN", "TXID", "SOCS", "IDCD", "LEIX", "MISC"],
      { countryOfIssue: Country, registrationAuthority: textOf({ pattern: "^RA[0-9]{6}$" }) },
    ),
    customerIdentification: Latin(50),
    dateAndPlaceOfBirth: record({
      dateOfBirth: textOf({ format: "date", description: "In the past." }),
      placeOfBirth: Latin(70),
    }),
    countryOfResidence: Country,
  },
);

const LegalPerson = record(
  {
    name: record(
      {
        // C5: one of them is the legal name.
        nameIdentifier: listOf(
          record({ legalPersonName: Latin(100), legalPersonNameIdentifierType: LegalName }),
          {
            ...MOST,
            minItems: 1,
            contains: { properties: { legalPersonNameIdentifierType: { const: "LEGL" } } },
          },
        ),
      },
      localNames({ legalPersonName: Local(100), legalPersonNameIdentifierType: LegalName }),
    ),
  },
  {
    geographicAddress: listOf(Address, { minItems: 1, ...MOST }),
    customerIdentification: Latin(50),
    nationalIdentification: LegalIdentification,
    countryOfRegistration: Country,
  },
);

function localNames(
  required: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
) {
  const names = listOf(record(required, optional), MOST);
  return { localNameIdentifier: names, phoneticNameIdentifier: names };
}

const AccountNumber = listOf(Latin(100), { minItems: 1, ...MOST });

/** A natural or a legal person. */
const Person = (more: Readonly<Record<string, Schema>>) => ({
  ...record({}, { naturalPerson: NaturalPerson, legalPerson: LegalPerson, accountNumber: AccountNumber }),
  oneOf: [{ required: ["naturalPerson"] }, { required: ["legalPerson"] }],
  ...more,
});

/** C1 and C4: what identifies the originator beside the name. */
const OriginatorPerson = Person({
  properties: {
    naturalPerson: {
      ...NaturalPerson,
      anyOf: [
        ...[
          "geographicAddress",
          "customerIdentification",
          "nationalIdentification",
          "dateAndPlaceOfBirth",
        ].map((name) => ({ required: [name] })),
      ],
    },
    legalPerson: {
      ...LegalPerson,
      anyOf: ["geographicAddress", "customerIdentification", "nationalIdentification"].map((name) => ({
        required: [name],
      })),
    },
    accountNumber: AccountNumber,
  },
});

export const TravelRule = described(
  "Originator and beneficiary as IVMS101.2023 has them: sealed, sent to the provider alone, never returned.",
  record(
    {
      originator: record(
        { originatorPerson: listOf(OriginatorPerson, { minItems: 1, ...MOST }) },
        { accountNumber: AccountNumber },
      ),
      beneficiary: record(
        { beneficiaryPerson: listOf(Person({}), { minItems: 1, ...MOST }) },
        { accountNumber: AccountNumber },
      ),
    },
    {
      payloadMetadata: record(
        { payloadVersion: oneOf(["101.2023"]) },
        {
          transliterationMethod: listOf(
            oneOf([
              "arab",
              "aran",
              "armn",
              "cyrl",
              "deva",
              "geor",
              "grek",
              "hani",
              "hebr",
              "kana",
              "kore",
              "thai",
              "othr",
            ]),
            MOST,
          ),
        },
      ),
    },
  ),
);
export type TravelRule = ValueOf<typeof TravelRule>;

/** C2 and C3: dates are in the past, and countries those of ISO 3166-1 or XX. */
export function travelRuleProblems(value: unknown, path: string, now: Date): readonly Violation[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]: [string, unknown]): readonly Violation[] => {
    const at = `${path}/${name}`;
    if (typeof item !== "string") return travelRuleProblems(item, at, now);
    if (
      name.startsWith("country") &&
      name !== "countrySubDivision" &&
      item !== "XX" &&
      !countries.isValid(item)
    )
      return [{ path: at, message: "must be a country of ISO 3166-1 alpha-2, or XX" }];
    return name === "dateOfBirth" && new Date(item) >= now
      ? [{ path: at, message: "must be in the past" }]
      : [];
  });
}

const field = (title: string, maxLength: number, more: { readonly description?: string } = {}) => ({
  type: "string",
  title,
  ...more,
  maxLength,
  pattern: LATIN_PATTERN,
});

const firstName = (who: string) =>
  field(`First name of the ${who}`, 100, { description: "Leave it empty where there is only one name." });
const localName = (who: string) => ({
  type: "string",
  title: `Name of the ${who} in other letters`,
  description: "The whole name, where it is usually written in letters that are not Latin.",
  maxLength: 100,
});

/** What the hosted page asks for where the customer gives them: natural persons, in Latin letters, and in their own as well. */
export const TRAVEL_RULE_FORM = {
  type: "object",
  properties: {
    originatorFirstName: firstName("sender"),
    originatorLastName: field("Last name of the sender", 100),
    originatorLocalName: localName("sender"),
    originatorAddress: field("Street and number of the sender", 70),
    originatorTown: field("Town of the sender", 35),
    originatorCountry: {
      type: "string",
      title: "Country of the sender (two letters)",
      pattern: "^[A-Z]{2}$",
      maxLength: 2,
    },
    beneficiaryFirstName: firstName("receiver"),
    beneficiaryLastName: field("Last name of the receiver", 100),
    beneficiaryLocalName: localName("receiver"),
  },
  required: [
    ...["originatorLastName", "originatorAddress", "originatorTown", "originatorCountry"],
    "beneficiaryLastName",
  ],
} as const;

type FormValues = Readonly<Record<string, unknown>>;

/** The form as IVMS101.2023. @param accounts numbers or addresses of both sides, where they are known */
export function travelRuleOf(
  values: FormValues,
  accounts: { readonly src: string | null; readonly dest: string | null },
): TravelRule {
  const text = (name: string): string => {
    const value = values[name];
    return typeof value === "string" ? value : "";
  };
  const person = (who: string) => ({
    name: {
      nameIdentifier: [
        {
          primaryIdentifier: text(`${who}LastName`),
          ...given("secondaryIdentifier", text(`${who}FirstName`)),
          naturalPersonNameIdentifierType: "LEGL" as const,
        },
      ],
      ...localNameOf(text(`${who}LocalName`)),
    },
  });
  const address = {
    addressType: "HOME" as const,
    addressLine: [text("originatorAddress")],
    townName: text("originatorTown"),
    country: text("originatorCountry"),
  };
  // A part of a number would be another one.
  const numbered = (number: string | null) =>
    number === null || number.length > 100 ? {} : { accountNumber: [number] };
  return {
    originator: {
      originatorPerson: [{ naturalPerson: { ...person("originator"), geographicAddress: [address] } }],
      ...numbered(accounts.src),
    },
    beneficiary: {
      beneficiaryPerson: [{ naturalPerson: person("beneficiary") }],
      ...numbered(accounts.dest),
    },
    payloadMetadata: { payloadVersion: "101.2023" },
  };
}

const given = (name: string, value: string) => (value === "" ? {} : { [name]: value });

/** The whole name: the standard's primary identifier where a name is not divided. */
function localNameOf(name: string) {
  return name === ""
    ? {}
    : { localNameIdentifier: [{ primaryIdentifier: name, nameIdentifierType: "LEGL" as const }] };
}
