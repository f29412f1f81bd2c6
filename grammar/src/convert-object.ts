import type { Conversion } from './conversion.ts'
import { convertLanguage } from './convert-string.ts'
import { isSchema, propertiesOf } from './schema/json-schema.ts'
import type { Schema } from './schema/json-schema.ts'
import { toLiteral } from './string-grammar.ts'
import type { Language, LanguageAlgebra } from './strings/language.ts'

/** A property with its expression. */
interface Member {
  text: string
  optional: boolean
}

/** The expression of the objects that a schema accepts. */
export function convertObject(conversion: Conversion, schema: Schema, path: string): string {
  const { json, refuse, spend, convert } = conversion
  const { required = [], additionalProperties: others, propertyNames } = schema
  const properties = { ...propertiesOf(schema) }
  const isOpen = others === undefined ? schema['properties'] === undefined : others !== false
  const additional = others === undefined ? true : others
  const listed = isSchema(propertyNames) ? propertyNames['enum'] : undefined
  if (Array.isArray(listed)) {
    for (const name of listed) if (typeof name === 'string') properties[name] ??= additional
  }
  const always = new Set(required as string[])
  for (const name of always) {
    if (!Object.hasOwn(properties, name))
      refuse(path, '"required" must list names that "properties" describes')
  }
  const optional = Object.keys(properties).length - always.size
  // llama.cpp follows the beginnings of all optional properties at once.
  spend(optional ** 2 / 2, path, 'properties')
  const members = Object.entries(properties).map(([name, value]) => ({
    text: `${toLiteral(name, path, refuse)} ":" ${json.space} ${convert(value, `${path}/properties/${name.slice(0, 64)}`)}`,
    optional: !always.has(name),
  }))
  if (!isOpen || Array.isArray(listed)) return `"{" ${writeMembers(conversion, members, null)} "}"`
  const key = convertKey(conversion, propertyNames, Object.keys(properties), path)
  const extra = `${key} ":" ${json.space} ${convert(additional, `${path}/additionalProperties`)}`
  return `"{" ${writeMembers(conversion, members, extra)} "}"`
}

/** The key of an additional property, which must differ from the described properties. */
function convertKey(
  conversion: Conversion,
  propertyNames: unknown,
  described: readonly string[],
  path: string,
): string {
  const { writer, json, refuse, convert } = conversion
  if (propertyNames !== undefined && propertyNames !== true) {
    if (described.length > 0) refuse(path, '"propertyNames" beside "properties" is not supported')
    if (!isSchema(propertyNames)) return refuse(path, '"propertyNames" must be a schema')
    return convert({ type: 'string', allOf: [propertyNames] }, `${path}/propertyNames`)
  }
  if (described.length === 0) return json.text
  return writer.add(
    convertLanguage(conversion, path, (algebra) =>
      algebra.not(algebra.or(...described.map((name) => toWord(algebra, name)))),
    ),
  )
}

/** The language of one string. */
function toWord({ sequence, set, empty }: LanguageAlgebra, word: string): Language {
  return Array.from(word, (character) => character.codePointAt(0)!).reduceRight(
    (rest, point) => sequence(set([[point, point]]), rest),
    empty,
  )
}

/** An object's inside: described members in order, some optional, then additional members. */
function writeMembers(
  { writer, json }: Conversion,
  members: readonly Member[],
  extra: string | null,
): string {
  const { space } = json
  // Each rule continues an object that has no member yet (first) or has one (rest).
  let first = extra === null ? '' : `(${extra} ("," ${space} ${extra})* ${space})?`
  let rest = extra === null ? space : writer.add(`("," ${space} ${extra})* ${space}`)
  for (const { text: member, optional } of members.toReversed()) {
    const begin = `${member} ${rest}`
    first = optional ? (first === '' ? `(${begin})?` : writer.add(`${begin} | ${first}`)) : writer.add(begin)
    rest = writer.add(optional ? `("," ${space} ${member})? ${rest}` : `"," ${space} ${member} ${rest}`)
  }
  return `${space} ${first}`
}
