const longest = 2_000

/** The path of this site that `value` names, as the browser would read it; `/` for all that leads elsewhere or is odd. */
export function toReturnPath(value: string | undefined, origin = location.origin): string {
  if (!value || value.length > longest || !value.startsWith('/') || /[\p{Cc}\\]/u.test(value)) return '/'
  if (!URL.canParse(value, origin)) return '/'
  const url = new URL(value, origin)
  const path = url.pathname + url.search + url.hash
  // Dot segments may leave a path that begins with `//`, which a browser takes for another host.
  return url.origin === origin && !path.startsWith('//') ? path : '/'
}
