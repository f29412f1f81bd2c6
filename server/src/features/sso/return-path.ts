const longest = 2000

/** The path of this site that `value` names, as a browser would read it; `/` for anything that leads elsewhere or is odd. */
export function toReturnPath(value: string | undefined, site: URL): string {
  if (value === undefined || value.length > longest) return '/'
  if (!value.startsWith('/') || /[\p{Cc}\\]/u.test(value) || !URL.canParse(value, site.href)) return '/'
  const url = new URL(value, site)
  const path = url.pathname + url.search + url.hash
  // Dot segments may leave a path that begins with `//`, which a browser takes for another host.
  return url.origin === site.origin && !path.startsWith('//') ? path : '/'
}
