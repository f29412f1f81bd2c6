import { findMembers, memberNames } from '../../../gateway/json-walk.ts'
import { editBytes } from '../body-edits.ts'
import type { Edit, ReadBody } from '../body-edits.ts'
import { readUsageAt } from '../usage.ts'
import { readOpenAiUsage, modelAt } from './openai.ts'
import type { EventFormat, MemberValues } from './protocol.ts'

/** OpenAI's streams of chunks. They end with a chunk that holds only usage if the request asks for it with `stream_options`. */
export const openAiChunks: Omit<EventFormat, 'chunkMark'> = {
  modelAt,
  usageName: 'usage',
  readUsage: (chunk) => readUsageAt(chunk, ['usage'], readOpenAiUsage),
  openFilter: (values) => (includesUsage(values) ? null : isUsageChunk),
}

/** True for a chunk that holds only usage. */
function isUsageChunk(chunk: unknown): boolean {
  const { choices, usage } = (chunk ?? {}) as { choices?: unknown; usage?: unknown }
  return Array.isArray(choices) && choices.length === 0 && typeof usage === 'object' && usage !== null
}

/** True if the caller wants the chunk with the usage */
function includesUsage({ stream_options }: MemberValues): boolean {
  return (stream_options as { include_usage?: unknown } | null | undefined)?.include_usage === true
}

const includeUsage = '"include_usage":true'
const includeUsageName = memberNames(['include_usage'])

/** Asks for the usage of a stream if the caller did not. */
export function askForUsage({ bytes, members, values, streams }: ReadBody): Edit[] {
  if (!streams || includesUsage(values)) return []
  const options = members.filter(({ name }) => name === 'stream_options')
  if (options.length > 0) {
    return options.map(({ start, end }) => ({
      start,
      end,
      text: withUsage(bytes.toString('utf8', start, end)),
    }))
  }
  const at = bytes.indexOf('{') + 1
  return [{ start: at, end: at, text: `"stream_options":{${includeUsage}},` }]
}

/** Adds `include_usage` to stream options. Options that are neither an object nor null are left for the engine to reject. */
function withUsage(options: string): string {
  if (options === 'null') return `{${includeUsage}}`
  if (!options.startsWith('{')) return options
  const bytes = Buffer.from(options)
  const present = findMembers(bytes, includeUsageName).map((member) => ({ ...member, text: 'true' }))
  if (present.length > 0) return Buffer.concat(editBytes(bytes, present)).toString()
  return /^\{\s*\}$/.test(options) ? `{${includeUsage}}` : options.replace('{', `{${includeUsage},`)
}
