import { ApplicationError } from './errors.ts'

const lacks: Partial<Record<string, string>> = {
  EMFILE: 'file descriptors',
  ENFILE: 'file descriptors',
  ENOMEM: 'memory',
  ENOBUFS: 'memory',
}
/** Causes of causes beyond this are not read. */
const maxDepth = 5
const retryAfterSeconds = 5

/**
 * What this process or its host lacks, such as `memory`, if an operation failed for it; null otherwise. Such
 * a failure says nothing about an engine, a database or another system.
 */
export function findShortage(error: unknown, depth = 0): string | null {
  if (!(error instanceof Error) || depth > maxDepth) return null
  const { code, syscall } = error as NodeJS.ErrnoException
  // A busy file or socket is EAGAIN too.
  if (code === 'EAGAIN' && syscall?.startsWith('spawn') === true) return 'processes'
  const lack = lacks[code ?? '']
  if (lack !== undefined) return lack
  const causes = error instanceof AggregateError ? error.errors : [error.cause]
  for (const cause of causes) {
    const found = findShortage(cause, depth + 1)
    if (found !== null) return found
  }
  return null
}

/** Says to a person what the server lacks. */
export function describeShortage(shortage: string): string {
  return `The server has no ${shortage} left.`
}

/** The 503 while the server lacks something. */
export function overloaded(shortage: string): ApplicationError {
  const message = `${describeShortage(shortage)} Retry in a few seconds.`
  return new ApplicationError('overloaded', message, retryAfterSeconds)
}
