import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Database } from '../../database/tables.ts'
import {
  createJournalFile,
  listAbandoned,
  readJournalFile,
  removeJournalFile,
  toLine,
  toLineHead,
} from './journal-file.ts'
import type { JournalFile } from './journal-file.ts'
import { deleteTokenBatch, recordTokenBatch } from './record-tokens.ts'
import type { TokenTotal, TokenUsage } from './record-tokens.ts'

/** Tokens on their way to the database; see `openTokenJournal`. */
export interface TokenJournal {
  /** Counts a request; it survives a kill of the process from the next `write` on, which comes in this turn of the event loop */
  record(
    deployment: { deploymentId: string; organizationId: number; modelName: string },
    usage: TokenUsage,
  ): void
  /** Hands all that was recorded to the operating system before it returns */
  write(): void
  /** Resolves when all that was recorded before is in the database, or the database could not be reached */
  flush(): Promise<void>
  close(): Promise<void>
}

interface Batch {
  id: string
  hour: number
  openedAt: number
  totals: Map<string, TokenTotal & { head: string }>
  /** null: it could not be written, and what it holds is in memory alone */
  file: JournalFile | null
  /** Lines that are not written yet: one write for all requests that end in a turn of the event loop */
  lines: string
}

const hourMilliseconds = 3_600_000
const flushMilliseconds = 1_000
/** A file that was not written to for so long is nobody's any more: its writer would have begun another. */
const abandonedMilliseconds = 10_000
const longestOpenMilliseconds = 5_000

/**
 * Adds up tokens in memory and writes each request to a file in `DATA_DIR/token-journal` first. Once a second the file is closed,
 * and its totals go to the database under the file's id in one transaction; then the file is removed. Files that a killed process
 * left are read by whichever process finds them first: the id keeps them from being counted twice.
 */
export function openTokenJournal(
  { db, clock, log }: { db: Database; clock: () => Date; log: Logger },
  dataDirectory: string,
): TokenJournal {
  const directory = join(dataDirectory, 'token-journal')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  let open: Batch | null = null
  const closed: Batch[] = []
  let flushing: Promise<void> = Promise.resolve()
  let ticks = 0

  function begin(hour: number): Batch {
    const id = randomUUID()
    let file: JournalFile | null = null
    try {
      file = createJournalFile(directory, id)
    } catch (error) {
      log.error({ err: error }, 'the token journal can’t be written')
    }
    return { id, hour, openedAt: Date.now(), totals: new Map(), file, lines: '' }
  }

  function rotate(): void {
    if (open === null) return
    write()
    try {
      open.file?.close()
    } catch (error) {
      log.error({ err: error }, 'the token journal can’t be closed')
    }
    closed.push(open)
    open = null
  }

  function write(): void {
    if (open === null || open.lines === '') return
    const { lines } = open
    open.lines = ''
    try {
      open.file?.append(lines)
    } catch (error) {
      log.error({ err: error }, 'the token journal can’t be written')
    }
  }

  async function writeClosed(): Promise<void> {
    for (let batch = closed[0]; batch !== undefined; batch = closed[0]) {
      await recordTokenBatch(db, batch.id, async () => [...batch.totals.values()])
      closed.shift()
      batch.file?.remove()
      await deleteTokenBatch(db, batch.id)
    }
  }

  async function adoptAbandoned(): Promise<void> {
    for (const id of await listAbandoned(directory, abandonedMilliseconds)) {
      if (id === open?.id || closed.some((batch) => batch.id === id)) continue
      // Its process may have recorded, removed and forgotten it by now, so it is read only where nobody else can do that.
      await recordTokenBatch(db, id, () => readJournalFile(directory, id))
      // Not forgotten: its process may hold it in memory still.
      await removeJournalFile(directory, id)
      log.info({ batch: id }, 'tokens that another process had left were recorded')
    }
  }

  /** One at a time; what fails is tried again. */
  function run(work: () => Promise<void>): Promise<void> {
    flushing = flushing.then(work).catch((error: unknown) => {
      log.warn({ err: error }, 'tokens could not be recorded yet')
    })
    return flushing
  }

  function flush(): Promise<void> {
    rotate()
    return closed.length === 0 ? flushing : run(writeClosed)
  }

  const timer = setInterval(() => {
    if (ticks % 5 === 0) void run(adoptAbandoned)
    ticks += 1
    void flush()
  }, flushMilliseconds)

  return {
    record(deployment, usage) {
      const now = clock().getTime()
      const hour = now - (now % hourMilliseconds)
      // A process that was stopped for long finds its file adopted by another.
      if (open !== null && (open.hour !== hour || Date.now() - open.openedAt > longestOpenMilliseconds))
        rotate()
      open ??= begin(hour)
      let total = open.totals.get(deployment.deploymentId)
      if (total === undefined) {
        const { deploymentId, organizationId, modelName } = deployment
        const entry = { deploymentId, organizationId, modelName, hour: new Date(hour) }
        total = { ...entry, requests: 0, inputTokens: 0, outputTokens: 0, head: toLineHead(entry) }
        open.totals.set(deploymentId, total)
      }
      if (open.lines === '') setImmediate(write)
      open.lines += toLine(total.head, usage)
      total.requests += 1
      total.inputTokens += usage.inputTokens
      total.outputTokens += usage.outputTokens
    },
    write,
    flush,
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}
