/** Path, tier and row fields of every endpoint of the starter; a `?` ends the name of a field that may be null. */
export const SPECIFIED: readonly (readonly [path: string, tier: string, fields: Record<string, string>])[] = [
  ["/v1/bridges/bridges_count/latest", "tier0", snapshot({ value: "numeric(20,0)" })],
  ["/v1/bridges/chains_count/latest", "tier0", snapshot({ value: "numeric(20,0)" })],
  [
    "/v1/bridges/cum_netflow_per_bridge/weekly",
    "tier1",
    { date: "date", series: "text", value: "double precision" },
  ],
  ["/v1/bridges/inflow/in_ranges", "tier0", snapshot(flow("timestamptz", "range"))],
  ["/v1/bridges/inflow_per_token/last_7d", "tier0", snapshot(flow("timestamptz", "token"))],
  ["/v1/bridges/netflow/last_7d", "tier0", snapshot(compared())],
  ["/v1/bridges/netflow/all_time", "tier0", snapshot({ value: "double precision" })],
  [
    "/v1/bridges/netflow_per_token_per_bridge/daily",
    "tier1",
    { date: "date", bridge: "text", token: "text", value: "numeric(20,0)", bridge_order: "numeric(20,0)" },
  ],
  ["/v1/bridges/outflow/in_ranges", "tier0", snapshot(flow("date", "range"))],
  ["/v1/bridges/outflow_per_token/last_7d", "tier0", snapshot(flow("timestamptz", "token"))],
  ["/v1/bridges/volume/last_7d", "tier0", snapshot(compared())],
  ["/v1/bridges/volume/all_time", "tier0", snapshot({ value: "double precision" })],
  [
    "/v1/altchain/altchain_card_active_users/last_7d",
    "tier3",
    { "value?": "double precision", "change_pct?": "double precision", "as_of_date?": "date" },
  ],
  ["/v1/altchain/altchain_card_activity_by_action/daily", "tier3", activity("date", "action?")],
  ["/v1/altchain/altchain_card_activity_by_action/weekly", "tier3", activity("week", "action")],
];

function snapshot(fields: Record<string, string>): Record<string, string> {
  return { ...fields, as_of_date: "date" };
}

function flow(dayType: string, by: string): Record<string, string> {
  return { d: dayType, [by]: "text", source: "text", target: "text", value: "numeric(20,0)" };
}

function compared(): Record<string, string> {
  return { value: "double precision", prev_value: "double precision", change_pct: "double precision" };
}

function activity(period: string, action: string): Record<string, string> {
  const volumes = { "volume_usd?": "double precision", volume_native: "double precision" };
  return { [period]: "date", [action]: "text", activity_count: "numeric(20,0)", ...volumes };
}
