import { text } from '../../text/index.ts'
import type { ParameterTexts } from './parameter-texts.ts'

export type ParameterErrors = Partial<Record<keyof ParameterTexts, string>>

const maxStopSequences = 4
/** Fields that the playground sets itself. */
const reserved = ['model', 'messages', 'stream', 'stream_options', 'n']

/** Parses the fields into the members of a chat request, with an error for each invalid field. */
export function readParameters(texts: ParameterTexts): {
  values: Record<string, unknown>
  errors: ParameterErrors
} {
  const values: Record<string, unknown> = {}
  const errors: ParameterErrors = {}
  const readNumber = (name: 'temperature' | 'top_p' | 'max_tokens' | 'seed', range: NumberRange) => {
    const written = texts[name].trim()
    if (written === '') return
    const value = Number(written.replace(',', '.'))
    if (value >= range.least && value <= range.most && (!range.whole || Number.isInteger(value))) {
      values[name] = value
    } else
      errors[name] = range.whole
        ? text.chatParameters.wholeNumber(range.least)
        : text.chatParameters.number(range)
  }
  readNumber('temperature', { least: 0, most: 2 })
  readNumber('top_p', { least: 0, most: 1 })
  readNumber('max_tokens', { least: 1, most: 2 ** 31 - 1, whole: true })
  readNumber('seed', { least: 0, most: Number.MAX_SAFE_INTEGER, whole: true })

  const stops = texts.stop.split('\n').filter((line) => line !== '')
  if (stops.length > maxStopSequences) errors.stop = text.chatParameters.tooManyStops(maxStopSequences)
  else if (stops.length > 0) values.stop = stops.map((line) => line.replaceAll(String.raw`\n`, '\n'))

  const tools = readTools(texts.tools)
  if (typeof tools === 'string') errors.tools = tools
  else if (tools.length > 0) values.tools = tools

  const extra = readExtra(texts.extra)
  if (typeof extra === 'string') errors.extra = extra
  else Object.assign(values, extra)
  return { values, errors }
}

interface NumberRange {
  least: number
  most: number
  whole?: boolean
}

/** Returns the functions, or an error message. */
function readTools(written: string): unknown[] | string {
  if (written.trim() === '') return []
  const value = parseJson(written)
  const isTool = (one: { function?: { name?: unknown } } | null) => typeof one?.function?.name === 'string'
  return Array.isArray(value) && value.every(isTool) ? value : text.chatParameters.noTools
}

/** Undefined if the text is no JSON. */
function parseJson(written: string): unknown {
  try {
    return JSON.parse(written)
  } catch {
    return undefined
  }
}

/** Returns the parsed object, or an error message. */
function readExtra(written: string): Record<string, unknown> | string {
  if (written.trim() === '') return {}
  const value = parseJson(written)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return text.chatParameters.notJson
  const taken = reserved.find((name) => name in value)
  return taken === undefined ? (value as Record<string, unknown>) : text.chatParameters.reservedField(taken)
}
