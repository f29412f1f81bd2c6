/** The embedded database can't be used. The message is for the operator and names a remedy. */
export class EmbeddedDatabaseError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EmbeddedDatabaseError'
  }
}

/** The remedy that always works, as the end of a sentence. */
export const useOwnDatabase = 'or set DATABASE_URL to your own PostgreSQL'

/** The code of a failed system call, such as `EACCES`; undefined for other errors. */
export function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** The message of a thrown value of unknown type. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
