import { toGrammar } from '@berth/grammar/grammar.ts'
import { fitSchema } from '@berth/grammar/schema/fit-schema.ts'
import { isSchema, SchemaError } from '@berth/grammar/schema/json-schema.ts'
import { findUnenforced } from '@berth/grammar/schema/unenforced-keyword.ts'
import { WorkBudget } from '@berth/grammar/work-budget.ts'
import { ApplicationError } from '../../../base/errors.ts'
import type { ChatForm } from '../../../ports/runtime-engine.ts'
import { startOfMembers } from './body-edits.ts'
import type { Edit, ReadBody } from './body-edits.ts'
import { readList, readObject, readText, refuseField } from './fields.ts'
import { parseWithSources, sourceOf, toSource, writeJson } from './json-source.ts'
import type { JsonObject } from './protocol.ts'

/** The members of a chat that may have to change for an engine */
export const fittedMembers = ['response_format', 'json_schema', 'tools', 'tool_choice'] as const
type FittedMember = (typeof fittedMembers)[number]

/** Longest of these members, in bytes, because making objects of them blocks the process */
const maxBytes = 2 * 1024 * 1024
/** Steps of some 20 milliseconds; schemas without patterns and formats take few */
const checkSteps = 200_000

/** Returns what changes a chat for an engine's form, or throws the 400; null if no engine needs a change. */
export function fitChat(body: ReadBody): ((form: ChatForm, engineTitle: string) => Edit[]) | null {
  const members = body.members.filter(
    ({ name, start, end }) => isFitted(name) && body.bytes.toString('latin1', start, end) !== 'null',
  )
  if (members.length === 0) return null
  return (form, engineTitle) => {
    const parsed: Partial<Record<FittedMember, unknown>> = {}
    for (const { name, start, end } of members) {
      parsed[name as FittedMember] = parseMember(body.bytes.toString('utf8', start, end), name)
    }
    const changes = findChanges(parsed, form, engineTitle)
    const edits = members.flatMap(({ name, start, end }) => {
      const text = changes[name as FittedMember]
      return text === undefined ? [] : [{ start, end, text: forForm(form, text) }]
    })
    const { tool_choice: choice } = changes
    if (choice === undefined || 'tool_choice' in parsed) return edits
    const at = startOfMembers(body.bytes)
    return [{ start: at, end: at, text: forForm(form, `"tool_choice":${choice},`) }, ...edits]
  }
}

const fitted: ReadonlySet<string> = new Set(fittedMembers)
const isFitted = (name: string): boolean => fitted.has(name)

/** Text for targets of this form only */
const forForm =
  (form: ChatForm, text: string): Exclude<Edit['text'], string> =>
  ({ chatForm }) =>
    chatForm === form ? text : null

function parseMember(text: string, name: string): unknown {
  if (text.length > maxBytes) {
    throw new ApplicationError('body_too_large', `\`${name}\` may have ${maxBytes} bytes.`)
  }
  try {
    return parseWithSources(
      text,
      name === 'tools' ? ['parameters'] : name === 'response_format' ? ['schema'] : [],
    )
  } catch {
    throw new ApplicationError('invalid_request_error', 'The body is not valid JSON.')
  }
}

function findChanges(
  {
    response_format: given,
    json_schema: bare,
    tools: givenTools,
    tool_choice: givenChoice,
  }: Partial<Record<FittedMember, unknown>>,
  form: ChatForm,
  engineTitle: string,
): Partial<Record<FittedMember, string>> {
  const format = readFormat(given)
  const changes: Partial<Record<FittedMember, string>> = {}
  if (format?.isOwnForm === false) {
    const schema = { name: 'answer', schema: format.schema }
    changes.response_format = writeJson({ type: 'json_schema', json_schema: schema })
  }
  if (form.schemas === 'some keywords') {
    if (format !== null) checkSchema(format.schema, format.path, engineTitle)
    if (bare !== undefined) checkSchema(bare, 'json_schema', engineTitle)
  }
  const tools = readList(givenTools, 'tools').map((tool, index) => readTool(tool, `tools.${index}`))
  const choice = form.namesTools ? null : readChoice(givenChoice)
  const kept = choice === null ? tools : selectTools(tools, choice)
  const sent = form.schemas === 'some keywords' ? kept.map((tool) => fitTool(tool, engineTitle)) : kept
  if (sent.some(({ tool }, at) => tool !== tools[at]?.tool) || sent.length !== tools.length) {
    changes.tools = writeJson(sent.map(({ tool }) => tool))
  }
  if (choice !== null) changes.tool_choice = JSON.stringify(choice.mode)
  const mode = choice?.mode ?? givenChoice
  if (form.callsWithSchema || tools.length === 0 || mode === 'none') return changes
  if (format === null && bare === undefined) return changes
  const member = format === null ? 'json_schema' : 'response_format'
  // The answer is a call.
  if (mode === 'required')
    return { ...changes, [member]: member === 'json_schema' ? 'null' : '{"type":"text"}' }
  throw refuseField(
    member,
    `can't be combined with \`tools\` on ${engineTitle}, which would call none. Omit one, or set \`tool_choice\` to \`none\` or \`required\`.`,
  )
}

interface AnswerFormat {
  schema: unknown
  path: string
  /** The schema is where OpenAI's API has it. */
  isOwnForm: boolean
}

/** The schema of an answer, in each form in use; null for others. */
function readFormat(given: unknown): AnswerFormat | null {
  if (given === undefined) return null
  const format = readObject(given, 'response_format')
  const { type, json_schema: named, schema } = format
  if (type === 'json_object') {
    return schema === undefined || schema === null
      ? null
      : { schema, path: 'response_format.schema', isOwnForm: false }
  }
  if (type !== 'json_schema') return null
  if (named !== undefined && named !== null) {
    const path = 'response_format.json_schema'
    return { schema: readObject(named, path)['schema'], path: `${path}.schema`, isOwnForm: true }
  }
  if (schema === undefined) throw refuseField('response_format.json_schema', 'is required.')
  return { schema, path: 'response_format.schema', isOwnForm: false }
}

interface ReadTool {
  tool: JsonObject
  /** null for a tool that is no function, which the engine judges */
  called: JsonObject | null
  path: string
}

function readTool(value: unknown, path: string): ReadTool {
  const tool = readObject(value, path)
  const { function: called } = tool
  return { tool, called: called === undefined ? null : readObject(called, `${path}.function`), path }
}

/** A choice of one tool, or of some; null for one in a word, which every engine takes. */
function readChoice(given: unknown): { mode: string; names: readonly string[] } | null {
  if (given === undefined || typeof given === 'string') return null
  const choice = readObject(given, 'tool_choice')
  if (choice['type'] === 'function') return { mode: 'required', names: [readName(choice, 'tool_choice')] }
  if (choice['type'] !== 'allowed_tools') {
    throw refuseField('tool_choice', 'must be `auto`, `none`, `required`, a function or `allowed_tools`.')
  }
  const { mode, tools } = readObject(choice['allowed_tools'], 'tool_choice.allowed_tools')
  if (mode !== 'auto' && mode !== 'required') {
    throw refuseField('tool_choice.allowed_tools.mode', 'must be `auto` or `required`.')
  }
  const path = 'tool_choice.allowed_tools.tools'
  const names = readList(tools, path).map((tool, index) =>
    readName(readObject(tool, `${path}.${index}`), `${path}.${index}`),
  )
  if (names.length === 0) throw refuseField(path, 'must have a function.')
  return { mode, names }
}

const readName = (choice: JsonObject, path: string): string =>
  readText(readObject(choice['function'], `${path}.function`)['name'], `${path}.function.name`)

function selectTools(
  tools: readonly ReadTool[],
  { names }: { names: readonly string[] },
): readonly ReadTool[] {
  const known = new Set(tools.map(({ called }) => called?.['name']))
  if (names.some((name) => !known.has(name))) {
    throw refuseField('tool_choice', 'names a function that is not in `tools`.')
  }
  return tools.filter(({ called }) => names.some((name) => name === called?.['name']))
}

/** A tool whose parameters the engine can convert, or the 400 for a strict one that it doesn't enforce. */
function fitTool(read: ReadTool, engineTitle: string): ReadTool {
  const { tool, called, path } = read
  const { parameters: source, strict } = called ?? {}
  if (called === null || source === undefined || source === null) return read
  const parameters: unknown = JSON.parse(sourceOf(source))
  if (!isSchema(parameters)) throw refuseField(`${path}.function.parameters`, 'must be an object.')
  if (strict === true) checkSchema(source, `${path}.function.parameters`, engineTitle)
  const fit = fitSchema(parameters)
  if (fit === parameters) return read
  return { ...read, tool: { ...tool, function: { ...called, parameters: toSource(JSON.stringify(fit)) } } }
}

/** Throws the 400 for a schema without a grammar, or with a constraint that the engine ignores. */
function checkSchema(source: unknown, path: string, engineTitle: string): void {
  const schema: unknown = JSON.parse(sourceOf(source))
  try {
    toGrammar(schema, { budget: new WorkBudget(checkSteps) })
  } catch (error) {
    if (error instanceof SchemaError) throw refuseField(path, `has an unsupported schema. ${error.message}`)
    throw error
  }
  const ignored = findUnenforced(schema)
  if (ignored === null) return
  throw refuseField(
    path,
    `has the keyword "${ignored.keyword}" at ${ignored.path.slice(0, 200)}, which ${engineTitle} would ignore there.`,
  )
}
