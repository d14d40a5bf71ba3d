/** Resolves at the first Ctrl-C or `kill`; a second one ends the process at once, as is usual. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}
