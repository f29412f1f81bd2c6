import { FORMATS } from './formats.ts'
import {
  areDisjoint,
  checkKeywords,
  constraintsOf,
  createRefusal,
  isSchema,
  mergeSchemas,
  propertiesOf,
  resolvePointer,
  typesOf,
  type Schema,
} from './json-schema.ts'
import { ANY_CHARACTER, createLanguageAlgebra, TooComplexError, type Language } from './language.ts'
import { NumberLimitsError, toNumberExpression } from './number-grammar.ts'
import { PatternError, toLanguage } from './regular-expression.ts'
import { CHARACTER_RULE, toLiteral, writeStringRules } from './string-grammar.ts'

const MAX_PARTS = 2000
const MAX_RULES = 40_000
const MAX_MERGES = 100
/** llama.cpp expands bounded repetitions, so large bounds make huge grammars. */
const MAX_REPETITION = 1000

/** A grammar in llama.cpp's notation (GBNF). */
export interface Grammar {
  /** Texts by rule name */
  rules: ReadonlyMap<string, string>
  /** The name of the rule for the whole value */
  start: string
}

/**
 * Converts a JSON Schema to a grammar whose every text matches the schema. Objects have their properties in the schema's order, and
 * additional properties only where the schema allows them explicitly or describes no property. Throws a RequestError (400) that names an
 * unsupported keyword. `param` is the path of the schema in the request's body.
 */
export function toGrammar(root: unknown, param: string): Grammar {
  const refuse = createRefusal(param)
  const rules = new Map<string, string>()
  const names = new Map<string, string>()
  const references = new Map<unknown, string>()
  /** References in conversion whose grammar has not consumed a character yet. llama.cpp rejects left recursion. */
  let open = new Set<string>()
  let parts = 0

  function reserve(): string {
    if (rules.size > MAX_RULES) refuse('#', 'its grammar is too large')
    const name = `r${rules.size}`
    rules.set(name, '')
    return name
  }
  function define(name: string, text: string): void {
    rules.set(name, text)
  }
  function add(text: string): string {
    const known = names.get(text)
    if (known !== undefined) return known
    const name = reserve()
    define(name, text)
    names.set(text, name)
    return name
  }

  const space = add('(" " | "\\n" [ \\t]{0,20})?')
  const character = add(CHARACTER_RULE)
  const text = add(`"\\"" ${character}* "\\""`)
  const list = (item: string, { min, max }: { min: number; max: number | null }): string => {
    if (max === 0) return space
    const more =
      max === 1 ? '' : `("," ${space} ${item}){${Math.max(0, min - 1)},${max === null ? '' : max - 1}}`
    const items = `${item} ${more} ${space}`
    return min === 0 ? `${space} (${items})?` : `${space} ${items}`
  }
  let anyValue: string | null = null
  function anything(): string {
    if (anyValue !== null) return anyValue
    anyValue = reserve()
    const members = list(`${text} ":" ${space} ${anyValue}`, { min: 0, max: null })
    const items = list(anyValue, { min: 0, max: null })
    const number = toNumberExpression({ integer: false }, add)
    const texts = [text, `${number}`, '"true"', '"false"', '"null"', `"{" ${members} "}"`, `"[" ${items} "]"`]
    define(anyValue, texts.join(' | '))
    return anyValue
  }

  /** The name of the rule for a schema. */
  function convert(schema: unknown, path: string): string {
    if (++parts > MAX_PARTS) refuse('#', `it has more than ${MAX_PARTS} parts`)
    if (schema === true) return anything()
    if (!isSchema(schema)) return refuse(path, 'it must be an object')
    const flat = flatten(schema, path)
    if ('reference' in flat) {
      const { target, reference } = flat
      const known = references.get(target)
      if (known !== undefined && open.has(known)) refuse(path, '"$ref" refers to itself')
      if (known !== undefined) return known
      const name = reserve()
      references.set(target, name)
      open.add(name)
      define(name, convert(target, reference))
      open.delete(name)
      return name
    }
    return convertFlat(flat.schema, path)
  }

  /** Checks a schema and merges `allOf` and the neighbors of `$ref` into it. A lone reference is returned with its target. */
  function flatten(
    schema: Schema,
    path: string,
    depth = 0,
  ): { schema: Schema } | { target: unknown; reference: string } {
    if (depth > MAX_MERGES) return refuse(path, 'it combines schemas recursively')
    checkMerged(schema, path)
    const { $ref: reference, allOf, ...rest } = constraintsOf(schema)
    let merged: Schema = rest
    if (typeof reference === 'string') {
      const target = resolvePointer(root, reference)
      if (target === undefined)
        refuse(path, `"$ref" must be a JSON pointer within the schema, such as "#/$defs/name"`)
      if (Object.keys(rest).length === 0 && allOf === undefined) return { target, reference }
      merged = merge(merged, target)
    }
    for (const part of (allOf as unknown[] | undefined) ?? []) merged = merge(merged, part)
    return { schema: merged }

    function merge(into: Schema, part: unknown): Schema {
      if (part === true) return into
      if (!isSchema(part)) return refuse(path, 'a combined schema must be an object')
      let flat = flatten(part, path, depth + 1)
      for (let jump = 0; 'reference' in flat; jump++) {
        if (flat.target === true) return into
        if (!isSchema(flat.target) || jump > MAX_MERGES) return refuse(path, '"$ref" must refer to a schema')
        flat = flatten(flat.target, flat.reference, depth + 1)
      }
      return mergeSchemas(into, flat.schema, path, refuse)
    }
  }

  /** Merged schemas hold lists of patterns and formats, which are checked where they come from. */
  function checkMerged(schema: Schema, path: string): void {
    const { pattern, format, ...rest } = schema
    checkKeywords(rest, path, refuse)
    for (const [keyword, value] of Object.entries({ pattern, format })) {
      for (const entry of [value ?? []].flat()) checkKeywords({ [keyword]: entry }, path, refuse)
    }
  }

  function convertFlat(schema: Schema, path: string): string {
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const { [keyword]: alternatives, ...rest } = schema
      if (alternatives === undefined) continue
      const merged = (alternatives as unknown[]).filter((part) => part !== false)
      const schemas =
        Object.keys(rest).length === 0 ? merged : merged.map((part) => ({ ...rest, allOf: [part] }))
      if (schemas.length === 0) refuse(path, `"${keyword}" accepts no value`)
      if (keyword === 'oneOf') checkDisjoint(schemas, path)
      return add(schemas.map((part, index) => convert(part, `${path}/${keyword}/${index}`)).join(' | '))
    }
    const values =
      schema['const'] === undefined ? (schema['enum'] as unknown[] | undefined) : [schema['const']]
    if (values !== undefined) return add(convertValues(values, schema, path))
    const types = typesOf(schema)
    if (types.length === 0) return anything()
    return add([...new Set(types)].map((type) => convertType(type, schema, path)).join(' | '))
  }

  function checkDisjoint(schemas: unknown[], path: string): void {
    const flat = schemas.map((part) => {
      let found: unknown = part
      for (let jump = 0; isSchema(found) && jump < MAX_MERGES; jump++) {
        const step = flatten(found, path)
        if (!('reference' in step)) return step.schema
        found = step.target
      }
      return {}
    })
    const overlaps = flat.some((one, index) =>
      flat.slice(index + 1).some((other) => !areDisjoint(one, other)),
    )
    if (overlaps) refuse(path, 'the alternatives of "oneOf" can overlap; use "anyOf"')
  }

  function convertValues(values: unknown[], schema: Schema, path: string): string {
    const types = typesOf({ type: schema['type'] })
    const fits = (value: unknown): boolean =>
      types.length === 0 ||
      types.includes(typeOf(value)) ||
      (Number.isInteger(value) && types.includes('integer'))
    const fitting = values.filter(fits)
    if (fitting.length === 0) return refuse(path, 'no value of "enum" or "const" has the "type"')
    return fitting
      .map(toLiteral)
      .map((literal) => checkText(literal, path))
      .join(' | ')
  }

  function convertType(type: string, schema: Schema, path: string): string {
    switch (type) {
      case 'object':
        return nested(() => convertObject(schema, path))
      case 'array':
        return nested(() => convertArray(schema, path))
      case 'string':
        return convertString(schema, path)
      case 'boolean':
        return '"true" | "false"'
      case 'null':
        return '"null"'
      default:
        return convertNumber(type === 'integer', schema, path)
    }
  }

  function nested(convertInside: () => string): string {
    const outside = open
    open = new Set()
    const converted = convertInside()
    open = outside
    return converted
  }

  function convertNumber(integer: boolean, schema: Schema, path: string): string {
    try {
      const limits = { integer, ...(schema as Record<string, number>) }
      return toNumberExpression(limits, add) ?? refuse(path, 'no number is within its bounds')
    } catch (error) {
      if (error instanceof NumberLimitsError) return refuse(path, error.message)
      throw error
    }
  }

  function convertString(schema: Schema, path: string): string {
    const { min, max } = bounds(schema, 'minLength', 'maxLength', path)
    const patterns = [schema['pattern'] ?? []].flat() as string[]
    const formats = ([schema['format'] ?? []].flat() as string[]).filter((format) => {
      if (Object.hasOwn(FORMATS, format)) return true
      // Libraries name their own formats beside the pattern that describes them.
      if (patterns.length === 0) refuse(path, `the format "${format.slice(0, 64)}" is not supported`)
      return false
    })
    if (patterns.length === 0 && formats.length === 0) {
      return min === 0 && max === null ? text : `"\\"" ${character}{${min},${max ?? ''}} "\\""`
    }
    return writeLanguage(path, (algebra) => {
      const { and, set, repeat } = algebra
      return and(
        repeat(set(ANY_CHARACTER), min, max ?? Infinity),
        ...formats.map((format) => toLanguage(algebra, `^(?:${FORMATS[format]})$`)),
        ...patterns.map((pattern) => toLanguage(algebra, pattern)),
      )
    })
  }

  function writeLanguage(
    path: string,
    build: (algebra: ReturnType<typeof createLanguageAlgebra>) => Language,
  ): string {
    try {
      const algebra = createLanguageAlgebra()
      const automaton = algebra.toAutomaton(build(algebra))
      if (automaton === null) return refuse(path, 'no string matches "pattern", "format" and the lengths')
      return writeStringRules(automaton, { reserve, define })
    } catch (error) {
      if (error instanceof PatternError) return refuse(path, `the "pattern" ${error.message}`)
      if (error instanceof TooComplexError) return refuse(path, 'the "pattern" is too complex')
      throw error
    }
  }

  function convertObject(schema: Schema, path: string): string {
    const { required = [], additionalProperties: others, propertyNames } = schema
    const properties = { ...propertiesOf(schema) }
    const isOpen = others === undefined ? schema['properties'] === undefined : others !== false
    const additional = others === undefined ? true : others
    const listed = isSchema(propertyNames) ? propertyNames['enum'] : undefined
    if (Array.isArray(listed)) {
      for (const name of listed.map(String)) properties[name] ??= additional
    }
    for (const name of required as string[]) {
      if (!Object.hasOwn(properties, name))
        refuse(path, '"required" must list names that "properties" describes')
    }
    const members = Object.entries(properties).map(([name, value]) => ({
      text: `${checkText(toLiteral(name), path)} ":" ${space} ${convert(value, `${path}/properties/${name.slice(0, 64)}`)}`,
      optional: !(required as string[]).includes(name),
    }))
    if (!isOpen || Array.isArray(listed)) return `"{" ${writeMembers(members, null)} "}"`
    const key = convertKey(propertyNames, Object.keys(properties), path)
    const extra = `${key} ":" ${space} ${convert(additional, `${path}/additionalProperties`)}`
    return `"{" ${writeMembers(members, extra)} "}"`
  }

  /** The key of an additional property, which must differ from the described properties. */
  function convertKey(propertyNames: unknown, described: string[], path: string): string {
    if (propertyNames !== undefined && propertyNames !== true) {
      if (described.length > 0) refuse(path, '"propertyNames" beside "properties" is not supported')
      if (!isSchema(propertyNames)) return refuse(path, '"propertyNames" must be a schema')
      return convert({ type: 'string', allOf: [propertyNames] }, `${path}/propertyNames`)
    }
    if (described.length === 0) return text
    return add(
      writeLanguage(path, ({ not, or, sequence, set, empty }) =>
        not(
          or(
            ...described.map((name) =>
              Array.from(name).reduceRight(
                (rest, part) => sequence(set([[part.codePointAt(0)!, part.codePointAt(0)!]]), rest),
                empty,
              ),
            ),
          ),
        ),
      ),
    )
  }

  /** The inside of an object: described members in order, the optional ones at will, then additional members. */
  function writeMembers(members: { text: string; optional: boolean }[], extra: string | null): string {
    // Each rule continues an object that has no member yet (first) or has one (rest).
    let first = extra === null ? '' : `(${extra} ("," ${space} ${extra})* ${space})?`
    let rest = extra === null ? space : add(`("," ${space} ${extra})* ${space}`)
    for (const { text: member, optional } of members.toReversed()) {
      const begin = `${member} ${rest}`
      first = optional ? (first === '' ? `(${begin})?` : add(`${begin} | ${first}`)) : add(begin)
      rest = add(optional ? `("," ${space} ${member})? ${rest}` : `"," ${space} ${member} ${rest}`)
    }
    return `${space} ${first}`
  }

  function convertArray(schema: Schema, path: string): string {
    const { items, prefixItems = [] } = schema
    const { min, max } = bounds(schema, 'minItems', 'maxItems', path)
    const prefix = (prefixItems as unknown[])
      .slice(0, max ?? Infinity)
      .map((item, index) => convert(item, `${path}/prefixItems/${index}`))
    const closed = items === false || (items === undefined && prefix.length > 0)
    if (closed && min > prefix.length) refuse(path, '"minItems" exceeds the described items')
    const isFull = closed || max === prefix.length
    if (prefix.length > 0) {
      const listed = prefix.join(` "," ${space} `)
      if (isFull) return `"[" ${space} ${listed} ${space} "]"`
      const item = convert(items, `${path}/items`)
      const more = `{${Math.max(0, min - prefix.length)},${max === null ? '' : max - prefix.length}}`
      return `"[" ${space} ${listed} ("," ${space} ${item})${more} ${space} "]"`
    }
    if (isFull) return `"[" ${space} "]"`
    return `"[" ${list(items === undefined ? anything() : convert(items, `${path}/items`), { min, max })} "]"`
  }

  function bounds(
    schema: Schema,
    least: string,
    most: string,
    path: string,
  ): { min: number; max: number | null } {
    const min = (schema[least] as number | undefined) ?? 0
    const max = (schema[most] as number | undefined) ?? Infinity
    if (min > MAX_REPETITION) refuse(path, `"${least}" must be at most ${MAX_REPETITION}`)
    if (min > max) refuse(path, `"${least}" must not exceed "${most}"`)
    return { min, max: max === Infinity ? null : Math.min(max, MAX_REPETITION) }
  }

  /** Rejects NUL, because llama.cpp reads the grammar as a C string. JSON escapes other control characters. */
  function checkText(literal: string, path: string): string {
    if (literal.includes('\\u0000')) refuse(path, 'names and values cannot contain the NUL character')
    return literal
  }

  const start = convert(root, '#')
  return { rules, start }
}

/** The text of a grammar, in which line feeds follow the value and stop the generation. */
export function toGrammarText({ rules, start }: Grammar): string {
  const root = `root ::= ${start} "${'\\n'.repeat(4)}" [\\n]*`
  return [root, ...[...rules].map(([name, text]) => `${name} ::= ${text}`)].join('\n')
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
