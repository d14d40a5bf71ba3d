/** Paths that one can choose from. */
const MOST = 5;

/** Paths that share words with one that leads nowhere, those with the most first. */
export function similarPaths(path: string, paths: readonly string[]): readonly string[] {
  const words = path.split(/[/_]/).filter((word) => word.length > 2);
  const shared = (other: string): number => words.filter((word) => other.includes(word)).length;
  return paths
    .filter((each) => shared(each) > 0)
    .sort((a, b) => shared(b) - shared(a))
    .slice(0, MOST);
}
