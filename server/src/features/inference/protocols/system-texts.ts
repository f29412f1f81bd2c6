import { findMembers, JsonError, memberNames } from '../../../gateway/json-walk.ts'
import type { Edit, EditTarget, ReadBody } from './body-edits.ts'
import { endOfValue } from './json-source.ts'

// Many templates refuse system texts that aren't first, such as those that agents send amid a conversation.

/** The start of a list whose first message is a system text, up to its role, as clients write it */
const leadingRole = /^\[\s*\{\s*(?:"type"\s*:\s*"message"\s*,\s*)?"role"\s*:\s*$/
/** Clients write no longer start. */
const longestStart = 100

/** A conversation with more messages stays unchanged: long ones would block the process. */
const maxMessages = 10_000

type Body = Pick<ReadBody, 'bytes' | 'members'>

/** True if a list of messages has system texts, other than one at its start if `hasFirst` is false. */
export function scattersSystemTexts(body: Body, listName: string, hasFirst: boolean): boolean {
  return findScattered(body, listName, hasFirst) !== null
}

/** The text of such a list, one character per byte, and its offset; null if it needs no change */
function findScattered({ bytes, members }: Body, listName: string, hasFirst: boolean) {
  const list = members.findLast(({ name }) => name === listName)
  if (list === undefined) return null
  const { first, isOnly } = findRoles(bytes, list)
  if (first < 0 || (isOnly && !hasFirst && leads(bytes, list.start, first))) return null
  return { text: bytes.toString('latin1', list.start, list.end), at: list.start }
}

function leads(bytes: Buffer, start: number, role: number): boolean {
  return role - start <= longestStart && leadingRole.test(bytes.toString('latin1', start, role))
}

/**
 * The roles' names, to be searched from a rare letter on, because the search jumps between occurrences of the
 * first one. It does so only for less than eight bytes; for more, it takes ten times as long.
 */
const roles = [
  { name: Buffer.from('"system"'), needle: Buffer.from('ystem"'), before: 2 },
  { name: Buffer.from('"developer"'), needle: Buffer.from('veloper'), before: 3 },
]

/** The offset of a role of a system text, or -1, and whether the list has no other one. */
function findRoles(bytes: Buffer, { start, end }: Place): { first: number; isOnly: boolean } {
  let first = -1
  for (const { name, needle, before } of roles) {
    for (let at = bytes.indexOf(needle, start); at >= 0 && at < end; at = bytes.indexOf(needle, at + 1)) {
      if (!name.every((byte, index) => bytes[at - before + index] === byte)) continue
      if (first >= 0) return { first, isOnly: false }
      first = at - before
    }
  }
  return { first, isOnly: true }
}

/**
 * Edits of a chat for engines that give templates the unchanged messages. The system texts at the start
 * become one. Each later one becomes a message of the user in its place, so that the start of the prompt
 * stays the same. It joins its neighbors of the user, because some templates refuse two in a row.
 */
export function foldSystemTexts(body: Body): Edit[] {
  const list = findScattered(body, 'messages', false)
  if (list === null) return []
  try {
    return fold(list.text).map(({ start, end, text }) => ({
      start: list.at + start,
      end: list.at + end,
      text: ({ adaptsRoles }: EditTarget) => (adaptsRoles ? null : text),
    }))
  } catch (error) {
    // The engine refuses what is no JSON.
    if (error instanceof JsonError || error instanceof SyntaxError) return []
    throw error
  }
}

interface Replacement extends Place {
  text: string
}

function fold(list: string): Replacement[] {
  const messages = readMessages(list)
  if (messages === null) return []
  const first = messages.findIndex(({ kind }) => kind !== 'system')
  const leading = messages.slice(0, first < 0 ? messages.length : first)
  const runs: Message[][] = []
  for (const message of messages.slice(leading.length)) {
    const run = runs.at(-1)
    if (message.kind === 'other') runs.push([])
    else if (run === undefined) runs.push([message])
    else run.push(message)
  }
  const changed = runs.filter((run) => run.some(({ kind }) => kind === 'system'))
  return [
    ...(join(list, leading, 'system') ?? []),
    ...changed.flatMap((run) => join(list, run, 'user') ?? run.map(toUser)),
  ]
}

interface Place {
  start: number
  end: number
}

interface Message extends Place {
  kind: 'system' | 'user' | 'other'
  /** The value of the last member of this name */
  role: Place
}

/** The messages of a list; null if one has no role, or if there are too many. */
function readMessages(list: string): Message[] | null {
  const messages: Message[] = []
  for (let start = list.indexOf('{', 1); start > 0; start = list.indexOf('{', messages.at(-1)!.end)) {
    const end = endOfValue(list, start)
    const message = list.slice(start, end)
    const role = findMembers(Buffer.from(message, 'latin1'), roleName).at(-1)
    if (role === undefined || messages.length === maxMessages) return null
    messages.push({
      start,
      end,
      kind: kinds.get(message.slice(role.start, role.end)) ?? 'other',
      role: { start: start + role.start, end: start + role.end },
    })
  }
  return list.startsWith('[') ? messages : null
}

const roleName = memberNames(['role'])
const kinds = new Map<string, Message['kind']>([
  ['"system"', 'system'],
  ['"developer"', 'system'],
  ['"user"', 'user'],
])

function toUser({ role }: Message): Replacement {
  return { ...role, text: '"user"' }
}

interface Part {
  type?: unknown
  text?: unknown
}

interface Given {
  role: string
  content?: string | readonly Part[] | null
}

/** Joins messages that follow each other to one; null for a single one, and for contents of another kind. */
function join(list: string, messages: readonly Message[], role: 'system' | 'user'): [Replacement] | null {
  if (messages.length < 2) return null
  const given = messages.map(
    ({ start, end }) => JSON.parse(Buffer.from(list.slice(start, end), 'latin1').toString()) as Given,
  )
  const contents = given.map(({ content }) => toParts(content))
  if (contents.includes(null)) return null
  const parts = contents.flatMap((each) => each!)
  const isText = parts.every(({ type, text }) => type === 'text' && typeof text === 'string')
  const content = isText ? parts.map(({ text }) => text).join('\n\n') : parts
  const isDeveloper = given.every((each) => each.role === 'developer')
  const text = JSON.stringify({ role: isDeveloper && role === 'system' ? 'developer' : role, content })
  return [{ start: messages[0]!.start, end: messages.at(-1)!.end, text }]
}

function toParts(content: unknown): readonly Part[] | null {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (Array.isArray(content)) return content as Part[]
  return content === undefined || content === null ? [] : null
}
