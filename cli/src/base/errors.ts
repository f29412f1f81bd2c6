/** How `berth` ends, other than with 0. */
export const exitCodes = { failure: 1, usage: 2, notSignedIn: 4, interrupted: 130 } as const

type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** A failure whose message says what happened and what to do. */
export class CommandError extends Error {
  readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode = exitCodes.failure) {
    super(message)
    this.name = 'CommandError'
    this.exitCode = exitCode
  }
}

/** A failure of how the command was written. */
export function usageError(message: string): CommandError {
  return new CommandError(message, exitCodes.usage)
}

/** A failure that `berth login` repairs. */
export function notSignedIn(message: string): CommandError {
  return new CommandError(message, exitCodes.notSignedIn)
}

/** The text of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
