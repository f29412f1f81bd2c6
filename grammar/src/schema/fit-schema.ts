import { parsePattern } from '../strings/regular-expression.ts'
import { isSchema } from './json-schema.ts'
import type { Schema } from './json-schema.ts'
import { findProblem } from './keywords.ts'

/** The largest length that llama.cpp's own conversion takes */
const maxLength = 1000
const limits = [
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
] as const

/**
 * Returns a schema of a tool that llama-server takes: without what its conversion refuses, which would fail
 * each chat with the tool. It accepts at least what `schema` does. The same object if there is nothing to
 * change.
 */
export function fitSchema(schema: Schema): Schema {
  return fitPart(schema, schema)
}

function fitPart(part: Schema, root: Schema): Schema {
  const entries = Object.entries(part)
  const fitted = entries.flatMap(([keyword, value]): [string, unknown][] => {
    const kept = fitValue(keyword, value, root)
    return kept === undefined ? [] : [[keyword, kept]]
  })
  const isSame =
    fitted.length === entries.length && fitted.every(([, value], at) => value === entries[at]![1])
  const kept = isSame ? part : Object.fromEntries(fitted)
  const crossed = limits.find(([least, most]) => Number(kept[least] ?? 0) > Number(kept[most] ?? Infinity))
  if (crossed === undefined) return kept
  return Object.fromEntries(
    Object.entries(kept).filter(([keyword]) => !(crossed as readonly string[]).includes(keyword)),
  )
}

/** undefined for an omitted value */
function fitValue(keyword: string, value: unknown, root: Schema): unknown {
  switch (keyword) {
    case 'properties':
    case '$defs':
    case 'definitions':
      return isSchema(value) ? fitEach(value, root) : undefined
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
    case 'prefixItems':
      return Array.isArray(value) && value.length > 0 ? fitList(value, root) : undefined
    case 'items':
      return isSchema(value) ? fitPart(value, root) : undefined
    case 'additionalProperties':
      return isSchema(value) ? fitPart(value, root) : typeof value === 'boolean' ? value : undefined
    case '$ref':
      return typeof value === 'string' && isTarget(value, root) ? value : undefined
    case 'minLength':
    case 'minItems':
    case 'maxLength':
    case 'maxItems':
      return findProblem(keyword, value) === null && (value as number) <= maxLength ? value : undefined
    case 'pattern':
      return typeof value === 'string' && isPattern(value) ? value : undefined
    case 'type':
      return findProblem(keyword, value) === null && [value].flat().length > 0 ? value : undefined
    default:
      return findProblem(keyword, value) === null ? value : undefined
  }
}

function fitEach(parts: Schema, root: Schema): Schema {
  const fitted = Object.entries(parts).map(([name, part]) => [name, fitAny(part, root)] as const)
  return fitted.every(([name, part]) => part === parts[name]) ? parts : Object.fromEntries(fitted)
}

function fitList(parts: readonly unknown[], root: Schema): readonly unknown[] {
  const fitted = parts.map((part) => fitAny(part, root))
  return fitted.every((part, at) => part === parts[at]) ? parts : fitted
}

/** llama-server takes no booleans as schemas. */
const fitAny = (part: unknown, root: Schema): Schema => (isSchema(part) ? fitPart(part, root) : {})

/** True for a reference to another part of the schema, which may not be a reference itself. */
function isTarget(reference: string, root: Schema): boolean {
  if (!reference.startsWith('#/')) return false
  let value: unknown = root
  for (const name of reference.slice(2).split('/')) {
    if (!isSchema(value) || !Object.hasOwn(value, name)) return false
    value = value[name]
  }
  return isSchema(value) && value['$ref'] === undefined
}

function isPattern(source: string): boolean {
  try {
    parsePattern(source)
  } catch {
    return false
  }
  return [...source.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].every(
    ([, least, most]) => Number(least) <= maxLength && Number(most || 0) <= maxLength,
  )
}
