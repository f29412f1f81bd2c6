import { confirm as askConfirmation, isCancel, password, text } from '@clack/prompts'
import { CommandError, exitCodes, usageError } from './errors.ts'

/** Whether a person can answer a prompt. */
export function isInteractive(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

/** Asks for a line. Without a terminal, throws a usage error that names the alternative. */
export async function askText(message: string, alternative: string): Promise<string> {
  requireTerminal(message, alternative)
  return answerOf(await text({ message, output: process.stderr, validate: requireAnswer }))
}

/** Asks a question. The default answer is no. */
export async function confirm(message: string): Promise<boolean> {
  const answer = await askConfirmation({ message, initialValue: false, output: process.stderr })
  return !isCancel(answer) && answer
}

/** Asks for a secret, which the terminal does not show. */
export async function askSecret(message: string, alternative: string): Promise<string> {
  requireTerminal(message, alternative)
  return answerOf(await password({ message, output: process.stderr, validate: requireAnswer }))
}

/** Reads a secret from the first line of stdin. */
export async function readSecret(): Promise<string> {
  let content = ''
  process.stdin.setEncoding('utf8')
  for await (const piece of process.stdin) {
    content += piece
    if (content.includes('\n')) break
  }
  const [secret = ''] = content.split(/\r?\n/, 1)
  if (secret === '') throw usageError('stdin is empty. Its first line must be the secret.')
  return secret
}

function requireTerminal(message: string, alternative: string): void {
  if (!isInteractive()) throw usageError(`${message} can't be asked without a terminal. ${alternative}`)
}

function requireAnswer(answer: string | undefined): string | undefined {
  return answer ? undefined : 'Enter a value.'
}

function answerOf(answer: string | symbol): string {
  if (isCancel(answer)) throw new CommandError('Cancelled.', exitCodes.interrupted)
  return answer as string
}
