const maxLength = 2000

/** Resolves `value` to a path as a browser would; `/` if it is invalid or leads to another site. */
export function toReturnPath(value: string | undefined, site: URL): string {
  if (value === undefined || value.length > maxLength) return '/'
  if (!value.startsWith('/') || /[\p{Cc}\\]/u.test(value) || !URL.canParse(value, site.href)) return '/'
  const url = new URL(value, site)
  const path = url.pathname + url.search + url.hash
  // Removing dot segments may leave a path that starts with `//`, which a browser treats as another host.
  return url.origin === site.origin && !path.startsWith('//') ? path : '/'
}
