/** How GitHub shows an annotation. */
export type AnnotationLevel = "error" | "warning" | "notice";

/** A command of GitHub's workflows that annotates a file, or the run where `file` is null. */
export function annotation(
  level: AnnotationLevel,
  file: string | null,
  title: string,
  message: string,
): string {
  const properties = [...(file === null ? [] : [`file=${property(file)}`]), `title=${property(title)}`];
  return `::${level} ${properties.join(",")}::${data(message)}`;
}

/** Percent signs and line breaks would be read as the command's own. */
function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

/** In a property, colons and commas too. */
function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
