import { CommanderError } from 'commander'
import { CommandError, exitCodes, messageOf } from './base/errors.ts'
import { cleanText } from './base/text.ts'
import { createProgram } from './program/program.ts'

async function main(args: readonly string[]): Promise<number> {
  const program = await createProgram(args)
  try {
    await program.parseAsync(args, { from: 'user' })
    // `run` passes on the exit code of its program.
    return Number(process.exitCode ?? 0)
  } catch (error) {
    // Commander has printed the reason.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage
    report(error, program.opts<{ debug?: boolean }>().debug === true)
    return error instanceof CommandError ? error.exitCode : exitCodes.failure
  }
}

function report(error: unknown, debug: boolean): void {
  const message = messageOf(error)
  // Ctrl-C needs no explanation.
  if (message !== '') process.stderr.write(`${cleanText(message)}\n`)
  if (!debug) return
  const { requestId, stack } = error as { requestId?: string | null; stack?: string }
  if (requestId) process.stderr.write(`Request id: ${requestId}\n`)
  if (stack !== undefined) process.stderr.write(`${cleanText(stack)}\n`)
}

process.once('SIGINT', () => process.exit(exitCodes.interrupted))
// `berth ls | head` closes stdout early.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  process.exit(code === 'EPIPE' ? 0 : exitCodes.failure)
})
// The work continues without a reader of its progress.
process.stderr.on('error', () => {})

process.exitCode = await main(process.argv.slice(2))
