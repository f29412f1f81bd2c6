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

/** Parses an option that is a whole number. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
