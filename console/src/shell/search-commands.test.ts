import { Box } from 'lucide-react'
import { expect, test } from 'vitest'
import type { Command } from '../components/command.ts'
import { searchCommands } from './search-commands.ts'

const command = (group: Command['group'], label: string, more: Partial<Command> = {}): Command => ({
  group,
  id: label,
  icon: Box,
  label,
  run: () => {},
  ...more,
})

const commands = [
  command('pages', 'Billing', { keywords: 'Your plan, cards and invoices.' }),
  command('pages', 'Audit log'),
  command('actions', 'Invite a member'),
  command('deployments', 'berth-tiny: Logs', { keywords: '6f1c-aa02', searchOnly: true }),
  command('members', 'José Martí', { keywords: 'mara@example.com', searchOnly: true }),
  command('models', 'Command R', { keywords: 'Cohere tools', searchOnly: true }),
  command('models', 'Devstral Small 1.1', { searchOnly: true }),
  command('models', 'Qwen3 Coder', { searchOnly: true }),
  command('models', 'Coder Small', { searchOnly: true }),
]

const search = (query: string) =>
  searchCommands(commands, query).map(({ group, commands: found }) => [
    group,
    ...found.map(({ label }) => label),
  ])

test.each([
  ['audit', [['pages', 'Audit log']]],
  ['invoi', [['pages', 'Billing']]],
  ['jose', [['members', 'José Martí']]],
  ['mara', [['members', 'José Martí']]],
  ['tiny logs', [['deployments', 'berth-tiny: Logs']]],
  ['6F1C-AA', [['deployments', 'berth-tiny: Logs']]],
  ['coder', [['models', 'Coder Small', 'Qwen3 Coder']]],
  ['vstral', []],
])('“%s” finds what has words that start with it, best first', (query, expected) => {
  expect(search(query)).toEqual(expected)
})

test('the group of the best match comes first', () => {
  expect(search('m').map(([group]) => group)).toEqual(['actions', 'members'])
  expect(search('co')[0]).toEqual(['models', 'Command R', 'Coder Small', 'Qwen3 Coder'])
})

test('an empty query lists what is not only for the search', () => {
  expect(search(' ')).toEqual([
    ['pages', 'Billing', 'Audit log'],
    ['actions', 'Invite a member'],
  ])
})

test('a group lists at most eight matches', () => {
  const many = Array.from({ length: 20 }, (_, index) => command('models', `Qwen ${index}`))
  expect(searchCommands(many, 'qwen')[0]!.commands).toHaveLength(8)
})

test('an empty query lists recent commands first and once, whose ids still exist', () => {
  const found = searchCommands(commands, '', ['Qwen3 Coder', 'gone', 'Audit log'])
  expect(found[0]).toMatchObject({ group: 'recent', commands: [{ id: 'Qwen3 Coder' }, { id: 'Audit log' }] })
  expect(found.slice(1).flatMap((group) => group.commands.map(({ id }) => id))).toEqual([
    'Billing',
    'Invite a member',
  ])
  expect(searchCommands(commands, 'audit', ['Billing']).map(({ group }) => group)).toEqual(['pages'])
})
