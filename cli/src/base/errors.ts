/** How `berth` ends, other than with 0. The codes of programs that can't run are those of shells. */
export const exitCodes = {
  failure: 1,
  usage: 2,
  /** `diff` found differences, as other such programs say it */
  differs: 2,
  notSignedIn: 4,
  notExecutable: 126,
  noProgram: 127,
  interrupted: 130,
} as const

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

/** Why a file can't be used, without the names of the error and of the system call. */
export function describeFileError(error: unknown): string {
  return messageOf(error).replace(/^[A-Z]+: (.*), \w+(?: '.*')?$/s, '$1')
}

/** The text of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
