import type { GrammarWriter } from './grammar-writer.ts'
import type { Refuse } from './schema/json-schema.ts'
import type { Automaton } from './strings/automaton.ts'
import { hasPoint, subtractRanges } from './strings/ranges.ts'
import type { Ranges } from './strings/ranges.ts'

const quote = '"\\""'
/** Characters that JSON escapes, with the escape in a grammar's notation. */
const escapes: readonly (readonly [point: number, escape: string])[] = [
  [8, '"\\\\b"'],
  [9, '"\\\\t"'],
  [10, '"\\\\n"'],
  [12, '"\\\\f"'],
  [13, '"\\\\r"'],
  [34, '"\\\\\\""'],
  [92, '"\\\\\\\\"'],
]
const notPlain: Ranges = [
  [0, 31],
  [34, 34],
  [92, 92],
  [0xd800, 0xdfff],
]

/** One character of a JSON string: plain, or an escape other than a surrogate's. */
export const characterRule = String.raw`[^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" ([0-9a-ce-fA-CE-F] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))`

/** Adds a rule per state of the automaton. Returns the expression of a JSON string that it accepts. */
export function writeStringRules(
  { states }: Automaton,
  rules: Pick<GrammarWriter, 'reserve' | 'define'>,
): string {
  const names = states.map(() => rules.reserve())
  for (const [index, { accepting, edges }] of states.entries()) {
    const alternatives = edges.flatMap(({ ranges, to }) =>
      toAlternatives(ranges).map((text) => `${text} ${names[to]}`),
    )
    if (accepting) alternatives.push(quote)
    rules.define(names[index]!, alternatives.join(' | '))
  }
  return `${quote} ${names[0]}`
}

/**
 * Adds rules for text through the first `end`. Each rule knows how much of `end` has just matched (Knuth,
 * Morris, Pratt). With `then`, this follows `end`, and the text may also stop before `end`.
 */
export function writeTextUntil(
  end: string,
  rules: Pick<GrammarWriter, 'reserve' | 'define'>,
  then?: string,
): string {
  const characters = Array.from(end)
  const names = characters.map(() => rules.reserve())
  const known = [...new Set(characters)]
  for (const [matched, name] of names.entries()) {
    const alternatives = known.map((character) => {
      const next = countMatched(characters, [...characters.slice(0, matched), character])
      return `${toText(character)} ${next === characters.length ? (then ?? '') : names[next]}`
    })
    const others = known.map((character) => toHex(character.codePointAt(0)!)).join('')
    const stop = then === undefined ? [] : ['""']
    rules.define(name, [...alternatives, `[^${others}] ${names[0]}`, ...stop].join(' | '))
  }
  return names[0]!
}

/** The length of the longest end of `text` that begins `wanted`. */
function countMatched(wanted: readonly string[], text: readonly string[]): number {
  for (let length = Math.min(wanted.length, text.length); length > 0; length--) {
    const end = text.slice(text.length - length)
    if (end.every((character, index) => character === wanted[index])) return length
  }
  return 0
}

/** A text as a literal in a grammar's notation. */
export function toText(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
  return `"${escaped}"`
}

/** A JSON value as a literal in a grammar's notation. */
export function toLiteral(value: unknown, path: string, refuse: Refuse): string {
  return quoteJson(writeJson(value, path, refuse))
}

function writeJson(value: unknown, path: string, refuse: Refuse): string {
  const text = JSON.stringify(value)
  // llama.cpp reads the grammar as a C string. JSON escapes other control characters.
  if (text.includes('\\u0000')) refuse(path, 'names and values cannot contain the NUL character')
  return text
}

const quoteJson = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`

/** Longer lists are written as a tree, because llama.cpp follows all alternatives that may still match. */
const maxListed = 16

/** The expression of a list of JSON values. */
export function writeValues(
  values: readonly unknown[],
  rules: Pick<GrammarWriter, 'add'>,
  path: string,
  refuse: Refuse,
): string {
  const texts = [...new Set(values.map((value) => writeJson(value, path, refuse)))]
  if (texts.length <= maxListed) return texts.map(quoteJson).join(' | ')
  return writeTree(texts.map((text) => Array.from(text)).toSorted(compare), 0, rules)
}

const compare = (left: readonly string[], right: readonly string[]): number => {
  const [one, other] = [left.join(''), right.join('')]
  return one < other ? -1 : one > other ? 1 : 0
}

/** The rest of sorted texts from the character `at`; they are equal before it. */
function writeTree(
  texts: readonly (readonly string[])[],
  at: number,
  rules: Pick<GrammarWriter, 'add'>,
): string {
  const first = texts[0]!
  const last = texts.at(-1)!
  let end = at
  while (end < first.length && first[end] === last[end]) end++
  const common = quoteJson(first.slice(at, end).join(''))
  if (texts.length === 1) return common
  const alternatives: string[] = []
  let start = 0
  if (first.length === end) {
    alternatives.push('""')
    start = 1
  }
  while (start < texts.length) {
    const character = texts[start]![end]
    let next = start + 1
    while (next < texts.length && texts[next]![end] === character) next++
    alternatives.push(writeTree(texts.slice(start, next), end, rules))
    start = next
  }
  const rest = rules.add(alternatives.join(' | '))
  return end === at ? rest : `${common} ${rest}`
}

function toAlternatives(ranges: Ranges): string[] {
  const plain = subtractRanges(ranges, notPlain)
  const escaped = escapes.filter(([point]) => hasPoint(ranges, point)).map(([, escape]) => escape)
  const written = plain.map(([first, last]) =>
    first === last ? toHex(first) : `${toHex(first)}-${toHex(last)}`,
  )
  return [...(written.length === 0 ? [] : [`[${written.join('')}]`]), ...escaped]
}

function toHex(point: number): string {
  if (point < 0x80 && /[a-zA-Z0-9]/.test(String.fromCharCode(point))) return String.fromCharCode(point)
  return `\\U${point.toString(16).padStart(8, '0')}`
}
