import {
  BooleanValue,
  DictValue,
  ExactFloat,
  ExactInteger,
  FloatValue,
  IntegerValue,
  ListValue,
  NoneValue,
  TextValue,
  UndefinedValue,
} from './values.ts'
import type { Value } from './values.ts'

const anyValue = Object.getPrototypeOf(TextValue) as abstract new () => Value

export function isValue(data: unknown): data is Value {
  return data instanceof anyValue
}

/** Converts data of JavaScript to a value of templates. Values in it stay unchanged. */
export function toValue(data: unknown): Value {
  if (isValue(data)) return data
  if (data === null) return new NoneValue(null)
  if (data === undefined) return new UndefinedValue(undefined)
  if (typeof data === 'string') return new TextValue(data)
  if (typeof data === 'boolean') return new BooleanValue(data)
  if (typeof data === 'number') return Number.isInteger(data) ? new IntegerValue(data) : new FloatValue(data)
  if (Array.isArray(data)) return new ListValue(data.map(toValue))
  return new DictValue(new Map(Object.entries(data).map(([name, item]) => [name, toValue(item)])))
}

const jsonToken = /"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/g

/** Reads JSON; unlike `JSON.parse`, keeps members' order and numbers' digits. Throws a SyntaxError. */
export function readJson(text: string): Value {
  JSON.parse(text)
  const tokens = text.match(jsonToken) ?? []
  let next = 0
  const readValue = (): Value => {
    const token = tokens[next++]!
    if (token === '{') return readDict()
    if (token === '[') return readList()
    if (token.startsWith('"')) return new TextValue(JSON.parse(token) as string)
    if (token === 'null') return new NoneValue(null)
    if (token === 'true' || token === 'false') return new BooleanValue(token === 'true')
    return /^-?\d+$/.test(token) ? new ExactInteger(token) : new ExactFloat(token)
  }
  const readDict = (): Value => {
    const members = new Map<string, Value>()
    while (tokens[next] !== '}') {
      if (tokens[next] === ',') next++
      const name = JSON.parse(tokens[next]!) as string
      next += 2
      members.set(name, readValue())
    }
    next++
    return new DictValue(members)
  }
  const readList = (): Value => {
    const items: Value[] = []
    while (tokens[next] !== ']') {
      if (tokens[next] === ',') next++
      items.push(readValue())
    }
    next++
    return new ListValue(items)
  }
  return readValue()
}
