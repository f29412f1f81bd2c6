import type { MemberValue } from '../../../gateway/json-walk.ts'
import type { MemberValues } from '../protocols/protocol.ts'

/** More sequences than any engine generates at a time are not counted. */
const mostCounted = 4096
/** Long lists of prompts are counted by their first bytes. */
const countedBytes = 64 * 1024

/** Counts what a request asks an engine to generate: one sequence for each choice of each prompt. */
export function countSequences(
  bytes: Buffer,
  members: readonly MemberValue[],
  { n, prompt }: MemberValues,
): number {
  const choices = typeof n === 'number' && n > 1 ? n : 1
  const list = prompt === 'array' ? members.findLast(({ name }) => name === 'prompt') : undefined
  const prompts = list === undefined ? 1 : countPrompts(bytes, list)
  return Math.min(Math.ceil(choices * prompts), mostCounted)
}

/** The texts or lists in a list; 1 for a list of token ids. */
function countPrompts(bytes: Buffer, { start, end }: MemberValue): number {
  const list = bytes.toString('latin1', start + 1, Math.min(end, start + countedBytes))
  if (/^\s*[-\d]/.test(list)) return 1
  let count = 0
  let depth = 0
  for (const [token] of list.matchAll(/"(?:[^"\\]|\\.)*"|[[\]]/g)) {
    if (token === ']') depth -= 1
    else if (depth === 0) count += 1
    if (token === '[') depth += 1
  }
  return Math.max(count, 1)
}
