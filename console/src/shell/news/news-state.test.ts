import { expect, test } from 'vitest'
import type { DeploymentNews } from '../../contract.ts'
import { learnNews, markSeen, noNews as emptyNews } from './news-state.ts'

const noNews = emptyNews('7/3')

const item = (changes: Partial<DeploymentNews>): DeploymentNews => ({
  deployment_id: 'one',
  name: 'assistant',
  at: '2026-11-29T08:00:00.000Z',
  status: 'running',
  failure_reason: null,
  cause: null,
  foreign_act: null,
  ...changes,
})
const act = { at: '2026-11-29T08:01:00.000Z', act: 'settings', by: 'Ada' } as const

/** The headlines of items that arrive one after the other. */
function tell(...items: Partial<DeploymentNews>[]) {
  let state = noNews
  return items.map((changes) => {
    const learned = learnNews(state, item(changes))
    state = learned.state
    return learned.headline
  })
}

test('a start and a failure are told once', () => {
  const starting = { status: 'deploying' } as const
  expect(tell(starting, {}, {})).toEqual([null, 'ready', null])
  expect(tell(starting, { status: 'failed' }, { status: 'failed' })).toEqual([null, 'failed', null])
})

test('a wake is reported if a person asked for it, not if a request or a schedule did', () => {
  const asleep = { status: 'sleeping' } as const
  expect(tell(asleep, { cause: 'person' })).toEqual([null, 'ready'])
  expect(tell(asleep, { cause: 'request' })).toEqual([null, null])
  expect(tell(asleep, { cause: 'schedule' })).toEqual([null, null])
})

test('each act of others is reported once, and a failure goes before it', () => {
  const later = { ...act, at: '2026-11-29T08:02:00.000Z', act: 'sleep' } as const
  expect(tell({}, { foreign_act: act }, { foreign_act: act }, { foreign_act: later })).toEqual([
    'ready',
    'settings',
    null,
    'sleep',
  ])
  expect(tell({}, { foreign_act: act }, {}, { foreign_act: act })).toEqual(['ready', 'settings', null, null])
  expect(tell({ status: 'failed', foreign_act: act })).toEqual(['failed'])
})

test('news wait until they are seen, one deployment after the other or all at once', () => {
  const one = learnNews(noNews, item({})).state
  const both = learnNews(one, item({ deployment_id: 'two', status: 'failed' })).state
  expect(both.unseen).toEqual(['one', 'two'])
  expect(learnNews(both, item({ status: 'failed' })).state.unseen).toEqual(['one', 'two'])
  expect(markSeen(both, 'one').unseen).toEqual(['two'])
  expect(markSeen(both, null).unseen).toEqual([])
  expect(markSeen(noNews, 'one')).toBe(noNews)
})

test('only the latest deployments are kept', () => {
  let state = noNews
  for (let count = 0; count < 300; count++) {
    state = learnNews(state, item({ deployment_id: `id-${count}`, status: 'sleeping' })).state
  }
  expect(Object.keys(state.known)).toHaveLength(200)
  expect(state.known).toHaveProperty('id-299')
})
