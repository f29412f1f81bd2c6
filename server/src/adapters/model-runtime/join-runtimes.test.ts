import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ModelRuntime } from '../../ports/model-runtime.ts'
import { createScriptedRuntime, makeOffer } from '../../../test/support/scripted-runtime.ts'
import { joinRuntimes } from './join-runtimes.ts'

const warn = vi.fn()
const logger = { info() {}, warn }
afterEach(() => warn.mockClear())

function makeRuntime(
  name: string,
  types: readonly string[],
  changes: Partial<ModelRuntime> = {},
): ModelRuntime {
  const listOffers = async () => types.map((type) => makeOffer(type))
  return { ...createScriptedRuntime(), name, listOffers, ...changes }
}
const gone = { listOffers: () => Promise.reject(new Error('gone')) }
const hanging = { listOffers: () => new Promise<never>(() => {}) }

test('the offers of one runtime are what it says, also an error', async () => {
  const { offers, away } = await joinRuntimes([makeRuntime('one', ['cpu'])], logger).listOffers()
  expect(offers).toMatchObject([{ instanceType: 'cpu', runtime: { name: 'one', isOneOfSeveral: false } }])
  expect(offers[0]).not.toHaveProperty('title')
  expect(away).toEqual([])
  await expect(joinRuntimes([makeRuntime('one', [], gone)], logger).listOffers()).rejects.toThrow('gone')
})

describe('several runtimes', () => {
  test('types of the same name have titles with their runtimes', async () => {
    const all = [makeRuntime('one', ['cpu', 'l4-x1']), makeRuntime('two', ['cpu'])]
    const { offers } = await joinRuntimes(all, logger).listOffers()
    expect(offers.map(({ title, instanceType }) => title ?? instanceType)).toEqual([
      'cpu (one)',
      'l4-x1',
      'cpu (two)',
    ])
  })

  test('one that is away is named and logged; without any, its error is thrown', async () => {
    const away = makeRuntime('away', ['cpu'], gone)
    const found = await joinRuntimes([away, makeRuntime('here', ['cpu'])], logger).listOffers()
    expect(found).toMatchObject({ away: ['away'], offers: [{ runtime: { name: 'here' } }] })
    expect(warn).toHaveBeenCalledOnce()
    const other = makeRuntime('other', [], { listOffers: () => Promise.reject(new Error('later')) })
    await expect(joinRuntimes([away, other], logger).listOffers()).rejects.toThrow('gone')
  })

  test('one that hangs is away after a while', async () => {
    const all = [makeRuntime('hanging', [], hanging), makeRuntime('here', ['cpu'])]
    expect(await joinRuntimes(all, logger, 50).listOffers()).toMatchObject({
      away: ['hanging'],
      offers: [{ runtime: { name: 'here' } }],
    })
  })

  test('one that loads no uploads is ruled out for them', async () => {
    const all = [makeRuntime('loads', ['one']), makeRuntime('deaf', ['two'], { loadsUploads: false })]
    const joined = joinRuntimes(all, logger)
    const { offers } = await joined.listOffers()
    const variant = { weights: { kind: 'upload', sha256: '0', fileName: 'x' } } as never
    const verdicts = offers.map(({ runtime }) => runtime.availability?.(variant) ?? null)
    expect(verdicts).toEqual([null, 'loads no uploaded files'])
    expect(joined.loadsUploads).toBe(true)
  })

  test('an instance finds its runtime by name, and one that is not configured is unavailable', () => {
    const joined = joinRuntimes([makeRuntime('one', []), makeRuntime('two', [])], logger)
    expect(joined.get('two').name).toBe('two')
    expect(joined.find('three')).toBeUndefined()
    expect(() => joined.get('three')).toThrow('The runtime three is not configured.')
    expect(joined.find(null)).toBeUndefined()
  })
})

test('a runtime that is not configured takes no part until it is, and is heard of from the start', async () => {
  let isConfigured = false
  const listeners: ((engineId: string) => void)[] = []
  const resting = {
    ...makeRuntime('resting', ['gpu']),
    onEngineLost: (listener: (engineId: string) => void) => void listeners.push(listener),
    get isConfigured() {
      return isConfigured
    },
  }
  const joined = joinRuntimes([makeRuntime('one', ['cpu']), resting], logger)
  const lost: string[] = []
  joined.onEngineLost((engineId) => lost.push(engineId))
  const listTypes = async () => (await joined.listOffers()).offers.map(({ instanceType }) => instanceType)
  expect(await listTypes()).toEqual(['cpu'])
  expect(joined.find('resting')).toBeUndefined()
  isConfigured = true
  expect(await listTypes()).toEqual(['cpu', 'gpu'])
  expect(joined.get('resting')).toBe(resting)
  for (const listener of listeners) listener('an engine')
  expect(lost).toEqual(['an engine'])
})
