const longest = 2_000

/** Normalizes a return path: `/` for invalid values and other sites, so links can't redirect elsewhere. */
export function toReturnPath(value: string | undefined, origin = location.origin): string {
  if (!value || value.length > longest || !value.startsWith('/') || /[\p{Cc}\\]/u.test(value)) return '/'
  if (!URL.canParse(value, origin)) return '/'
  const url = new URL(value, origin)
  const path = url.pathname + url.search + url.hash
  // Resolving dot segments may produce a path that starts with `//`, which browsers treat as another host.
  return url.origin === origin && !path.startsWith('//') ? path : '/'
}
