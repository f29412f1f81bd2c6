/** Builds command-line options: true is a bare flag; undefined and false are omitted. */
export function toArguments(options: Record<string, string | number | boolean | undefined>): string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    return value === true ? [`--${name}`] : [`--${name}`, String(value)]
  })
}
