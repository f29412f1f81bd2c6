import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { BatchQueue } from '../../base/batch-queue.ts'
import type { Services } from '../../services.ts'
import { floorHour } from './hours.ts'
import {
  createJournalFile,
  listJournalFiles,
  noUsage,
  readJournalFile,
  removeJournalFile,
  toLine,
  toLineHead,
  toRowLine,
} from './journal-file.ts'
import type { JournalContent, JournalFile } from './journal-file.ts'
import { createJournalFolder, takeAbandonedFolders } from './journal-folder.ts'
import type { JournalFolder } from './journal-folder.ts'
import { hasOwnPrice } from './prices.ts'
import { deleteTokenBatch, recordTokenBatch } from './record-tokens.ts'
import { findLogLimit, toRow } from './request-log.ts'
import type { LoggedRequest } from './request-log.ts'
import type { CallerTime, TokenTotal, TokenUsage } from './token-usage.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'prices'> & { log: Logger }

interface Batch {
  id: string
  totals: TokenTotal[]
  /** Rows of the request log; null if only the file has them */
  rows: string[] | null
  /** The totals of the current second, by deployment, caller and model */
  second: { at: number; totals: Map<string, TokenTotal & { head: string }> }
  /** null when the file could not be created: the batch is only in memory */
  file: JournalFile | null
  /** Buffered lines: all requests that end in one turn of the event loop share one write */
  lines: string
}

const secondMilliseconds = 1000
const flushMilliseconds = 1_000
/** Batches whose rows stay in memory while the database is unreachable */
const rowsInMemory = 30
/** Flushes between two looks for the files of crashed processes */
const adoptionTicks = 10

/**
 * Counts tokens and logs requests, in memory and in a write-ahead file in `DATA_DIR/token-journal`. Every
 * second it rotates the file, records it under the batch id, and deletes it. Any process adopts the files of
 * one that is gone, whose lock tells; the batch id prevents double counting.
 */
export class TokenJournal {
  readonly #deps: Deps
  readonly #parent: string
  readonly #folder: JournalFolder
  readonly #closed: BatchQueue<Batch>
  readonly #timer: NodeJS.Timeout
  #open: Batch | null = null
  #ticks = 0

  private constructor(deps: Deps, parent: string, folder: JournalFolder) {
    this.#deps = deps
    this.#parent = parent
    this.#folder = folder
    this.#closed = new BatchQueue({
      write: ({ id, totals, rows }) =>
        recordTokenBatch(deps.db, id, async () =>
          this.#toBilled({ totals, rows: rows ?? (await readJournalFile(folder.path, id)).rows }),
        ),
      async afterwards({ id, file }) {
        file?.remove()
        await deleteTokenBatch(deps.db, id)
      },
      onError: (error) => deps.log.warn({ err: error }, 'tokens could not be recorded; retrying'),
    })
    this.#timer = setInterval(() => {
      if (this.#ticks % adoptionTicks === 0) void this.#closed.run(() => this.#adoptAbandoned())
      this.#ticks += 1
      void this.flush()
    }, flushMilliseconds)
  }

  static async open(deps: Deps, dataDirectory: string): Promise<TokenJournal> {
    const parent = join(dataDirectory, 'token-journal')
    return new TokenJournal(deps, parent, await createJournalFolder(parent))
  }

  /**
   * Counts a request, and logs it unless `request` is null or the log has no room for it. After the next
   * `write`, in the same turn of the event loop, it survives a crash.
   */
  record(
    {
      deploymentId,
      organizationId,
      modelName,
    }: Pick<TokenTotal, 'deploymentId' | 'organizationId' | 'modelName'>,
    usage: TokenUsage,
    { userId, outsideName = null, teamId = null, processingMilliseconds }: CallerTime,
    request: LoggedRequest | null = null,
  ): void {
    const now = this.#deps.clock().getTime()
    const at = now - (now % secondMilliseconds)
    const batch = this.#openBatch()
    if (batch.second.at !== at) batch.second = { at, totals: new Map() }
    const { totals } = batch.second
    const key = `${deploymentId} ${userId} ${modelName} ${teamId ?? ''} ${outsideName ?? ''}`
    let total = totals.get(key)
    if (total === undefined) {
      const caller = { userId, outsideName, teamId }
      const entry = { deploymentId, organizationId, ...caller, modelName, at: new Date(at) }
      total = { ...entry, ...noUsage, head: toLineHead(entry) }
      totals.set(key, total)
      batch.totals.push(total)
    }
    const row = request === null ? null : addRow(batch, request, usage, now)
    this.#append(batch, toLine(total.head, usage, { outsideName, teamId, processingMilliseconds }, row))
    total.requests += 1
    total.inputTokens += usage.inputTokens
    total.outputTokens += usage.outputTokens
    total.cachedTokens = (total.cachedTokens ?? 0) + (usage.cachedTokens ?? 0)
    total.processingMilliseconds += processingMilliseconds
  }

  /** Logs a request without tokens, if the log has room for it. */
  log(request: LoggedRequest): void {
    const batch = this.#openBatch()
    const row = addRow(batch, request, null, this.#deps.clock().getTime())
    if (row !== null) this.#append(batch, toRowLine(row))
  }

  #append(batch: Batch, line: string): void {
    if (batch.lines === '') setImmediate(() => this.write())
    batch.lines += line
  }

  /** Writes buffered lines to the journal file synchronously. */
  write(): void {
    if (this.#open === null || this.#open.lines === '') return
    const { lines } = this.#open
    this.#open.lines = ''
    try {
      this.#open.file?.append(lines)
    } catch (error) {
      this.#deps.log.error({ err: error }, 'the token journal can’t be written')
    }
  }

  /** Resolves when all counts recorded so far are in the database, or the database is unreachable. */
  flush(): Promise<void> {
    this.#rotate()
    return this.#closed.flush()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
    await this.#folder.close()
  }

  #openBatch(): Batch {
    if (this.#open !== null) return this.#open
    const id = randomUUID()
    let file: JournalFile | null = null
    try {
      file = createJournalFile(this.#folder.path, id)
    } catch (error) {
      this.#deps.log.error({ err: error }, 'the token journal can’t be written')
    }
    const second = { at: 0, totals: new Map() }
    this.#open = { id, totals: [], rows: [], second, file, lines: '' }
    return this.#open
  }

  #rotate(): void {
    if (this.#open === null) return
    this.write()
    try {
      this.#open.file?.close()
    } catch (error) {
      this.#deps.log.error({ err: error }, 'the token journal can’t be closed')
    }
    this.#closed.add(this.#open)
    this.#open = null
    const old = this.#closed.batches.at(-rowsInMemory - 1)
    if (old !== undefined) old.rows = old.file === null ? [] : null
  }

  async #adoptAbandoned(): Promise<void> {
    for await (const folder of takeAbandonedFolders(this.#parent, this.#folder)) {
      try {
        await this.#adopt(folder.path)
      } finally {
        await folder.close()
      }
    }
  }

  async #adopt(path: string): Promise<void> {
    const { db, log } = this.#deps
    for (const id of await listJournalFiles(path)) {
      await recordTokenBatch(db, id, async () => this.#toBilled(await readJournalFile(path, id)))
      await removeJournalFile(path, id)
      await deleteTokenBatch(db, id)
      log.info({ batch: id }, 'recorded the abandoned token journal of another process')
    }
  }

  /** Cached tokens without a separate price are input like all other. */
  #toBilled({ totals, rows }: JournalContent): JournalContent {
    const isPriced = ({ modelName, at }: TokenTotal) =>
      hasOwnPrice(this.#deps.prices, 'inference_cached_tokens', { model_name: modelName }, floorHour(at))
    return { totals: totals.map((each) => (isPriced(each) ? each : { ...each, cachedTokens: 0 })), rows }
  }
}

/** Adds the row of a request. Returns null if the batch, about a second's, has no room for it. */
function addRow(batch: Batch, request: LoggedRequest, usage: TokenUsage | null, now: number): string | null {
  const rows = batch.rows!
  if (rows.length >= findLogLimit(request)) return null
  const row = toRow(request, usage, now)
  rows.push(row)
  return row
}
