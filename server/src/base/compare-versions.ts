/** Compares versions of numbers with dots: negative if `one` is older. Missing numbers count as 0. */
export function compareVersions(one: string, other: string): number {
  const [ones, others] = [one, other].map((version) => version.split('.').map(Number))
  for (const [index, part] of ones!.entries()) {
    const difference = part - (others![index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
