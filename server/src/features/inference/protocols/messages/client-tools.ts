import { refuseField } from '../fields.ts'
import type { JsonObject } from '../protocol.ts'

// Tools of Anthropic's that the caller's program runs. Their models know them; others need the schemas, which
// Anthropic's documentation describes.

const text = { type: 'string' }
const line = { type: 'integer', minimum: 0 }
const path = { type: 'string', description: 'Path of a file or folder' }

function toParameters(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required }
}

/** The members of the commands that files have in common */
const fileMembers = {
  path,
  view_range: {
    type: 'array',
    items: { type: 'integer' },
    description: 'With `view`: the first and the last line; -1 for the end of the file',
  },
  file_text: { ...text, description: 'With `create`: the content of the file' },
  old_str: { ...text, description: 'With `str_replace`: the text to replace, which must occur once' },
  new_str: { ...text, description: 'With `str_replace`: the text instead' },
  insert_line: { ...line, description: 'With `insert`: the line after which the text goes; 0 for the start' },
}

const inserted = { ...text, description: 'With `insert`: the text' }

function toCommand(...names: string[]): JsonObject {
  return { type: 'string', enum: names }
}

/** The newest and the older text editors differ in two members. */
function describeEditor(isOld: boolean): JsonObject {
  const commands = ['view', 'create', 'str_replace', 'insert', ...(isOld ? ['undo_edit'] : [])]
  const newText = isOld
    ? { ...text, description: 'With `str_replace`: the text instead; with `insert`: the text' }
    : fileMembers.new_str
  const members = {
    command: toCommand(...commands),
    ...fileMembers,
    new_str: newText,
    ...(isOld ? {} : { insert_text: inserted }),
  }
  return {
    description: 'Views, creates and edits text files.',
    parameters: toParameters(members, ['command', 'path']),
  }
}

const bash = {
  description: 'Runs commands in a bash session, which keeps its state between calls.',
  parameters: toParameters(
    {
      command: { ...text, description: 'The command; not needed with `restart`' },
      restart: { type: 'boolean', description: 'true to restart the session' },
    },
    [],
  ),
}

const memory = {
  description:
    'Views and changes files in the folder /memories, which outlive the conversation. Look there before a task, and note there what later ones need.',
  parameters: toParameters(
    {
      command: toCommand('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
      ...fileMembers,
      insert_text: inserted,
      old_path: { ...path, description: 'With `rename`: the path so far' },
      new_path: { ...path, description: 'With `rename`: the new path' },
    },
    ['command'],
  ),
}

const clientTools: Readonly<Record<string, JsonObject>> = {
  bash_20241022: bash,
  bash_20250124: bash,
  text_editor_20241022: describeEditor(true),
  text_editor_20250124: describeEditor(true),
  text_editor_20250429: describeEditor(false),
  text_editor_20250728: describeEditor(false),
  memory_20250818: memory,
}

/** How tools that the caller's program runs begin, also those without a schema here */
const clientFamily = /^(?:bash|text_editor|memory|computer)_/

/** Description and parameters of a tool; null if Anthropic's servers run it. Throws a 400 if unknown. */
export function findClientTool(type: unknown, at: string): JsonObject | null {
  if (typeof type !== 'string') throw refuseField(at, 'must be a text.')
  if (Object.hasOwn(clientTools, type)) return clientTools[type]!
  if (!clientFamily.test(type)) return null
  throw refuseField(
    at,
    `is "${type.slice(0, 64)}", of which Berth has no schema. Send it as a tool of your own.`,
  )
}
