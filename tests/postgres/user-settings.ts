import { queryAt } from "../support/database.js";

/** A setting with another legal value. */
export type Setting = readonly [name: string, value: string];

interface SettingRow extends Record<string, unknown> {
  readonly name: string;
  readonly vartype: string;
  readonly setting: string;
  readonly boot: string | null;
  readonly min: number;
  readonly max: number;
  readonly enumvals: readonly string[] | null;
}

/** Those that end or redirect a statement, and those that no role can have. */
const LEFT_OUT =
  /_timeout$|read_only$|^(search_path|exit_on_error|client_encoding|transaction_|local_preload_libraries$|seed$|role$|session_authorization$)/;

/** Of settings that are texts. Others keep theirs. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  DateStyle: ["German, DMY", "SQL, DMY", "Postgres, MDY", "ISO, YMD"],
  TimeZone: ["America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "<+13>-13"],
  timezone_abbreviations: ["Australia", "India"],
  default_text_search_config: ["pg_catalog.english", "pg_catalog.german", "pg_catalog.simple"],
  application_name: ["other"],
  temp_tablespaces: ["pg_default"],
  default_tablespace: ["pg_default"],
  restrict_nonsystem_relation_kind: ["foreign-table"],
  createrole_self_grant: ["set"],
  lc_monetary: ["C", "POSIX", "C.UTF-8", "en_US.UTF-8"],
  lc_numeric: ["C", "POSIX", "C.UTF-8", "en_US.UTF-8"],
  lc_time: ["C", "POSIX", "C.UTF-8", "en_US.UTF-8"],
};

/** The settings of context `user`, each with its other values; of a number the least, the greatest and the one beside it. */
export async function userSettings(url: string): Promise<readonly (readonly Setting[])[]> {
  const rows = (await queryAt(
    url,
    `SELECT name, vartype, setting, boot_val AS boot, min_val::float8 AS min, max_val::float8 AS max, enumvals
     FROM pg_catalog.pg_settings WHERE context = 'user' ORDER BY name`,
  )) as unknown as readonly SettingRow[];
  const legal: (readonly Setting[])[] = [];
  for (const row of rows) {
    if (LEFT_OUT.test(row.name)) continue;
    const values = otherValues(row).filter((value) => value !== row.setting);
    const taken = await Promise.all(values.map((value) => isTaken(url, row.name, value)));
    const settings = values.filter((_, i) => taken[i]).map((value): Setting => [row.name, value]);
    if (settings.length > 0) legal.push(settings);
  }
  return legal;
}

function otherValues({ name, vartype, setting, enumvals, min, max }: SettingRow): readonly string[] {
  switch (vartype) {
    case "bool":
      return [setting === "on" ? "off" : "on"];
    case "enum":
      return enumvals ?? [];
    case "string":
      return TEXTS[name] ?? [];
    default: {
      // A whole number beside the present one, within bounds, and both bounds where they are small.
      const beside = Number(setting) < max ? Number(setting) + (vartype === "real" ? 0.5 : 1) : min;
      return [...new Set([min, Math.min(beside, max), ...(max <= 1000 ? [max] : [])])].map(String);
    }
  }
}

const isTaken = (url: string, name: string, value: string): Promise<boolean> =>
  queryAt(url, "SELECT set_config($1, $2, false)", [name, value]).then(
    () => true,
    () => false,
  );
