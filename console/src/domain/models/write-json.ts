/** Writes arrays and objects as JSON, short ones on one line. `write` formats the other values. */
export function writeJson(
  value: unknown,
  { depth, indent, write }: { depth: number; indent: string; write: (value: unknown) => string },
): string {
  if (typeof value !== 'object' || value === null) return write(value)
  const inner = { depth: depth + 1, indent, write }
  if (Array.isArray(value)) {
    return layOut(
      value.map((item) => writeJson(item, inner)),
      ['[', ']'],
      depth,
      indent,
    )
  }
  const parts = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(name)}: ${writeJson(item, inner)}`,
  )
  return layOut(parts, ['{', '}'], depth, indent)
}

/** Joins the parts on one line if they fit, otherwise one per line. */
export function layOut(
  parts: string[],
  [open, close]: [string, string],
  depth: number,
  indent: string,
  padding = '',
): string {
  if (parts.length === 0) return open + close
  const line = parts.join(', ')
  if (line.length <= 72 && !line.includes('\n')) return `${open}${padding}${line}${padding}${close}`
  // JSON does not allow a trailing comma.
  const inner = parts.map((part) => `${indent.repeat(depth + 1)}${part}`).join(',\n')
  return `${open}\n${inner}\n${indent.repeat(depth)}${close}`
}
