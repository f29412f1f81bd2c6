import {
  FloatValue,
  isBoolean,
  isDict,
  isList,
  isNone,
  isNumber,
  isText,
  isUndefined,
  itemsOf,
  keysOf,
  LazyList,
} from './values.ts'
import type { Value } from './values.ts'

/** Python's `str(value)`; an undefined value is empty, as in Jinja. */
export function toText(value: Value): string {
  if (isText(value)) return value.value
  return isUndefined(value) ? '' : represent(value)
}

/** Python's `repr(value)`. */
function represent(value: Value): string {
  if (isText(value)) return quote(value.value)
  if (isBoolean(value)) return value.value ? 'True' : 'False'
  if (isNone(value)) return 'None'
  if (isUndefined(value)) return 'Undefined'
  if (isNumber(value)) return writeNumber(value)
  if (isList(value)) {
    const items = value.value.map(represent).join(', ')
    if (value.type !== 'TupleValue') return `[${items}]`
    return value.value.length === 1 ? `(${items},)` : `(${items})`
  }
  if (isDict(value)) {
    const pairs = itemsOf(value).map((pair) => (pair.value as Value[]).map(represent).join(': '))
    return `{${pairs.join(', ')}}`
  }
  throw new Error(`a ${value.type} has no text`)
}

/** A number as Python writes it, or as the caller wrote it. */
function writeNumber(value: Value<number>): string {
  const number = value.value
  if (!(value instanceof FloatValue) || 'digits' in value) return value.toString()
  const magnitude = Math.abs(number)
  if (magnitude !== 0 && (magnitude >= 1e16 || magnitude < 1e-4)) {
    return number.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
  }
  return Number.isInteger(number) ? number.toFixed(1) : String(number)
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inner = text.replace(/[\\\n\r\t]/g, (found) => escapes[found]!).replaceAll(mark, `\\${mark}`)
  // oxlint-disable-next-line no-control-regex -- Python escapes these characters
  return mark + inner.replace(/[\0-\x1f\x7f-\xa0\xad]/g, toHex) + mark
}

const toHex = (character: string): string => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`

/** How `toJson` writes: the arguments of `json.dumps`. */
export interface JsonStyle {
  ensureAscii: boolean
  indent: string | null
  separators: readonly [string, string] | null
  sortKeys: boolean
}

/** Python's `json.dumps(value, ensure_ascii=False)`, which transformers gives to templates as `tojson`. */
export function toJson(value: Value, style: JsonStyle, depth = 0): string {
  const [comma, colon] = style.separators ?? [style.indent === null ? ', ' : ',', ': ']
  const wrap = (open: string, items: readonly string[], close: string): string => {
    if (items.length === 0 || style.indent === null) return open + items.join(comma) + close
    const line = `\n${style.indent.repeat(depth + 1)}`
    return open + line + items.join(comma + line) + `\n${style.indent.repeat(depth)}` + close
  }
  if (isText(value)) return writeJsonText(value.value, style)
  if (isBoolean(value)) return String(value.value)
  if (isNone(value)) return 'null'
  if (isNumber(value)) return writeNumber(value)
  if (isList(value) && !(value instanceof LazyList)) {
    const items = value.value.map((item) => toJson(item, style, depth + 1))
    return wrap('[', items, ']')
  }
  if (isDict(value)) {
    const pairs = keysOf(value).map((key) => [toText(key), value.value.get(toText(key))!] as const)
    if (style.sortKeys) pairs.sort(([first], [second]) => (first < second ? -1 : 1))
    const items = pairs.map(
      ([key, item]) => writeJsonText(key, style) + colon + toJson(item, style, depth + 1),
    )
    return wrap('{', items, '}')
  }
  throw new Error(`a ${value.type} is not JSON serializable`)
}

function writeJsonText(text: string, { ensureAscii }: JsonStyle): string {
  const json = JSON.stringify(text)
  if (!ensureAscii) return json
  return json.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Python's `a == b`. */
export function areEqual(a: Value, b: Value): boolean {
  if (isList(a) && isList(b)) {
    return (
      a.value.length === b.value.length && a.value.every((item, index) => areEqual(item, b.value[index]!))
    )
  }
  if (isDict(a) && isDict(b)) {
    if (a.value.size !== b.value.size) return false
    return [...a.value].every(([key, item]) => b.value.has(key) && areEqual(item, b.value.get(key)!))
  }
  if (isCountable(a) && isCountable(b)) return Number(a.value) === Number(b.value)
  return a.value === b.value
}

const isCountable = (value: Value): boolean => isNumber(value) || isBoolean(value)

/** Python's `needle in haystack`. */
export function contains(haystack: Value, needle: Value): boolean {
  if (isUndefined(haystack)) return false
  if (isList(haystack)) return haystack.value.some((item) => areEqual(item, needle))
  if (isDict(haystack)) return haystack.value.has(toText(needle))
  if (isText(haystack) && isText(needle)) return haystack.value.includes(needle.value)
  throw new Error(`a ${haystack.type} can't contain a ${needle.type}`)
}
