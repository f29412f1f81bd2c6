/** The part of the server's logger that the runtimes use. */
export interface RuntimeLogger {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}
