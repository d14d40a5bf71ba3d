import type { DataType, DecimalType } from "../catalogue/types/data-type.js";

/** What Hive and Spark name the folder of rows without a value. */
export const NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__";

/** A folder whose name gives the values of a column. */
export interface PartitionFolder {
  /** Of the column. */
  readonly name: string;
  /** In an address of the web the encoded name of the folder is encoded again. */
  readonly isInAddress: boolean;
}

/** Whether a folder of a path, `…/day=2026-11-28/…`, has the name of a column. */
export function folderIn(path: string, name: string): boolean {
  return new RegExp(folderPattern(name).replace("(?i:", "(?:"), "i").test(path);
}

/** A pattern of RE2 whose first group is a folder's value. Of several folders of one name the innermost counts. */
export const folderPattern = (name: string): string =>
  `^(?:.*/)?(?i:${name.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")})=([^/]*)/`;

/** A pattern of the texts of a folder that a type holds exactly; null for a type that no folder names. */
export function folderTextOf(type: DataType): string | null {
  switch (type.kind) {
    case "text":
      return "(?s).*";
    case "integer":
      return "-?\\d+";
    case "decimal":
      return decimalText(type);
    case "float":
      return "-?\\d+(\\.\\d+)?([eE][-+]?\\d+)?";
    case "boolean":
      return "(?i:true|false)";
    case "date":
      return "\\d{4}-\\d\\d-\\d\\d";
    case "timestamp":
      return `\\d{4}-\\d\\d-\\d\\d( \\d\\d:\\d\\d:\\d\\d(\\.\\d{0,${String(type.precision)}}0*)?)?`;
    case "uuid":
      return "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
    default:
      return null;
  }
}

function decimalText({ precision, scale = 0 }: DecimalType): string {
  return precision === undefined
    ? "-?\\d+(\\.\\d+)?"
    : `-?0*\\d{0,${String(precision - scale)}}(\\.\\d{0,${String(scale)}}0*)?`;
}
