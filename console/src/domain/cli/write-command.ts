import type { Deployment } from '../../contract.ts'

/** An option of a command: true for a flag, several values for a repeated one, and none if undefined. */
type Option = string | number | boolean | readonly string[] | null | undefined

/** Writes a command of `berth` for a POSIX shell. */
export function writeCommand(
  words: readonly string[],
  options: Readonly<Record<string, Option>> = {},
): string {
  const parts = Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === null || value === false) return []
    if (value === true) return [`--${name}`]
    return (Array.isArray(value) ? value : [value]).map((one) => `--${name} ${quote(String(one))}`)
  })
  return ['berth', ...words.map(quote), ...parts].join(' ')
}

function quote(word: string): string {
  return /^[\w.:/=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** What commands call a deployment: its alias, else its id. */
export const toCommandName = ({ id, alias }: Pick<Deployment, 'id' | 'alias'>): string => alias ?? id
