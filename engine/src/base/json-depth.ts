/** Maximum nesting of a body: deeper than real requests, far from a stack overflow. */
const maxDepth = 100

/** True when a parsed JSON value exceeds the maximum nesting. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true
    level = level.flatMap((entry) =>
      typeof entry === 'object' && entry !== null ? Object.values(entry) : [],
    )
  }
  return false
}
