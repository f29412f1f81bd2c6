import { isSchema } from './json-schema.ts'
import type { Schema } from './json-schema.ts'
import { constraintsOf } from './keywords.ts'

/** The keywords that llama-server's own conversion enforces, next to others of them */
const enforced = new Set([
  'type',
  'enum',
  'const',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
])
/** Those that it enforces only by themselves: it ignores constraints beside them. */
const alone = new Set(['anyOf', 'oneOf', '$ref', 'prefixItems'])

/**
 * The first constraint of a schema that llama-server ignores, as its build 11549 showed, with its path. Null
 * if it enforces all. The schema must have a grammar.
 */
export function findUnenforced(schema: unknown, path = '#'): { keyword: string; path: string } | null {
  if (!isSchema(schema)) return null
  const constraints = constraintsOf(schema)
  const keywords = Object.keys(constraints)
  const ignored = keywords.find((keyword) => !isEnforced(keyword, constraints))
  if (ignored !== undefined) return { keyword: ignored, path }
  for (const [place, part] of listParts(schema)) {
    const found = findUnenforced(part, `${path}/${place}`)
    if (found !== null) return found
  }
  return null
}

function isEnforced(keyword: string, constraints: Schema): boolean {
  if (enforced.has(keyword)) return true
  const beside = Object.keys(constraints).filter((other) => other !== keyword)
  if (alone.has(keyword)) return beside.every((other) => keyword === 'prefixItems' && other === 'type')
  if (keyword === 'format') return constraints['format'] === 'uuid' && constraints['type'] === 'string'
  return (keyword === 'minimum' || keyword === 'maximum') && constraints['type'] === 'integer'
}

function listParts(schema: Schema): (readonly [place: string, part: unknown])[] {
  const { items, additionalProperties } = schema
  return [
    ...['properties', '$defs', 'definitions'].flatMap((keyword) =>
      isSchema(schema[keyword])
        ? Object.entries(schema[keyword]).map(
            ([name, part]) => [`${keyword}/${name.slice(0, 64)}`, part] as const,
          )
        : [],
    ),
    ...['anyOf', 'oneOf', 'prefixItems'].flatMap((keyword) =>
      Array.isArray(schema[keyword])
        ? schema[keyword].map((part, at) => [`${keyword}/${at}`, part] as const)
        : [],
    ),
    ['items', items],
    ['additionalProperties', additionalProperties],
  ]
}
