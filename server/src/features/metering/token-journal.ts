import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Price } from '../../base/price.ts'
import type { Database } from '../../database/tables.ts'
import { floorHour } from './hours.ts'
import {
  createJournalFile,
  listAbandoned,
  noUsage,
  readJournalFile,
  removeJournalFile,
  toLine,
  toLineHead,
} from './journal-file.ts'
import type { JournalFile } from './journal-file.ts'
import { hasOwnPrice } from './prices.ts'
import { adoptTokenBatch, deleteTokenBatch, recordTokenBatch } from './record-tokens.ts'
import type { CallerTime, TokenTotal, TokenUsage } from './token-usage.ts'

/** A durable buffer of token counts; see `openTokenJournal`. */
export interface TokenJournal {
  /**
   * Counts a request. The count survives a crash after the next `write`, which runs in the same turn of the
   * event loop
   */
  record(
    deployment: { deploymentId: string; organizationId: number; modelName: string },
    usage: TokenUsage,
    caller: CallerTime,
  ): void
  /** Writes buffered lines to the journal file synchronously */
  write(): void
  /** Resolves when all counts recorded so far are in the database, or the database is unreachable */
  flush(): Promise<void>
  close(): Promise<void>
}

interface Batch {
  id: string
  openedAt: number
  totals: TokenTotal[]
  /** The totals of the current second, by deployment, caller and model */
  second: { at: number; totals: Map<string, TokenTotal & { head: string }> }
  /** null when the file could not be created: the batch is only in memory */
  file: JournalFile | null
  /** Buffered lines: all requests that end in one turn of the event loop share one write */
  lines: string
}

const secondMilliseconds = 1000
const flushMilliseconds = 1_000
/** A file without a write for this long is abandoned: a live process would have rotated it. */
const abandonedMilliseconds = 10_000
const longestOpenMilliseconds = 5_000

/**
 * Counts tokens in memory and in a write-ahead file in `DATA_DIR/token-journal`. Every second the file is
 * rotated: its totals are recorded in one statement under the batch id, then the file is deleted. Any process
 * adopts the files of a crashed one; the batch id prevents double counting.
 */
export function openTokenJournal(
  { db, clock, log, prices }: { db: Database; clock: () => Date; log: Logger; prices: readonly Price[] },
  dataDirectory: string,
): TokenJournal {
  const directory = join(dataDirectory, 'token-journal')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  let open: Batch | null = null
  const closed: Batch[] = []
  let flushing: Promise<void> = Promise.resolve()
  let ticks = 0

  function begin(): Batch {
    const id = randomUUID()
    let file: JournalFile | null = null
    try {
      file = createJournalFile(directory, id)
    } catch (error) {
      log.error({ err: error }, 'the token journal can’t be written')
    }
    return { id, openedAt: Date.now(), totals: [], second: { at: 0, totals: new Map() }, file, lines: '' }
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

  /** Cached tokens without a price of their own are input like all other. */
  function toBilled(total: TokenTotal): TokenTotal {
    const dimensions = { model_name: total.modelName }
    const isPriced = hasOwnPrice(prices, 'inference_cached_tokens', dimensions, floorHour(total.at))
    return isPriced ? total : { ...total, cachedTokens: 0 }
  }

  async function writeClosed(): Promise<void> {
    for (let batch = closed[0]; batch !== undefined; batch = closed[0]) {
      await recordTokenBatch(db, batch.id, batch.totals.map(toBilled))
      closed.shift()
      batch.file?.remove()
      await deleteTokenBatch(db, batch.id)
    }
  }

  async function adoptAbandoned(): Promise<void> {
    for (const id of await listAbandoned(directory, abandonedMilliseconds)) {
      if (id === open?.id || closed.some((batch) => batch.id === id)) continue
      // The owner may still record and delete this batch, so the file is read under the lock of the batch id.
      await adoptTokenBatch(db, id, async () => (await readJournalFile(directory, id)).map(toBilled))
      // The batch id is kept, because the owner may still have the batch in memory.
      await removeJournalFile(directory, id)
      log.info({ batch: id }, 'recorded the abandoned token journal of another process')
    }
  }

  /** Serializes the flushes. A failed one is retried by the next tick. */
  function run(work: () => Promise<void>): Promise<void> {
    flushing = flushing.then(work).catch((error: unknown) => {
      log.warn({ err: error }, 'tokens could not be recorded; retrying')
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
    record({ deploymentId, organizationId, modelName }, usage, { userId, processingMilliseconds }) {
      const now = clock().getTime()
      const at = now - (now % secondMilliseconds)
      // After a long pause another process may have adopted the file.
      if (open !== null && Date.now() - open.openedAt > longestOpenMilliseconds) rotate()
      open ??= begin()
      if (open.second.at !== at) open.second = { at, totals: new Map() }
      const { totals } = open.second
      const key = `${deploymentId} ${userId} ${modelName}`
      let total = totals.get(key)
      if (total === undefined) {
        const entry = { deploymentId, organizationId, userId, modelName, at: new Date(at) }
        total = { ...entry, ...noUsage, head: toLineHead(entry) }
        totals.set(key, total)
        open.totals.push(total)
      }
      if (open.lines === '') setImmediate(write)
      open.lines += toLine(total.head, usage, processingMilliseconds)
      total.requests += 1
      total.inputTokens += usage.inputTokens
      total.outputTokens += usage.outputTokens
      total.cachedTokens = (total.cachedTokens ?? 0) + (usage.cachedTokens ?? 0)
      total.processingMilliseconds += processingMilliseconds
    },
    write,
    flush,
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}
