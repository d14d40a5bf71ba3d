/** The namespace of functions and of the container; rows have one of their own, so that a row and its function may have one name. */
export const DATA = "Data";
export const CONTAINER = "Container";

export const vocabularyAddress = (namespace: string, ending: "xml" | "json"): string =>
  `https://oasis-tcs.github.io/odata-vocabularies/vocabularies/${namespace}.${ending}`;
