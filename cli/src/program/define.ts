import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import type { Context, GlobalOptions } from '../base/context.ts'
import { Output } from '../base/output.ts'

type Run<Values extends unknown[]> = (context: Context, ...values: Values) => Promise<void>

/** An action of Commander whose code loads when the command runs, so that others start faster. */
export function lazily<Values extends unknown[]>(load: () => Promise<Run<Values>>) {
  return async (...values: unknown[]): Promise<void> => {
    const command = values.at(-1) as Command
    const { json = false } = command.optsWithGlobals<GlobalOptions>()
    const run = await load()
    await run({ env: process.env, output: new Output(json, process.env) }, ...(values as Values))
  }
}

/** The end of a command's help. */
export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`
}

/** The argument that names a deployment. */
export const deployment = [
  '<deployment>',
  'an id, its unique beginning, an alias, or a model name of one deployment',
] as const

/** Parses an option of minutes without requests. */
export function idleMinutes(text: string): number | 'never' {
  return text === 'never' ? text : wholeNumber(text)
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}

/** Parses an option that is a UTC day. */
export function day(text: string): string {
  if (isDay(text)) return text
  throw new InvalidArgumentError('It must be a UTC day, such as 2026-01-02.')
}

/** Parses an option that is a UTC day, which stands for its first moment, or a time. */
export function timeFrom(text: string): string {
  return isDay(text) ? `${text}T00:00:00Z` : time(text)
}

/** Parses an option that is a UTC day, which is included, or a time. */
export function timeTo(text: string): string {
  if (!isDay(text)) return time(text)
  const next = Date.parse(`${text}T00:00:00Z`) + 86_400_000
  return new Date(next).toISOString()
}

function time(text: string): string {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d.*(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text)))
    return text
  throw new InvalidArgumentError(
    'It must be a UTC day, such as 2026-01-02, or a time, such as 2026-01-02T03:04:05Z.',
  )
}

function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))
}

/** Parses an option that is a whole number. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
