import type { GbnfJsonSchema } from 'node-llama-cpp'
import { invalid } from './errors.ts'

type Schema = Record<string, unknown>

/** Maximum nesting of a body: deeper than real requests, far from a stack overflow. */
const MAX_DEPTH = 100
const MAX_NODES = 2000
/** llama.cpp expands bounded repetitions, so large bounds make huge grammars. */
const MAX_REPETITION = 1000

/** Annotations, which do not constrain generation. */
const ANNOTATIONS = new Set([
  '$schema',
  '$id',
  '$comment',
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'nullable',
  'strict',
])
/** Constraints that a grammar cannot express. */
const CONSTRAINTS = new Set([
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'contentEncoding',
  'contentMediaType',
])
const STRUCTURE = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'prefixItems',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'format',
  'enum',
  'const',
  'oneOf',
  'anyOf',
  '$ref',
  '$defs',
  'definitions',
])
const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'])
const FORMATS = new Set(['date-time', 'time', 'date'])

/** Accepts any JSON value. */
const ANYTHING: GbnfJsonSchema = {
  oneOf: [
    { type: ['string', 'number', 'boolean', 'null'] },
    { type: 'object', additionalProperties: true },
    { type: 'array' },
  ],
}

/** Accepts any JSON object, for `response_format: json_object`. */
export const ANY_OBJECT: GbnfJsonSchema = { type: 'object', additionalProperties: true }

/** True when a parsed JSON value exceeds the maximum nesting. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true
    level = level.flatMap((entry) =>
      typeof entry === 'object' && entry !== null ? Object.values(entry) : [],
    )
  }
  return false
}

/**
 * Converts a JSON Schema to the subset that node-llama-cpp can turn into a grammar. Optional properties are always generated.
 * Throws a RequestError (400) for an unsupported keyword. With `lenient`, value constraints such as `pattern` are ignored: tool
 * parameters often carry them as hints.
 */
export function toGrammarSchema(
  root: unknown,
  { param, lenient }: { param: string; lenient: boolean },
): GbnfJsonSchema {
  let nodes = 0
  const refuse = (path: string, reason: string): never => {
    throw invalid(param, `The schema is not supported at ${path}: ${reason}.`, 'invalid_json_schema')
  }
  if (!isSchema(root)) return refuse('#', 'it must be an object')
  const definitions = { ...asSchema(root['definitions']), ...asSchema(root['$defs']) }

  function convert(schema: unknown, path: string): GbnfJsonSchema {
    if (++nodes > MAX_NODES) refuse(path, `it has more than ${MAX_NODES} parts`)
    if (schema === true) return ANYTHING
    if (!isSchema(schema)) return refuse(path, 'it must be an object')
    for (const keyword of Object.keys(schema)) {
      const known = STRUCTURE.has(keyword) || ANNOTATIONS.has(keyword) || CONSTRAINTS.has(keyword)
      if (!known) refuse(path, `the keyword "${keyword.slice(0, 64)}" is not supported`)
      if (CONSTRAINTS.has(keyword) && !lenient) refuse(path, `the keyword "${keyword}" is not supported`)
    }

    if (schema['$ref'] !== undefined) return convertReference(schema['$ref'], path)
    if (schema['const'] !== undefined) return { const: literal(schema['const'], path) }
    if (schema['enum'] !== undefined) {
      const values = schema['enum']
      if (!Array.isArray(values) || values.length === 0)
        return refuse(path, '"enum" must be a list of values')
      return { enum: values.map((value) => literal(value, path)) }
    }
    const alternatives = schema['oneOf'] ?? schema['anyOf']
    if (alternatives !== undefined) {
      if (!Array.isArray(alternatives) || alternatives.length === 0) {
        return refuse(path, '"oneOf" and "anyOf" must be lists of schemas')
      }
      return { oneOf: alternatives.map((entry, index) => convert(entry, `${path}/oneOf/${index}`)) }
    }

    const types = typesOf(schema, path)
    if (types.length === 0) return ANYTHING
    const converted = types.map((type) => convertType(type, schema, path))
    return converted.length === 1 ? converted[0]! : { oneOf: converted }
  }

  function convertReference(reference: unknown, path: string): GbnfJsonSchema {
    const name = /^#\/(?:\$defs|definitions)\/([^/~%]+)$/.exec(String(reference))?.[1]
    if (name === undefined || name.includes('\0') || !Object.hasOwn(definitions, name)) {
      return refuse(path, '"$ref" must name an entry of "$defs" at the root')
    }
    return { $ref: `#/$defs/${name}` } as unknown as GbnfJsonSchema
  }

  function typesOf(schema: Schema, path: string): string[] {
    const named = schema['type']
    const types: unknown[] = named === undefined ? [] : Array.isArray(named) ? named : [named]
    if (!types.every((type) => typeof type === 'string' && TYPES.has(type))) {
      return refuse(path, '"type" must be a JSON type or a list of JSON types')
    }
    if (types.length > 0) return types as string[]
    if (schema['properties'] !== undefined || schema['additionalProperties'] !== undefined) return ['object']
    return schema['items'] !== undefined || schema['prefixItems'] !== undefined ? ['array'] : []
  }

  function convertType(type: string, schema: Schema, path: string): GbnfJsonSchema {
    if (type === 'object') return convertObject(schema, path)
    if (type === 'array') return convertArray(schema, path)
    if (type !== 'string') return { type: type as 'number' }
    const format = schema['format']
    if (typeof format === 'string' && FORMATS.has(format)) return { type, format: format as 'date' }
    if (format !== undefined && !lenient) refuse(path, 'this "format" isn\'t supported')
    return { type, ...bounds(schema, 'minLength', 'maxLength', path) }
  }

  function convertObject(schema: Schema, path: string): GbnfJsonSchema {
    const properties = asSchema(schema['properties'])
    const entries = Object.entries(properties)
    for (const name of Object.keys(properties)) checkText(name, path)
    const required: unknown = schema['required'] ?? []
    const named = Array.isArray(required) && required.every((name) => Object.hasOwn(properties, String(name)))
    if (!named) refuse(path, '"required" must list names that "properties" describes')
    const others = schema['additionalProperties']
    return {
      type: 'object',
      properties: Object.fromEntries(
        entries.map(([name, value]) => [name, convert(value, `${path}/properties/${name.slice(0, 64)}`)]),
      ),
      // JSON Schema allows additional properties by default. They are generated only if the schema describes no property.
      additionalProperties:
        isSchema(others) && Object.keys(others).length > 0
          ? convert(others, `${path}/additionalProperties`)
          : others === true ||
            isSchema(others) ||
            (others === undefined && schema['properties'] === undefined),
    }
  }

  /** Rejects NUL, because llama.cpp reads the grammar as a C string. */
  function checkText(text: string, path: string): void {
    if (text.includes('\0')) refuse(path, 'names and values cannot contain the NUL character')
  }

  function convertArray(schema: Schema, path: string): GbnfJsonSchema {
    const { items, prefixItems } = schema
    return {
      type: 'array',
      ...(items === undefined ? {} : { items: convert(items, `${path}/items`) }),
      ...(Array.isArray(prefixItems)
        ? { prefixItems: prefixItems.map((item, index) => convert(item, `${path}/prefixItems/${index}`)) }
        : {}),
      ...bounds(schema, 'minItems', 'maxItems', path),
    }
  }

  function bounds<Least extends string, Most extends string>(
    schema: Schema,
    least: Least,
    most: Most,
    path: string,
  ): Partial<Record<Least | Most, number>> {
    const found: Partial<Record<string, number>> = {}
    for (const name of [least, most]) {
      const value = schema[name]
      if (value === undefined) continue
      if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {
        return refuse(path, `"${name}" must be a non-negative integer`)
      }
      if (value <= MAX_REPETITION) found[name] = value
      else if (name === least) refuse(path, `"${name}" must be at most ${MAX_REPETITION}`)
    }
    if ((found[least] ?? 0) > (found[most] ?? Infinity)) refuse(path, `"${least}" must not exceed "${most}"`)
    return found
  }

  function literal(value: unknown, path: string): string | number | boolean | null {
    if (typeof value === 'string') checkText(value, path)
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as string
    return refuse(path, '"enum" and "const" accept strings, numbers, booleans and null')
  }

  const converted = convert(root, '#')
  if (Object.keys(definitions).length === 0) return converted
  const $defs = Object.fromEntries(
    Object.entries(definitions).map(([name, schema]) => [
      name,
      convert(schema, `#/$defs/${name.slice(0, 64)}`),
    ]),
  )
  return { ...converted, $defs } as GbnfJsonSchema
}

const INTEGER = '("0" | [1-9] [0-9]{0,15})'
const EXPONENT = ` ([eE] [-+]? ${INTEGER})?`

/**
 * Restricts the numbers in a grammar of node-llama-cpp, which allows integers with exponents (12e-1) and exponents that overflow a
 * JSON parser.
 */
export function narrowNumbers(grammar: string): string {
  return grammar
    .replaceAll(INTEGER + EXPONENT, INTEGER)
    .replaceAll(EXPONENT, ' ([eE] [-+]? ("0" | [1-9] [0-9]?))?')
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function asSchema(value: unknown): Schema {
  return isSchema(value) ? value : {}
}
