import type { FailureCode } from './state.ts'

/** A failed load: a code for the server and a message for people. */
export class LoadError extends Error {
  readonly code: FailureCode

  constructor(code: FailureCode, message: string) {
    super(message)
    this.name = 'LoadError'
    this.code = code
  }
}
