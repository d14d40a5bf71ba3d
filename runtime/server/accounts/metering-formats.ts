import type { QuotaUnit } from "../../core/model/organization-plan.js";
import type { MeteredUse } from "./metering.js";

/** How use is sent to a billing system. */
export const METERING_FORMATS = ["cloudevents", "lago", "stripe"] as const;
export type MeteringFormat = (typeof METERING_FORMATS)[number];

/** The type of events, and the code of the billable metric. */
const USE_TYPE = "routewright.use";

/** The body of a request, and how many of these a target takes in one. */
interface BodyFormat {
  readonly contentType: string;
  readonly most: number;
  readonly bodyOf: (use: readonly MeteredUse[], unit: QuotaUnit) => string;
}

export const FORMATS: Readonly<Record<MeteringFormat, BodyFormat>> = {
  cloudevents: {
    contentType: "application/cloudevents-batch+json",
    most: 100,
    bodyOf: (use) => JSON.stringify(use.map(cloudEvent)),
  },
  lago: {
    contentType: "application/json",
    most: 100,
    bodyOf: (use) => JSON.stringify({ events: use.map(lagoEvent) }),
  },
  stripe: {
    contentType: "application/x-www-form-urlencoded",
    most: 1,
    bodyOf: ([use], unit) => (use === undefined ? "" : stripeEvent(use, unit)),
  },
};

/** An event of CloudEvents 1.0 (JSON), as OpenMeter takes it: `subject` is the organization. */
export function cloudEvent(use: MeteredUse): object {
  const { id, hour, organization, key, endpoint, requests, rows, bytes, databaseMs } = use;
  return {
    specversion: "1.0",
    id,
    source: "routewright",
    type: USE_TYPE,
    subject: organization,
    time: hour,
    datacontenttype: "application/json",
    data: { key, endpoint, requests, rows, bytes, databaseMs },
  };
}

/** Numbers are texts: the published schema takes a whole number twice, as integer and as number. */
function lagoEvent({ id, hour, organization, key, endpoint, requests, rows, bytes }: MeteredUse): object {
  return {
    transaction_id: id,
    external_subscription_id: organization,
    code: USE_TYPE,
    timestamp: secondsOf(hour),
    properties: { key, endpoint, requests: String(requests), rows: String(rows), bytes: String(bytes) },
  };
}

/** A meter takes one number: of the unit. The organization is Stripe's customer. */
function stripeEvent(use: MeteredUse, unit: QuotaUnit): string {
  return new URLSearchParams({
    event_name: `routewright_${unit}`,
    identifier: use.id,
    timestamp: String(secondsOf(use.hour)),
    "payload[stripe_customer_id]": use.organization,
    "payload[value]": String(use[unit]),
  }).toString();
}

const COLUMNS = [
  "id",
  "hour",
  "closed",
  "organization",
  "key",
  "endpoint",
  "requests",
  "rows",
  "bytes",
  "databaseMs",
] as const;

/** RFC 4180. A cell that a spreadsheet would run as a formula begins with an apostrophe. */
export function csvOf(use: readonly MeteredUse[]): string {
  const lines = use.map((each) => COLUMNS.map((column) => cellOf(String(each[column]))).join(","));
  return [COLUMNS.join(","), ...lines].map((line) => `${line}\r\n`).join("");
}

function cellOf(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const secondsOf = (time: string): number => Date.parse(time) / 1000;
