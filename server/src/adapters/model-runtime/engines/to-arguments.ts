/** The value of a command-line option. A list becomes several arguments. */
export type OptionValue = string | number | boolean | readonly string[] | undefined

/** Builds command-line options: true is a bare flag; undefined and false are omitted. */
export function toArguments(options: Record<string, OptionValue>): string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    if (value === true) return [`--${name}`]
    return typeof value === 'object' ? [`--${name}`, ...value] : [`--${name}`, String(value)]
  })
}
