/**
 * Letters of the Latin script with their marks, digits and punctuation, as names and addresses have them (Unicode's blocks Basic Latin, Latin-1,
 * Latin Extended, IPA, combining marks and Latin Extended Additional).
 */
export const LATIN_PATTERN =
  "^[ -~\u00aa\u00b7\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u036f\u1e00-\u1eff\u2010-\u2015\u2018\u2019\u201c\u201d]+$";

/** What a text must be that does not match its pattern, by the pattern: callers and customers read this in place of it. */
export const PATTERN_WORDS: Readonly<Record<string, string>> = {
  [LATIN_PATTERN]:
    "must be in Latin letters, with or without accents; a name in other letters goes into the local name",
  "\\S": "must not be blank",
  "[^.]": "must not be dots alone",
  "^[A-Za-z0-9_]+$": "must be a code of letters, digits and underscores, such as USDC_POLYGON",
  "^[A-Za-z0-9_]{2,40}$": "must be a code of 2 to 40 letters, digits and underscores, such as USDC_POLYGON",
  "^[A-Z0-9_]{2,20}$": "must be a code of 2 to 20 capital letters, digits and underscores, such as ACH",
  "^[a-z0-9-]{2,40}$": "must be a code of 2 to 40 small letters, digits and hyphens",
  "^[A-Za-z0-9_-]{1,128}$": "must have 1 to 128 letters, digits, hyphens and underscores",
  "^[0-9]+(\\.[0-9]+)?$": "must be a decimal number without a sign, such as 100.00",
  "^[0-9]{1,40}(\\.[0-9]{1,18})?$":
    "must be a decimal number as a string, without a sign, with at most 40 digits and 18 decimals, such as 100.00",
  "^[A-Za-z]{2}$": "must be a country code of two letters, such as DE",
  "^[A-Z]{2}$": "must be a country code of two capital letters, such as DE",
  "^([1-9][0-9]?|100)$": "must be a whole number from 1 to 100",
  "^(100(\\.0{1,2})?|\\d{1,2}(\\.\\d{1,2})?)$":
    "must be a percentage from 0 to 100 with at most two decimals, such as 0.5",
  "^[0-9]{1,16}$": "must be a `sequence`: a whole number of at most 16 digits",
  "^0x([0-9a-fA-F]{2}){1,4096}$": "must be bytes in hexadecimal, beginning with 0x",
  "^[!-~]+$": "must have visible ASCII characters only",
  "^[!-~]{1,100}$": "must have 1 to 100 visible ASCII characters",
  "^20": "must be a time of this century, such as 2026-12-31T12:00:00Z",
  "^0x[a-fA-F0-9]{40}$": "must be an address: 0x and 40 hexadecimal digits",
  "^(bc1[a-z0-9]{25,62}|[13][a-km-zA-HJ-NP-Z1-9]{25,34})$": "must be a Bitcoin address",
  "^RA[0-9]{6}$": "must be a code of the GLEIF's list of registration authorities, such as RA000001",
  "^[0-9A-Z]{18}[0-9]{2}$": "must be an LEI of 20 capital letters and digits",
};
