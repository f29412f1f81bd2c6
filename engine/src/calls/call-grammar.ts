import type { Grammar } from '@berth/grammar/grammar.ts'
import { GrammarWriter } from '@berth/grammar/grammar-writer.ts'
import { isSchema, refuseSchema, typesOf } from '@berth/grammar/schema/json-schema.ts'
import type { Schema } from '@berth/grammar/schema/json-schema.ts'
import { toText, writeTextUntil } from '@berth/grammar/string-grammar.ts'
import type { WorkBudget } from '@berth/grammar/work-budget.ts'
import type { ArgumentsFormat, CallFormat, CallText, ThoughtFormat } from './call-format.ts'
import { sectionMark } from './read-call.ts'

/** A tool that the answer may call, with the schema that its arguments must match. */
export interface CallableTool {
  name: string
  parameters: Schema
}

/** What an answer must look like. */
export interface AnswerRules {
  format: CallFormat
  tools: readonly CallableTool[]
  /** The most calls of the answer */
  most: number
  thoughts: ThoughtFormat | null
  startsInThought: boolean
  /** Instead of calls: nothing (`call`), any text with calls after it (`text`), or a JSON value */
  otherwise: 'call' | 'text' | Grammar
}

type ParametersFormat = Extract<ArgumentsFormat, { kind: 'parameters' }>

/**
 * The grammar of answers with calls in the model's form. `convert` makes that of a schema, with a prefix.
 * Throws a SchemaError if the grammar needs more work than `budget` has.
 */
export function createAnswerGrammar(
  { format, tools, most, thoughts, startsInThought, otherwise }: AnswerRules,
  convert: (schema: Schema, tool: string, prefix: string) => Grammar,
  budget?: WorkBudget,
): Grammar {
  const writer = new GrammarWriter(refuseSchema, 'c', budget)
  const rules = new Map<string, string>()
  const add = (grammar: Grammar): string => {
    for (const [name, text] of grammar.rules) rules.set(name, text)
    return grammar.start
  }
  let converted = 0
  const include = (schema: Schema, tool: string): string => add(convert(schema, tool, `s${converted++}r`))
  const written = tools.map(({ name, parameters }) => ({
    name,
    given: writer.add(writeArguments(format, parameters, name, { writer, include }) || '""'),
  }))
  /** Calls after the text `begun` */
  const writeCalls = (begun: string): string => {
    const inSection = format.sectionStart.slice(begun.length)
    const isSection = format.sectionStart !== ''
    const call = writeAlternatives(format, written, '', writer)
    const first = isSection ? call : writeAlternatives(format, written, begun, writer)
    const more =
      most > 1 && format.allowsSeveral ? `(${toText(format.separator)} ${call}){0,${most - 1}}` : ''
    const parts = [isSection ? toText(inSection) : '', first, more, toText(format.sectionEnd)]
    return writer.add(parts.filter((part) => part !== '' && part !== '""').join(' '))
  }
  const answer = writeAnswer(format, writeCalls, otherwise, { writer, add })
  const start = writer.add(`${writeThought({ thoughts, startsInThought }, writer)} ${answer}`)
  for (const [name, text] of writer.rules) rules.set(name, text)
  return { rules, start }
}

/** The grammar of a value that may follow thoughts; `before` is a constant text before the value. */
export function createValueGrammar(
  value: Grammar,
  thinks: Pick<AnswerRules, 'thoughts' | 'startsInThought'>,
  before = '',
): Grammar {
  const writer = new GrammarWriter(refuseSchema, 'c')
  const parts = [writeThought(thinks, writer), before === '' ? '' : toText(before), value.start]
  const start = writer.add(parts.filter((part) => part !== '').join(' '))
  return { rules: new Map([...value.rules, ...writer.rules]), start }
}

/** One call of any tool after `begun`. */
function writeAlternatives(
  format: CallFormat,
  tools: readonly { name: string; given: string }[],
  begun: string,
  writer: GrammarWriter,
): string {
  const [first = '', ...others] = format.start
  const start = typeof first === 'string' ? [first.slice(begun.length), ...others] : format.start
  const calls = tools.map(({ name, given }) =>
    [writeText(start), toText(name), writeText(format.middle), given, writeText(format.end)]
      .filter((part) => part !== '' && part !== '""')
      .join(' '),
  )
  return writer.add(calls.join(' | '))
}

interface Parts {
  writer: GrammarWriter
  include: (schema: Schema, tool: string) => string
}

function writeAnswer(
  format: CallFormat,
  writeCalls: (begun: string) => string,
  otherwise: AnswerRules['otherwise'],
  { writer, add }: { writer: GrammarWriter; add: (grammar: Grammar) => string },
): string {
  if (otherwise === 'call') return writeCalls('')
  if (otherwise !== 'text') return `(${writeCalls('')} | ${add(otherwise)})`
  const mark = sectionMark(format) || format.marker
  if (mark === null) return `(${writeCalls('')} | [^{] [^\\x00]* | "")`
  return writeTextUntil(mark, writer, writeCalls(mark))
}

function writeThought(
  { thoughts, startsInThought }: Pick<AnswerRules, 'thoughts' | 'startsInThought'>,
  writer: GrammarWriter,
): string {
  if (thoughts === null) return ''
  const space = '[ \\n]{0,4}'
  const rest = `${writeTextUntil(thoughts.end, writer)} ${space}`
  return startsInThought ? rest : `(${toText(thoughts.start)} ${rest})?`
}

function writeArguments(format: CallFormat, parameters: Schema, name: string, parts: Parts): string {
  const { arguments: form } = format
  if (form.kind === 'json') return parts.include(parameters, name)
  return form.notation === 'json'
    ? writeParameters(form, parameters, name, parts)
    : writePairs(form, parameters, name, parts)
}

function writeText(text: CallText): string {
  return text
    .map((part) =>
      typeof part === 'string' ? toText(part) : part.part === 'id' ? '[a-zA-Z0-9]{9}' : '[0-9]{1,2}',
    )
    .join(' ')
}

/** Parameters between tags. */
function writeParameters(form: ParametersFormat, schema: Schema, tool: string, parts: Parts): string {
  return writeMembers(form, schema, parts, (name, value) => {
    const [frame, text] = isTextOnly(value)
      ? [form.text, writeTextValue(value, form.text.after, parts.writer)]
      : [form.other, `${parts.include(value, tool)} ${toText(form.other.after)}`]
    return `${toText(form.start + name + frame.before)} ${text}`
  })
}

/** Pairs of a name and a value, in Python's or Gemma's notation. */
function writePairs(form: ParametersFormat, schema: Schema, tool: string, parts: Parts): string {
  return writeMembers(form, schema, parts, (name, value) => {
    if (isTextOnly(value)) {
      const end = form.text.after
      const text =
        form.notation === 'python' && !isListed(value)
          ? `([^'\\\\\\n] | "\\\\" [^\\n])* ${toText(end)}`
          : writeTextValue(value, end, parts.writer)
      return `${toText(name + form.text.before)} ${text}`
    }
    const other =
      form.notation === 'gemma' && !isScalar(value)
        ? writeGemmaValue(parts.writer)
        : parts.include(value, tool)
    return `${toText(name + form.other.before)} ${other} ${form.other.after === '' ? '' : toText(form.other.after)}`
  })
}

function writeMembers(
  { separator, start, text }: ParametersFormat,
  schema: Schema,
  { writer }: Parts,
  write: (name: string, value: Schema) => string,
): string {
  const properties = isSchema(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []
  const between = separator === '' ? '' : `${toText(separator)} `
  // Each rule continues a call that has no parameter yet (first) or has one (rest).
  let first = ''
  let rest = ''
  for (const [name, value] of Object.entries(properties).toReversed()) {
    const member = writer.add(write(name, isSchema(value) ? value : {}))
    const isOptional = !required.includes(name)
    const begin = `${member} ${rest}`
    first = isOptional
      ? first === ''
        ? `(${begin})?`
        : writer.add(`${begin} | ${first}`)
      : writer.add(begin)
    rest = writer.add(isOptional ? `(${between}${member})? ${rest}` : `${between}${member} ${rest}`)
  }
  if (Object.keys(properties).length > 0 || schema['additionalProperties'] === false) return first
  if (start === '') return ''
  const any = `${toText(start)} [a-zA-Z_] [a-zA-Z0-9_]{0,63} ${toText(text.before)} ${writeTextUntil(text.after, writer)}`
  return `(${writer.add(any)}){0,16}`
}

/** A text without quotes up to `end`; one of a list, if the schema has one. */
function writeTextValue(schema: Schema, end: string, writer: GrammarWriter): string {
  const values = schema['const'] === undefined ? schema['enum'] : [schema['const']]
  if (!Array.isArray(values)) return writeTextUntil(end, writer)
  return `(${values.map((value) => toText(typeof value === 'string' ? value : JSON.stringify(value))).join(' | ')}) ${toText(end)}`
}

function isTextOnly(schema: Schema): boolean {
  const types = typesOf(schema)
  return types.length > 0 && types.every((type) => type === 'string')
}

const isListed = (schema: Schema): boolean => schema['enum'] !== undefined || schema['const'] !== undefined

function isScalar(schema: Schema): boolean {
  const types = typesOf(schema)
  return types.length > 0 && types.every((type) => ['integer', 'number', 'boolean', 'null'].includes(type))
}

function writeGemmaValue(writer: GrammarWriter): string {
  const value = writer.reserve()
  const text = `"<|\\"|>" ${writeTextUntil('<|"|>', writer)}`
  const pair = writer.add(`[a-zA-Z_] [a-zA-Z0-9_]* ":" ${value}`)
  const number = '"-"? [0-9]{1,15} ("." [0-9]{1,15})?'
  writer.define(
    value,
    `${text} | ${number} | "true" | "false" | "null" | "[" (${value} ("," ${value})*)? "]" | "{" (${pair} ("," ${pair})*)? "}"`,
  )
  return value
}
