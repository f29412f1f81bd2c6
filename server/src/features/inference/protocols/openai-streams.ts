import { findMembers, memberNames } from '../../../gateway/json-walk.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import { editBytes, startOfMembers } from './body-edits.ts'
import type { Edit, EditTarget, ReadBody } from './body-edits.ts'
import { readUsageAt, toTokenUsage } from './usage.ts'
import { openAiErrors, readOpenAiUsage, toOpenAiUsage } from './openai.ts'
import type { ChoiceCounts, EventFormat, EventRemoval, JsonObject, MemberValues } from './protocol.ts'

/** The members of a request that ask an engine to count as it goes, next to `stream_options` */
const timingRequests = ['timings_per_token', 'return_progress'] as const

/** Members that ask for counts */
const countRequests = ['stream_options', ...timingRequests] as const

/** Members of a request that the streams of chunks depend on */
export const streamMembers = ['n', ...countRequests] as const

/** A search jumps to the first letter, which is a rare one in chunks. */
const usageMark = 'ge"'

/** OpenAI's streams of chunks, with a last chunk of only usage if `stream_options` ask for it. */
export const openAiChunks: Omit<EventFormat, 'chunkMark' | 'isEmptyChunk'> = {
  counted: {
    usage: { member: 'usage', marks: [usageMark], read: readOpenAiUsage },
    timings: { member: 'timings', marks: ['gs"', usageMark, 'gress"'], read: readTimings },
  },
  countMark: usageMark,
  readUsage: (chunk) =>
    readUsageAt(chunk, ['usage'], readOpenAiUsage) ??
    readUsageAt(chunk, ['prompt_progress'], readProgress) ??
    readUsageAt(chunk, ['timings'], readTimings),
  openRemoval,
  openChoices,
  end: {
    complete: ['finish_reason":"'],
    lastComplete: ['finish_reason": "'],
    failed: ['error":'],
    errors: openAiErrors,
    wantsUsage: (values) => streamOptions(values)?.include_usage === true,
    composeUsage: (first, usage) => ({ ...(first as JsonObject), choices: [], usage: toOpenAiUsage(usage) }),
  },
}

interface ProgressCounts {
  cache_n?: unknown
  prompt_n?: unknown
  predicted_n?: unknown
  processed?: unknown
  cache?: unknown
}

/** Reads what llama-server counted up to a token. */
function readTimings({ cache_n, prompt_n, predicted_n }: ProgressCounts): TokenUsage | null {
  const processed = toTokenUsage(prompt_n, predicted_n ?? 0)
  const cached = toTokenUsage(cache_n ?? 0, 0)
  return processed === null || cached === null
    ? null
    : toTokenUsage(cached.inputTokens + processed.inputTokens, processed.outputTokens, cached.inputTokens)
}

/** Reads how much of the prompt llama-server has processed, cached tokens included. */
function readProgress({ processed, cache }: ProgressCounts): TokenUsage | null {
  return toTokenUsage(processed, 0, cache)
}

/** Engines that count as they go count each choice by itself. */
function openChoices({ n }: MemberValues, inEvents: EditTarget['counts']['inEvents']): ChoiceCounts | null {
  return inEvents === 'none' || typeof n !== 'number' || n <= 1
    ? null
    : new ChunkCounts(inEvents === 'timings')
}

interface ChunkWithChoices {
  choices?: readonly { index?: unknown }[]
}

/**
 * Adds up the counts of a stream with several choices. In an event with a choice, engines count that choice's
 * tokens; an event without choices has those of all, or, if `endsEach` is true as in llama-server, of the
 * choice that just ended.
 */
class ChunkCounts implements ChoiceCounts {
  readonly #endsEach: boolean
  readonly #outputTokens = new Map<unknown, number>()
  /** Of the last event with a choice */
  #index: unknown = 0
  /** null until an event has the tokens of all choices */
  #total: number | null = null

  constructor(endsEach: boolean) {
    this.#endsEach = endsEach
  }

  add(event: unknown, usage: Partial<TokenUsage> | null): Partial<TokenUsage> | null {
    const { choices } = (event ?? {}) as ChunkWithChoices
    const choice = Array.isArray(choices) ? (choices as { index?: unknown }[])[0] : undefined
    if (choice !== undefined) this.#index = choice?.index
    if (usage?.outputTokens === undefined) return usage
    if (choice === undefined && !this.#endsEach) this.#total = usage.outputTokens
    else this.#outputTokens.set(this.#index, usage.outputTokens)
    const sum = [...this.#outputTokens.values()].reduce((total, tokens) => total + tokens, 0)
    return { ...usage, outputTokens: this.#total ?? sum }
  }
}

const usageChunks: EventRemoval = {
  cutsCounts: false,
  leavesNull: false,
  judge: (chunk) => (saysOnlyUsage(chunk) ? 'drop' : 'keep'),
}

/** The usage so far in each event, by what becomes of the last chunk */
const runningUsage = { keep: removeRunningUsage('keep'), drop: removeRunningUsage('drop') } as const

function removeRunningUsage(usageChunk: 'keep' | 'drop'): EventRemoval {
  return {
    cutsCounts: true,
    leavesNull: usageChunk === 'keep',
    judge: (chunk) => (isUsageChunk(chunk) ? usageChunk : hasObject(chunk, 'usage') ? 'cut' : 'keep'),
  }
}

/** Selects what only Berth asked the engine for. */
function openRemoval(values: MemberValues, inEvents: EditTarget['counts']['inEvents']): EventRemoval | null {
  const options = streamOptions(values)
  const usageChunk = options?.include_usage === true ? 'keep' : 'drop'
  if (inEvents === 'none') return usageChunk === 'keep' ? null : usageChunks
  if (inEvents === 'usage') {
    const keepsAll = usageChunk === 'keep' && options?.continuous_usage_stats === true
    return keepsAll ? null : runningUsage[usageChunk]
  }
  const timings = values['timings_per_token'] === true ? 'keep' : 'cut'
  const progress = values['return_progress'] === true ? timings : 'drop'
  if (usageChunk === 'keep' && timings === 'keep' && progress === 'keep') return null
  return {
    cutsCounts: timings === 'cut',
    leavesNull: false,
    judge: (chunk) => {
      if (isUsageChunk(chunk)) return usageChunk
      return hasObject(chunk, 'prompt_progress') ? progress : timings
    },
  }
}

/** True for a chunk that holds only usage. */
function isUsageChunk(chunk: unknown): boolean {
  const { choices } = (chunk ?? {}) as { choices?: unknown }
  return Array.isArray(choices) && choices.length === 0 && hasObject(chunk, 'usage')
}

/** True for a chunk with usage whose choices, if any, say nothing. Some proxies send it last. */
function saysOnlyUsage(chunk: unknown): boolean {
  const { choices } = (chunk ?? {}) as { choices?: unknown }
  return hasObject(chunk, 'usage') && Array.isArray(choices) && choices.every(saysNothing)
}

function saysNothing(choice: unknown): boolean {
  const { index: _, delta, ...others } = (choice ?? {}) as Record<string, unknown>
  const isEmpty = typeof delta === 'object' && delta !== null && Object.keys(delta).length === 0
  return isEmpty && Object.values(others).every((value) => value === null)
}

function hasObject(chunk: unknown, name: string): boolean {
  const value = (chunk as Record<string, unknown> | null)?.[name]
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

interface StreamOptions {
  include_usage?: unknown
  continuous_usage_stats?: unknown
}

function streamOptions({ stream_options }: MemberValues): StreamOptions | null | undefined {
  return stream_options as StreamOptions | null | undefined
}

/** Asks for what the engine can count as it goes, and for the usage of a stream. */
export function askForUsage({ bytes, members, streams }: ReadBody): Edit[] {
  if (!streams) return []
  const edits: Edit[] = []
  for (const { name, start, end } of members) {
    if (!(countRequests as readonly string[]).includes(name)) continue
    const given = bytes.toString('utf8', start, end)
    edits.push({ start, end, text: (target) => toAsked(name, given, target) })
  }
  const at = startOfMembers(bytes)
  const missing = countRequests.filter((wanted) => !members.some(({ name }) => name === wanted))
  const insert = (target: EditTarget): string =>
    missing
      .map((name) => (isAsked(name, target) ? `"${name}":${toAsked(name, 'null', target)},` : ''))
      .join('')
  return [{ start: at, end: at, text: insert }, ...edits]
}

function isAsked(name: string, { counts }: EditTarget): boolean {
  return name === 'stream_options' || counts.inEvents === 'timings'
}

/** The value of a member for an engine, instead of what the caller gave. */
function toAsked(name: string, given: string, target: EditTarget): string {
  if (name === 'stream_options') return withUsage(given, target)
  return isAsked(name, target) ? 'true' : given
}

const usageOptions = {
  include_usage: memberNames(['include_usage']),
  continuous_usage_stats: memberNames(['continuous_usage_stats']),
}

/** Sets options of the usage to true. The engine rejects stream options that are no object. */
function withUsage(options: string, target: EditTarget): string {
  const last = withOption(options, 'include_usage', target)
  return target.counts.inEvents === 'usage' ? withOption(last, 'continuous_usage_stats', target) : last
}

function withOption(options: string, name: keyof typeof usageOptions, target: EditTarget): string {
  if (options === 'null') return `{"${name}":true}`
  if (!options.startsWith('{')) return options
  const bytes = Buffer.from(options)
  const present = findMembers(bytes, usageOptions[name])
  if (present.length > 0) {
    const edits = present.map((member) => ({ ...member, text: 'true' }))
    return Buffer.concat(editBytes(bytes, edits, target)).toString()
  }
  return /^\{\s*\}$/.test(options) ? `{"${name}":true}` : options.replace('{', `{"${name}":true,`)
}
