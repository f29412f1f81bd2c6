import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { readFile, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isRow } from './request-log.ts'
import type { TokenTotal, TokenUsage } from './token-usage.ts'

/** The token usage of one request. */
export type TokenEntry = Omit<TokenTotal, 'requests'>

/** An append-only file, named after its batch id. */
export interface JournalFile {
  /** Writes synchronously without fsync: lines survive a crash of the process, but not a power failure. */
  append(lines: string): void
  close(): void
  remove(): void
}

const name = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/

export function createJournalFile(directory: string, id: string): JournalFile {
  const path = join(directory, `${id}.jsonl`)
  const descriptor = openSync(path, 'ax', 0o600)
  return {
    append: (lines) => void writeSync(descriptor, lines),
    close: () => closeSync(descriptor),
    remove: () => unlinkSync(path),
  }
}

/** The start of an entry's line, shared by all entries of a deployment, caller and second. */
export function toLineHead(
  entry: Omit<TokenEntry, keyof TokenUsage | 'outsideName' | 'teamId' | 'processingMilliseconds'>,
): string {
  const { deploymentId, organizationId, userId, modelName, at } = entry
  return `${JSON.stringify([deploymentId, organizationId, userId, modelName, at.getTime()]).slice(0, -1)},`
}

/** An entry's line. With the row of the request log, so that a crash loses both or none. */
export function toLine(
  head: string,
  { inputTokens, outputTokens, cachedTokens = 0 }: TokenUsage,
  {
    outsideName = null,
    teamId = null,
    processingMilliseconds,
  }: Pick<TokenEntry, 'outsideName' | 'teamId' | 'processingMilliseconds'>,
  row: string | null,
): string {
  const caller = outsideName === null && teamId === null ? '' : `,${JSON.stringify(outsideName)},${teamId}`
  const end = row === null && caller === '' ? '' : `,${row}${caller}`
  return `${head}${inputTokens},${outputTokens},${cachedTokens},${processingMilliseconds}${end}]\n`
}

/** The line of a request that has no tokens. */
export function toRowLine(row: string): string {
  return `[${row}]\n`
}

/** The batch ids of the files in a folder. */
export async function listJournalFiles(directory: string): Promise<string[]> {
  return (await readdir(directory)).flatMap((file) => name.exec(file)?.[1] ?? [])
}

/** The content of a file. */
export interface JournalContent {
  totals: TokenTotal[]
  /** Rows for `insertRequests` */
  rows: string[]
}

/** Reads a file. A truncated last line and malformed lines are skipped. */
export async function readJournalFile(directory: string, id: string): Promise<JournalContent> {
  const text = await readFile(join(directory, `${id}.jsonl`), 'utf8')
  const lines = text.split('\n').slice(0, -1).map(parseLine)
  return {
    totals: sumEntries(lines.flatMap(({ entry }) => entry ?? [])),
    rows: lines.flatMap(({ row }) => row ?? []),
  }
}

export async function removeJournalFile(directory: string, id: string): Promise<void> {
  await unlink(join(directory, `${id}.jsonl`)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

function parseLine(line: string): { entry?: TokenEntry; row?: string } {
  try {
    const parsed = JSON.parse(line) as unknown[]
    const row = parsed.length === 1 ? parsed[0] : parsed[9]
    const entry = parseEntry(parsed)
    return { ...(entry && { entry }), ...(isRow(row) && { row: JSON.stringify(row) }) }
  } catch {
    return {}
  }
}

type EntryFields = [
  ...[deploymentId: string, organizationId: number, userId: number, modelName: string, at: number],
  ...[input: number, output: number, cached: number, processingMilliseconds: number],
  ...[row: unknown, outsideName: unknown, teamId: unknown],
]

function parseEntry(parsed: readonly unknown[]): TokenEntry | null {
  const [deploymentId, organizationId, userId, modelName, at, ...counted] = parsed as EntryFields
  const [inputTokens, outputTokens, cachedTokens, processingMilliseconds, , outside, team] = counted
  const counts = [organizationId, userId, at, inputTokens, outputTokens, cachedTokens, processingMilliseconds]
  if (!counts.every(Number.isSafeInteger) || typeof modelName !== 'string') return null
  if (!/^[0-9a-f-]{36}$/.test(deploymentId)) return null
  const outsideName = typeof outside === 'string' ? outside : null
  const teamId = Number.isSafeInteger(team) ? (team as number) : null
  const usage = { outsideName, teamId, inputTokens, outputTokens, cachedTokens, processingMilliseconds }
  return { deploymentId, organizationId, userId, modelName, at: new Date(at), ...usage }
}

/** What a total starts with. */
export const noUsage = {
  requests: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  processingMilliseconds: 0,
} as const

function sumEntries(entries: readonly TokenEntry[]): TokenTotal[] {
  const totals = new Map<string, TokenTotal>()
  for (const entry of entries) {
    const key = `${toLineHead(entry)}${entry.teamId ?? ''} ${entry.outsideName ?? ''}`
    const total = totals.get(key) ?? { ...entry, ...noUsage }
    total.requests += 1
    total.inputTokens += entry.inputTokens
    total.outputTokens += entry.outputTokens
    total.cachedTokens = (total.cachedTokens ?? 0) + (entry.cachedTokens ?? 0)
    total.processingMilliseconds += entry.processingMilliseconds
    totals.set(key, total)
  }
  return [...totals.values()]
}
