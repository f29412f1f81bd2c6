import { expect, test } from 'vitest'
import { groupItems } from './group-items.ts'
import { readGroup } from './groups.ts'

const measured = {
  meter: 'inference_input_tokens',
  unit: 'token',
  dimensions: { model_name: 'a' },
  quantity: '1',
  estimated_amount: '0',
}

test('items of one team, member, deployment or model are one group, the most expensive first', () => {
  const ada = { user_id: 1, email: 'ada@example.com', ...measured }
  const bob = { user_id: 2, email: 'bob@example.com', ...measured, estimated_amount: '0.5' }
  expect(groupItems([ada, ada, bob])).toEqual([
    { key: '2', label: 'bob@example.com', deploymentId: null, items: [bob], amount: '0.5' },
    { key: '1', label: 'ada@example.com', deploymentId: null, items: [ada, ada], amount: '0' },
  ])
  const ofTeam = (team_id: number | null, team_name: string | null) => ({ team_id, team_name, ...measured })
  const teams = [ofTeam(1, 'Research'), ofTeam(1, 'Research'), ofTeam(2, null), ofTeam(null, null)]
  expect(groupItems(teams).map(({ label, items }) => [label, items.length])).toEqual([
    ['Research', 2],
    ['A deleted team', 1],
    ['No team', 1],
  ])
  const [first, second] = ['1', '2'].map((deployment_id) => ({ deployment_id, model_name: 'a', ...measured }))
  expect(groupItems([first!, second!]).map(({ label, deploymentId }) => [label, deploymentId])).toEqual([
    ['a', '1'],
    ['a', '2'],
  ])
  expect(groupItems([{ model_name: 'a', ...measured }])).toMatchObject([{ key: 'a', label: 'a' }])
})

test('an unknown grouping in the URL shows days', () => {
  expect(['model', 'day', 'x', 1, undefined].map(readGroup)).toEqual([
    'model',
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})
