import { expect, test } from 'vitest'
import { editBytes, editText } from './body-edits.ts'
import type { EditTarget } from './body-edits.ts'
import { foldSystemTexts, scattersSystemTexts } from './system-texts.ts'

function bodyOf(text: string) {
  const bytes = Buffer.from(text)
  const start = bytes.indexOf('[')
  return { bytes, members: [{ name: 'messages', start, end: bytes.lastIndexOf(']') + 1 }] }
}

/** The messages for an engine. */
function fold(list: string, adaptsRoles = false): unknown {
  const body = bodyOf(`{"é":1,"messages":${list},"z":[]}`.replace(',"z":[]', ''))
  const edits = foldSystemTexts(body)
  const target = { adaptsRoles } as EditTarget
  const edited = Buffer.concat(editBytes(body.bytes, edits, target)).toString()
  const asText = editText(body.bytes.toString('latin1'), edits, target)
  expect(Buffer.from(asText, 'latin1').toString()).toBe(edited)
  return JSON.parse(edited).messages
}

const system = { role: 'system', content: 'é "a"' }
const developer = { role: 'developer', content: [{ type: 'text', text: 'b' }] }
const user = { role: 'user', content: 'the role is "system"' }

const answer = { role: 'assistant', content: 'c' }
const image = { type: 'image_url', image_url: { url: 'data:,' } }

test('system texts at the start become one, and later ones are messages of the user', () => {
  const late = { content: 'Now.', name: 'x', role: 'system' }
  const list = [system, developer, user, answer, late, answer, user, answer, developer]
  expect(fold(JSON.stringify(list))).toEqual([
    { role: 'system', content: 'é "a"\n\nb' },
    user,
    answer,
    { ...late, role: 'user' },
    answer,
    user,
    answer,
    { ...developer, role: 'user' },
  ])
  expect(fold(JSON.stringify([developer, { role: 'developer', content: [image] }]))).toEqual([
    { role: 'developer', content: [...developer.content, image] },
  ])
})

test('later system texts join the messages of the user beside them', () => {
  const result = { role: 'tool', tool_call_id: 'x', content: 'd' }
  const seen = { role: 'user', content: [image] }
  const list = [system, user, developer, system, answer, developer, seen, result, system, user, user]
  expect(fold(JSON.stringify(list))).toEqual([
    system,
    { role: 'user', content: `${user.content}\n\nb\n\n${system.content}` },
    answer,
    { role: 'user', content: [...developer.content, image] },
    result,
    { role: 'user', content: `${system.content}\n\n${user.content}\n\n${user.content}` },
  ])
})

test('neighbors without a system text stay unchanged', () => {
  const list = [system, user, user, answer, user, system]
  const joined = { role: 'user', content: `${user.content}\n\n${system.content}` }
  expect(fold(JSON.stringify(list))).toEqual([system, user, user, answer, joined])
})

test.each([
  ['one at the start', [system, user]],
  ['one whose role is not first', [{ content: 'a', role: 'system' }, user]],
  ['none', [user, { role: 'assistant', content: 'a' }]],
  ['no messages', []],
])('%s stays as it is', (_, messages) => {
  expect(foldSystemTexts(bodyOf(JSON.stringify(messages)))).toEqual([])
})

test.each([
  '[{"role":"user"},{"role":"system"',
  '[1,"system","developer"]',
  '[{"content":"system"},{"x":"system"}]',
])('the list %s is the engine’s business', (list) => {
  expect(
    foldSystemTexts({ ...bodyOf(list), members: [{ name: 'messages', start: 0, end: list.length }] }),
  ).toEqual([])
})

test('an engine that adapts roles gets the messages unchanged', () => {
  const messages = [system, system, user, system]
  expect(fold(JSON.stringify(messages), true)).toEqual(messages)
})

test('a list scatters system texts if its first one has no place of its own', () => {
  const scatters = (messages: unknown, hasFirst: boolean) =>
    scattersSystemTexts(bodyOf(JSON.stringify(messages)), 'messages', hasFirst)
  expect(scatters([system, user], false)).toBe(false)
  expect(scatters([{ type: 'message', ...system }], false)).toBe(false)
  expect(scatters([system, user], true)).toBe(true)
  expect(scatters([user, system], false)).toBe(true)
  expect(scatters([user], true)).toBe(false)
})
