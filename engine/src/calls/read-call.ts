import type { ArgumentsFormat, CallFormat } from './call-format.ts'
import { isJson, isObject, readLooseMembers, readLooseValue } from './loose-value.ts'

/** A call that a model wrote; `arguments` is JSON. */
export interface ReadCall {
  name: string
  arguments: string
}

/** What stands at a place of an answer: calls up to `end`, the beginning of one, or something else. */
export type CallRead = { calls: readonly ReadCall[]; end: number } | 'incomplete' | 'text'

/** The tools that calls may name, with the schemas of their parameters. */
export type KnownTools = ReadonlyMap<string, { readonly properties?: Readonly<Record<string, unknown>> }>

/** What begins a section of calls, without white space and the bracket of a list. */
export function sectionMark({ sectionStart }: CallFormat): string {
  return sectionStart.trim().replace(/\s*\[$/, '')
}

interface NextCall {
  format: CallFormat
  tools: KnownTools
  /** True for the first call of a section */
  isFirst: boolean
  /** True if no more text follows */
  isLast: boolean
}

/**
 * Reads a turn's next call as models write them: other white space than the format, other order of members,
 * and a missing end. Returns `text` for a call of an unknown tool.
 */
export function readNextCall(text: string, { format, tools, isFirst, isLast }: NextCall): CallRead {
  const section = sectionMark(format)
  let at = skipSpace(text, 0)
  if (!isFirst && text[at] === ',') at = skipSpace(text, at + 1)
  const begun = isFirst && section !== '' ? skipLoosely(text, at, section) : null
  if (begun !== null) at = skipSpace(text, begun)
  // In a list of calls the bracket is no part of the first one.
  if (begun !== null && format.arguments.kind === 'parameters' && text[at] === '[') at++
  const marker = format.marker === section ? null : format.marker
  const marked = marker === null ? at : skipLoosely(text, at, marker)
  if (marked !== null) return readCall(text, marked, { format, tools, isLast })
  return mayBegin(text, at, marker!) ? 'incomplete' : 'text'
}

function readCall(text: string, at: number, { format, tools, isLast }: Omit<NextCall, 'isFirst'>): CallRead {
  const { arguments: form } = format
  const start = skipSpace(text, at)
  if (form.kind === 'json' && form.keys !== null)
    return readObjects(text, start, form.keys, { format, tools, isLast })
  const name = matchAt(/[\w.-]+/y, text, start)
  if (name === null) return start >= text.length ? 'incomplete' : 'text'
  const after = start + name.length
  if (after >= text.length) return 'incomplete'
  if (!tools.has(name)) return 'text'
  const read =
    form.kind === 'json'
      ? readNamed(text, after)
      : readParameters(text, after, form, format, tools.get(name)!)
  if (typeof read === 'string') return read
  const end = skipEnd(text, read.end, format, isLast)
  return end === null ? 'incomplete' : { calls: [{ name, arguments: read.json }], end }
}

type ArgumentsRead = { json: string; end: number } | 'incomplete' | 'text'

/** An object, or a list of objects, whose members are the name and the arguments. */
function readObjects(
  text: string,
  at: number,
  keys: { name: string | null; arguments: string },
  { format, tools, isLast }: Omit<NextCall, 'isFirst'>,
): CallRead {
  if (at >= text.length) return 'incomplete'
  if (text[at] !== '{' && text[at] !== '[') return 'text'
  const read = readLooseValue(text, at)
  if (read === 'incomplete') return 'incomplete'
  if (read === 'invalid') return 'text'
  const source = text.slice(at, read.end)
  const value = JSON.parse(read.json) as unknown
  const objects = Array.isArray(value) ? value : [value]
  const calls: ReadCall[] = []
  for (const object of objects) {
    const call = toCall(object, keys, objects.length === 1 ? findSource(source, keys) : null)
    if (call === null || !tools.has(call.name)) return 'text'
    calls.push(call)
  }
  if (calls.length === 0) return 'text'
  const end = skipEnd(text, read.end, format, isLast)
  return end === null ? 'incomplete' : { calls, end }
}

const argumentNames = ['arguments', 'parameters', 'args', 'input']

function toCall(
  object: unknown,
  keys: { name: string | null; arguments: string },
  source: string | null,
): ReadCall | null {
  if (typeof object !== 'object' || object === null) return null
  const members = object as Record<string, unknown>
  if (keys.name === null) {
    const [name, ...others] = Object.keys(members)
    return name === undefined || others.length > 0 ? null : { name, arguments: JSON.stringify(members[name]) }
  }
  const name = members[keys.name]
  if (typeof name !== 'string') return null
  const key = [keys.arguments, ...argumentNames].find((candidate) => Object.hasOwn(members, candidate))
  const given = key === undefined ? {} : members[key]
  if (typeof given === 'string' && isObject(given)) return { name, arguments: given }
  if (typeof given !== 'object' || Array.isArray(given)) return null
  return { name, arguments: given === null ? '{}' : (source ?? JSON.stringify(given)) }
}

/** The arguments in a JSON object as the model wrote them, with the same digits and order of members. */
function findSource(object: string, { arguments: key }: { arguments: string }): string | null {
  for (const candidate of [key, ...argumentNames]) {
    const member = `"${candidate}"`
    for (let at = object.indexOf(member); at >= 0; at = object.indexOf(member, at + 1)) {
      const colon = matchAt(/\s*:\s*/y, object, at + member.length)
      if (colon === null || depthAt(object, at) !== 1) continue
      const start = at + member.length + colon.length
      const read = readLooseValue(object, start)
      const source = typeof read === 'string' ? '' : object.slice(start, read.end)
      if (isObject(source)) return source
    }
  }
  return null
}

/** How many braces are open before `end`; the texts in the object are skipped. */
function depthAt(object: string, end: number): number {
  let depth = 0
  for (let at = 0; at < end; at++) {
    const character = object[at]
    if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    else if (character === '"') {
      at++
      while (at < end && object[at] !== '"') at += object[at] === '\\' ? 2 : 1
    }
  }
  return depth
}

/** What may stand between a name and its object: an id, a mark, a fence. */
const maxGap = 200

function readNamed(text: string, at: number): ArgumentsRead {
  const start = text.indexOf('{', at)
  if (start < 0) return text.length - at > maxGap ? 'text' : 'incomplete'
  if (start - at > maxGap) return 'text'
  const read = readLooseValue(text, start)
  if (read === 'invalid') return 'text'
  if (read === 'incomplete') return read
  const source = text.slice(start, read.end)
  return { json: isObject(source) ? source : read.json, end: read.end }
}

function readParameters(
  text: string,
  at: number,
  form: Extract<ArgumentsFormat, { kind: 'parameters' }>,
  format: CallFormat,
  { properties = {} }: { properties?: Readonly<Record<string, unknown>> },
): ArgumentsRead {
  if (form.notation !== 'json') return readPairs(text, at, form.notation)
  const middle = literals(format.middle)
  const opened = skipLoosely(text, at, middle)
  if (opened === null && mayBegin(text, at, middle)) return 'incomplete'
  let next = opened ?? at
  const members: string[] = []
  for (;;) {
    const begun = skipLoosely(text, next, form.start)
    if (begun === null) {
      // Something else begins, or the start of a parameter has not arrived whole.
      return mayBegin(text, next, form.start) ? 'incomplete' : { json: `{${members.join(', ')}}`, end: next }
    }
    const key = matchAt(/[^\s<>"'=]+/y, text, begun)
    if (key === null) return begun >= text.length ? 'incomplete' : 'text'
    const valueStart = [form.text.before, form.other.before]
      .map((before) => skipLoosely(text, begun + key.length, before, { trailingSpace: false }))
      .find((end) => end !== null)
    if (valueStart === undefined || valueStart === null) {
      return text.length - begun > key.length + maxGap ? 'text' : 'incomplete'
    }
    const close = form.text.after.trim()
    const end = text.indexOf(close, valueStart)
    if (end < 0) return 'incomplete'
    const value = removeFrame(text.slice(valueStart, end), form)
    members.push(`${JSON.stringify(key)}: ${toJson(value, properties[key])}`)
    next = end + close.length
  }
}

/** Pairs in parentheses or braces, as Python and Gemma write them. */
function readPairs(text: string, at: number, notation: 'python' | 'gemma'): ArgumentsRead {
  const [open, close] = notation === 'python' ? ['(', ')'] : ['{', '}']
  const start = skipSpace(text, at)
  if (start >= text.length) return 'incomplete'
  if (text[start] !== open) return 'text'
  const read = readLooseMembers(text, start + 1, close)
  if (read === 'invalid') return 'text'
  // What ends the call begins with the closing sign.
  return read === 'incomplete' ? read : { json: read.json, end: read.end - 1 }
}

/** The JSON of a parameter: a text if its schema says so, or if it is nothing else. */
function toJson(value: string, schema: unknown): string {
  const types = typesOf(schema)
  if (types.length > 0 && types.every((type) => type === 'string')) return JSON.stringify(value)
  const read = readLooseValue(`${value} `, 0)
  if (typeof read !== 'string' && value.slice(read.end).trim() === '') {
    const source = value.trim()
    return isJson(source) ? source : read.json
  }
  return JSON.stringify(value)
}

function typesOf(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null || !('type' in schema)) return []
  return [schema.type].flat().filter((type) => typeof type === 'string')
}

/** Skips what ends a call. Null while it may still arrive; a call whose JSON is complete needs it not. */
function skipEnd(text: string, at: number, format: CallFormat, isLast: boolean): number | null {
  const { arguments: form } = format
  let wanted = literals(format.end)
  if (form.kind === 'json' && form.keys !== null) wanted = wanted.slice(wanted.indexOf('}') + 1)
  if (wanted.trim() === '') return at
  const end = skipLoosely(text, at, wanted)
  if (end !== null) return end
  if (!mayBegin(text, at, wanted)) return at
  return isLast && form.kind === 'json' ? text.length : null
}

const literals = (text: CallFormat['end']): string =>
  text.map((part) => (typeof part === 'string' ? part : '')).join('')

/** The end of `wanted` at `at`, with any white space before, in and after it; null if it isn't there. */
export function skipLoosely(
  text: string,
  at: number,
  wanted: string,
  { trailingSpace = true } = {},
): number | null {
  let next = at
  for (const character of wanted) {
    if (/\s/.test(character)) continue
    next = skipSpace(text, next)
    if (text[next] !== character) return null
    next++
  }
  return trailingSpace && wanted.trim() !== '' && /\s$/.test(wanted) ? skipSpace(text, next) : next
}

/** True if the text ends at `at` or within `wanted`. */
export function mayBegin(text: string, at: number, wanted: string): boolean {
  const rest = text.slice(at).replace(/\s/g, '')
  return rest.length < wanted.replace(/\s/g, '').length && wanted.replace(/\s/g, '').startsWith(rest)
}

/** Takes the line feeds of the format from around a value, or a pair that the model has added. */
function removeFrame(value: string, { text }: Extract<ArgumentsFormat, { kind: 'parameters' }>): string {
  const before = /\n*$/.exec(text.before)![0] || '\n'
  const after = /^\n*/.exec(text.after)![0] || '\n'
  const isFramed =
    value.startsWith(before) && value.endsWith(after) && value.length >= before.length + after.length
  return isFramed ? value.slice(before.length, value.length - after.length) : value
}

export function skipSpace(text: string, at: number): number {
  let next = at
  while (next < text.length && /\s/.test(text[next]!)) next++
  return next
}

function matchAt(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? null
}
