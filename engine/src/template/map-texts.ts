import { DictValue, isDict, isList, isText, ListValue, TextValue } from './values.ts'
import type { Value } from './values.ts'
import { isValue } from './to-value.ts'

/** Changes every text in data for a template, but no names of members. */
export function mapTexts(data: unknown, change: (text: string) => string): unknown {
  if (isValue(data)) return mapValue(data, change)
  if (typeof data === 'string') return change(data)
  if (Array.isArray(data)) return data.map((item) => mapTexts(item, change))
  if (typeof data !== 'object' || data === null) return data
  return Object.fromEntries(Object.entries(data).map(([name, item]) => [name, mapTexts(item, change)]))
}

function mapValue(value: Value, change: (text: string) => string): Value {
  if (isText(value)) return new TextValue(change(value.value))
  if (isList(value)) return new ListValue(value.value.map((item) => mapValue(item, change)))
  if (!isDict(value)) return value
  return new DictValue(new Map([...value.value].map(([name, item]) => [name, mapValue(item, change)])))
}
