import type { Conversion } from './conversion.ts'
import { convertArray } from './convert-array.ts'
import { convertNumber } from './convert-number.ts'
import { convertObject } from './convert-object.ts'
import { convertString } from './convert-string.ts'
import { GrammarWriter } from './grammar-writer.ts'
import { createJsonRules } from './json-rules.ts'
import { areAllDisjoint, countOverlapping } from './schema/disjoint-schemas.ts'
import { flattenSchema, followReferences } from './schema/flatten-schema.ts'
import type { SchemaSource } from './schema/flatten-schema.ts'
import { isSchema, refuseSchema, spendFrom, tooComplex, typesOf } from './schema/json-schema.ts'
import type { Schema } from './schema/json-schema.ts'
import { writeValues } from './string-grammar.ts'
import { WorkBudget } from './work-budget.ts'

const maxParts = 2000
/** The most ways to read the beginning of a value that llama.cpp may have to follow at once */
const maxOverlap = 256
/** The steps of a schema that converts within half a second */
const usualSteps = 2_000_000

/** A grammar in llama.cpp's notation (GBNF). */
export interface Grammar {
  /** Texts by rule name */
  rules: ReadonlyMap<string, string>
  /** The name of the rule for the whole value */
  start: string
}

/**
 * Converts a JSON Schema to a grammar whose every text matches it. Objects have properties in the schema's
 * order, and additional ones only if it allows them explicitly or describes none. Throws a SchemaError that
 * names an unsupported keyword, or one that takes more steps than `budget` has. `prefix` begins the names of
 * rules.
 */
export function toGrammar(
  root: unknown,
  { prefix, budget = new WorkBudget(usualSteps) }: { prefix?: string; budget?: WorkBudget } = {},
): Grammar {
  const refuse = refuseSchema
  const spend = spendFrom(budget)
  const writer = new GrammarWriter(refuse, prefix, budget)
  const json = createJsonRules(writer)
  const source: SchemaSource = { root, refuse, spend, flattened: new Map() }
  let parts = 0
  const strings: Conversion['strings'] = new Map()
  let overlap = 1
  const convert = (schema: unknown, path: string): string => {
    if (++parts > maxParts) refuse('#', `it has more than ${maxParts} parts`)
    if (schema === true) return json.anything()
    if (!isSchema(schema)) return refuse(path, 'it must be an object')
    const flat = flattenSchema(source, schema, path)
    if ('reference' in flat)
      return writer.refer(flat.target, path, () => convert(flat.target, flat.reference))
    const conversion = { writer, json, refuse, budget, spend, strings, convert, diverge }
    return convertFlat(conversion, source, flat.schema, path)
  }
  const diverge: Conversion['diverge'] = (ways, path, keyword, write) => {
    const outside = overlap
    overlap *= ways
    if (overlap > maxOverlap) throw tooComplex(path, keyword)
    const written = write()
    overlap = outside
    return written
  }
  try {
    return { rules: writer.rules, start: convert(root, '#') }
  } catch (error) {
    if (error instanceof RangeError) return refuse('#', 'its parts are nested too deeply')
    throw error
  }
}

/** The text of a grammar for llama.cpp. */
export function toGrammarText({ rules, start }: Grammar): string {
  return [`root ::= ${start}`, ...[...rules].map(([name, text]) => `${name} ::= ${text}`)].join('\n')
}

/** The name of the rule for a schema without `$ref` and `allOf`. */
function convertFlat(conversion: Conversion, source: SchemaSource, schema: Schema, path: string): string {
  const { writer, json, refuse, spend, convert, diverge } = conversion
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    if (schema[keyword] === undefined) continue
    const schemas = listAlternatives(schema, keyword)
    if (schemas.length === 0) refuse(path, `"${keyword}" accepts no value`)
    const spendSteps = (steps: number): void => spend(steps, path, keyword)
    const flat = schemas.map((part) => followReferences(source, part, path))
    if (keyword === 'oneOf' && !areAllDisjoint(flat, spendSteps)) {
      refuse(path, 'the alternatives of "oneOf" can overlap; use "anyOf"')
    }
    const alternatives = diverge(Math.max(1, countOverlapping(flat, spendSteps)), path, keyword, () =>
      schemas.map((part, index) => convert(part, `${path}/${keyword}/${index}`)).join(' | '),
    )
    return writer.add(alternatives)
  }
  const values = schema['const'] === undefined ? (schema['enum'] as unknown[] | undefined) : [schema['const']]
  if (values !== undefined) return writer.add(convertValues(conversion, values, schema, path))
  const types = typesOf(schema)
  if (types.length === 0) return json.anything()
  const expressions = [...new Set(types)].map((type) => convertType(conversion, type, schema, path))
  writer.describe(path, mostCostly(schema))
  return writer.add(expressions.join(' | '))
}

/** The alternatives of `anyOf` or `oneOf`, each with the keywords beside it. */
function listAlternatives(schema: Schema, keyword: 'anyOf' | 'oneOf'): unknown[] {
  const { [keyword]: alternatives, ...rest } = schema
  const possible = (alternatives as unknown[]).filter((part) => part !== false)
  return Object.keys(rest).length === 0 ? possible : possible.map((part) => ({ ...rest, allOf: [part] }))
}

/** The keyword that makes the grammar of a value large, if one does. */
function mostCostly(schema: Schema): string {
  const keywords = ['maxItems', 'minItems', 'maxLength', 'minLength', 'properties', 'type']
  return keywords.find((keyword) => schema[keyword] !== undefined) ?? 'type'
}

function convertValues(
  { writer, refuse, spend }: Conversion,
  values: unknown[],
  schema: Schema,
  path: string,
): string {
  const keyword = schema['const'] === undefined ? 'enum' : 'const'
  spend(values.length * 20, path, keyword)
  writer.describe(path, keyword)
  const types = typesOf({ type: schema['type'] })
  const fits = (value: unknown): boolean =>
    types.length === 0 ||
    types.includes(typeOf(value)) ||
    (Number.isInteger(value) && types.includes('integer'))
  const fitting = values.filter(fits)
  if (fitting.length === 0) return refuse(path, 'no value of "enum" or "const" has the "type"')
  return writeValues(fitting, writer, path, refuse)
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function convertType(conversion: Conversion, type: string, schema: Schema, path: string): string {
  switch (type) {
    case 'object':
      return conversion.writer.nest(() => convertObject(conversion, schema, path))
    case 'array':
      return conversion.writer.nest(() => convertArray(conversion, schema, path))
    case 'string':
      return convertString(conversion, schema, path)
    case 'boolean':
      return '"true" | "false"'
    case 'null':
      return '"null"'
    default:
      return convertNumber(conversion, type === 'integer', schema, path)
  }
}
