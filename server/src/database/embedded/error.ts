/** The database that Berth brings along can't be used; the message is for the operator and names the remedy. */
export class EmbeddedDatabaseError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EmbeddedDatabaseError'
  }
}

/** The remedy that always works, as the end of an error's sentence. */
export const useOwnDatabase = 'or set DATABASE_URL to a PostgreSQL of your own'

/** The code of a failed system call (`EACCES`, `ENOSPC`, …), where there is one. */
export function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** What an unknown thrown value says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
