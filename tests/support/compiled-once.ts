/** Options of ajv for schemas that check a few values: optimizing their code takes almost as long as making it. */
export const COMPILED_ONCE = { code: { optimize: false } } as const;
