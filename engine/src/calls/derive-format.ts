import { MarkedAnswerReader } from './answer-reader.ts'
import type { ReadPiece } from './answer-reader.ts'
import type { ArgumentsFormat, CallFormat, CallText, ThoughtFormat } from './call-format.ts'

/** A message for a template, with arguments in the form that the template takes. */
interface ProbeCall {
  id: string
  name: string
  arguments: Readonly<Record<string, unknown>>
}

interface ProbeAnswer {
  content: string
  thought?: string
  calls?: readonly ProbeCall[]
}

/** Renders a user's message, then this answer; null for the prompt of an answer. Throws as templates do. */
export type RenderProbe = (answer: ProbeAnswer | null) => string

const words = 'Probe text'
const number = 4711
const first: ProbeCall = {
  id: 'probe0001',
  name: 'first_probe',
  arguments: { arg_a: words, arg_b: number, arg_c: words },
}
const second: ProbeCall = { id: 'probe0002', name: 'second_probe', arguments: { arg_a: words } }
const content = 'A probing answer.'

/**
 * Finds how a template writes calls, by rendering known ones: the text around names and arguments is the
 * format. Returns null if the template writes no calls, or in an unknown form.
 */
export function deriveCallFormat(render: RenderProbe): CallFormat | null {
  const several = attempt(() => render({ content, calls: [first, second] }))
  const text =
    several?.includes(second.name) === true ? several : attempt(() => render({ content, calls: [first] }))
  if (text === null || !text.includes(first.name)) return null
  const from = findAnswer(text, render)
  const turnEnd = attempt(() => cut(render({ content }), content)) ?? ''
  const format = readCalls({ text, from, turnEnd, several: text === several })
  return format !== null && readsBack(format, text.slice(from)) ? format : null
}

/** True if the format finds the call that the template wrote. */
function readsBack(format: CallFormat, text: string): boolean {
  const tools = new Map([first.name, second.name].map((name) => [name, {}]))
  const reader = new MarkedAnswerReader({
    thoughts: null,
    startsInThought: false,
    calls: { format, tools, most: 2 },
  })
  const calls = [...reader.push(text), ...reader.finish()].filter(({ type }) => type === 'call')
  const wanted = format.allowsSeveral ? [first, second] : [first]
  return JSON.stringify(calls.map(toComparable)) === JSON.stringify(wanted.map(toComparable))
}

function toComparable(call: ReadPiece | ProbeCall) {
  if (!('name' in call)) return null
  const given = typeof call.arguments === 'string' ? (JSON.parse(call.arguments) as object) : call.arguments
  return [call.name, Object.entries(given).toSorted(([one], [other]) => one.localeCompare(other))]
}

interface Rendered {
  text: string
  /** Where the calls begin */
  from: number
  /** What ends every answer */
  turnEnd: string
  several: boolean
}

interface Span {
  start: number
  end: number
}

function readCalls({ text, from, turnEnd, several }: Rendered): CallFormat | null {
  const name = findSpan(text, first.name, from)
  if (name === null) return null
  const parts = readJsonArguments(text, name) ?? readParameters(text, name)
  if (parts === null) return null
  const head = text.slice(from, name.start)
  const next = several ? findSpan(text, second.name, parts.end) : null
  const following = next === null ? null : (readJsonArguments(text, next) ?? readParameters(text, next))
  if (next !== null && following === null) return null

  const lastEnd =
    following === null ? parts.end : following.end + skipTextEnd(parts.form, text, following.end)
  const afterLast = removeContent(text.slice(lastEnd))
  const tail = turnEnd !== '' && afterLast.endsWith(turnEnd) ? afterLast.slice(0, -turnEnd.length) : afterLast
  const between = next === null ? null : text.slice(parts.end, next.start)
  const start = between === null ? head : commonEnd(maskIds(head), maskIds(between), head)
  const rest = between === null ? tail : between.slice(0, between.length - start.length)
  const end = between === null ? tail : commonStart(maskIds(rest), maskIds(tail), rest)
  const sectionStart = head.slice(0, head.length - start.length).trimStart()
  // A template separates the first call from content in the same way as calls from each other.
  const gap = sectionStart === '' ? start.slice(0, start.length - start.trimStart().length) : ''
  return finishFormat({
    sectionStart,
    start: start.slice(gap.length),
    middle: parts.middle,
    nextMiddle: following?.middle ?? null,
    end,
    separator: rest.slice(end.length) + gap,
    sectionEnd: tail.slice(end.length).trimEnd(),
    form: parts.form,
    allowsSeveral: several,
  })
}

interface RawFormat {
  sectionStart: string
  start: string
  middle: string
  nextMiddle: string | null
  end: string
  separator: string
  sectionEnd: string
  form: ArgumentsFormat
  allowsSeveral: boolean
}

function finishFormat(raw: RawFormat): CallFormat {
  const { form } = raw
  let opening = ''
  let keys: { name: string | null; arguments: string } | null = null
  if (form.kind === 'json') {
    const before = /\{[^{}]*?"(\w+)"\s*:\s*"$/.exec(raw.start)
    const inside = /^"\s*,\s*"(\w+)"\s*:\s*$/.exec(raw.middle)
    const keyed = /\{\s*"$/.exec(raw.start)
    if (before !== null && inside !== null) {
      opening = before[0]
      keys = { name: before[1]!, arguments: inside[1]! }
    } else if (keyed !== null && /^"\s*:\s*$/.test(raw.middle)) {
      opening = keyed[0]
      keys = { name: null, arguments: '' }
    }
  }
  const marker = (raw.sectionStart + raw.start.slice(0, raw.start.length - opening.length)).trim()
  const single = raw.start
    .slice(0, raw.start.length - opening.length)
    .split(first.id)[0]!
    .trim()
  return {
    sectionStart: raw.sectionStart,
    sectionEnd: raw.sectionEnd,
    separator: raw.separator,
    start: toCallText(raw.start),
    middle: toCallText(raw.middle, raw.nextMiddle),
    end: toCallText(raw.end),
    arguments: form.kind === 'json' ? { kind: 'json', keys } : form,
    allowsSeveral: raw.allowsSeveral,
    marker: single !== '' ? single : marker !== '' ? marker.replace(/\s*\[$/, '') : null,
  }
}

/** Where name and arguments are written as `NAME middle {…}`. */
interface Arguments {
  middle: string
  form: ArgumentsFormat
  /** The end of the arguments */
  end: number
}

function readJsonArguments(text: string, name: Span): Arguments | null {
  const found = /\{\s*"arg_a"\s*:/.exec(text.slice(name.end))
  if (found === null) return null
  const start = name.end + found.index
  const end = text.indexOf('}', start) + 1
  try {
    JSON.parse(text.slice(start, end))
  } catch {
    return null
  }
  return { middle: text.slice(name.end, start), form: { kind: 'json', keys: null }, end }
}

function readParameters(text: string, name: Span): Arguments | null {
  const key = findSpan(text, 'arg_a', name.end)
  const value = key && findSpan(text, words, key.end)
  if (key === null || value === null) return null
  const middleAndStart = text.slice(name.end, key.start)
  const isFirst = text.slice(name.start, name.end) === first.name
  if (!isFirst) return { middle: middleAndStart, form: dummyForm, end: value.end }
  const numberKey = findSpan(text, 'arg_b', value.end)
  const numberValue = numberKey && findSpan(text, String(number), numberKey.end)
  const lastKey = numberValue && findSpan(text, 'arg_c', numberValue.end)
  const lastValue = lastKey && findSpan(text, words, lastKey.end)
  if (numberKey === null || numberValue === null || lastKey === null || lastValue === null) return null

  const afterText = text.slice(value.end, numberKey.start)
  const start = commonEnd(middleAndStart, afterText)
  const afterNumber = text.slice(numberValue.end, lastKey.start)
  const textEnd = commonStart(afterText.slice(0, -start.length || undefined), text.slice(lastValue.end))
  const separator = afterText.slice(textEnd.length, afterText.length - start.length)
  const otherEnd = afterNumber.slice(0, afterNumber.length - start.length - separator.length)
  const before = text.slice(key.end, value.start)
  return {
    middle: middleAndStart.slice(0, middleAndStart.length - start.length),
    form: {
      kind: 'parameters',
      start,
      separator,
      text: { before, after: textEnd },
      other: { before: text.slice(numberKey.end, numberValue.start), after: otherEnd },
      notation: before.endsWith("'") ? 'python' : before.endsWith('<|"|>') ? 'gemma' : 'json',
    },
    end: lastValue.end + textEnd.length,
  }
}

/** The length of what ends a text at `at`, for a call whose arguments end with one. */
function skipTextEnd(form: ArgumentsFormat, text: string, at: number): number {
  return form.kind === 'parameters' && text.startsWith(form.text.after, at) ? form.text.after.length : 0
}

/** Some templates write the content after the calls. */
function removeContent(text: string): string {
  const at = text.indexOf(content)
  return at < 0 ? text : text.slice(0, at)
}

/** The second call shows only what surrounds it. */
const dummyForm: ArgumentsFormat = { kind: 'json', keys: null }

/** Where the part of an answer after its content begins. Templates may leave the content out. */
function findAnswer(text: string, render: RenderProbe): number {
  const at = text.indexOf(content)
  if (at >= 0 && at < text.indexOf(first.name)) return at + content.length
  const prompt = attempt(() => render(null)) ?? ''
  const plain = attempt(() => render({ content })) ?? ''
  const shared = Math.max(commonStart(text, prompt).length, commonStart(text, plain).length)
  return shared
}

/** Finds how a template writes thoughts. Returns null if it shows none and its source mentions none. */
export function deriveThoughtFormat(render: RenderProbe, source: string): ThoughtFormat | null {
  const thought = 'A probing thought.'
  const text = attempt(() => render({ content, thought })) ?? ''
  const withCall = attempt(() => render({ content, thought, calls: [first] })) ?? ''
  for (const shown of [text, withCall]) {
    const at = shown.indexOf(thought)
    if (at < 0) continue
    const start = /(<[^<>]*>|\[[A-Z]+\]|<\|[^|]*\|>[^<]*)\s*$/.exec(shown.slice(0, at))
    const end = /^\s*(<[^<>]*>|\[[^\]]+\])/.exec(shown.slice(at + thought.length))
    if (start !== null && end !== null) return { start: start[1]!.trim(), end: end[1]!.trim() }
  }
  const known = [
    ['<think>', '</think>'],
    ['[THINK]', '[/THINK]'],
  ].find(([start, end]) => source.includes(start!) && source.includes(end!))
  return known === undefined ? null : { start: known[0]!, end: known[1]! }
}

function toCallText(text: string, other: string | null = null): CallText {
  const parts: (string | { part: 'id' | 'index' })[] = []
  for (const [index, part] of text.split(first.id).entries()) {
    if (index > 0) parts.push({ part: 'id' })
    const at = other === null ? -1 : findIndex(part, other)
    if (at < 0) parts.push(part)
    else parts.push(part.slice(0, at), { part: 'index' }, part.slice(at + 1))
  }
  return parts.filter((part) => part !== '')
}

/** Where the first call has its index 0 and the second one 1; -1 if the texts differ in something else. */
function findIndex(text: string, other: string): number {
  if (text === other) return -1
  const found = [...text.matchAll(/0/g)].find(
    ({ index }) => `${text.slice(0, index)}1${text.slice(index + 1)}` === other,
  )
  return found?.index ?? -1
}

const maskIds = (text: string): string => text.replaceAll(second.id, first.id).replaceAll(/"[01]"/g, '"0"')

function findSpan(text: string, part: string, from: number): Span | null {
  const start = text.indexOf(part, from)
  return start < 0 ? null : { start, end: start + part.length }
}

const cut = (text: string, after: string): string => text.slice(text.lastIndexOf(after) + after.length)

/** A tag is one piece, so that what two texts share ends at the edges of tags. */
const piece = /<[^<>\s"']*>|\[[^[\]\s"']+\]|\w+|[^]/g

/** The longest common end in whole pieces, taken from `source`, which is as long as the first text. */
function commonEnd(one: string, other: string, source = one): string {
  const [ones, others] = [one.match(piece) ?? [], other.match(piece) ?? []]
  let length = 0
  for (let index = 1; index <= Math.min(ones.length, others.length); index++) {
    if (ones.at(-index) !== others.at(-index)) break
    length += ones.at(-index)!.length
  }
  return source.slice(source.length - length)
}

function commonStart(one: string, other: string, source = one): string {
  const [ones, others] = [one.match(piece) ?? [], other.match(piece) ?? []]
  let length = 0
  for (let index = 0; index < Math.min(ones.length, others.length); index++) {
    if (ones[index] !== others[index]) break
    length += ones[index]!.length
  }
  return source.slice(0, length)
}

function attempt(run: () => string): string | null {
  try {
    return run()
  } catch {
    return null
  }
}
