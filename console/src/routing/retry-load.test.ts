import { afterEach, expect, test, vi } from 'vitest'
import { retryLoad } from './retry-load.ts'

afterEach(() => vi.unstubAllGlobals())

test('a server that comes back right after a failed load gets another try', async () => {
  vi.stubGlobal('fetch', async () => new Response())
  const load = vi
    .fn<() => Promise<string>>(async () => 'code')
    .mockRejectedValueOnce(new TypeError('Failed to fetch'))
  expect(await retryLoad(load)()).toBe('code')
})

test('code that the server no longer has is requested twice', async () => {
  vi.stubGlobal('fetch', async () => new Response())
  const load = vi.fn<() => Promise<string>>(() => Promise.reject(new TypeError('Failed to fetch')))
  await expect(retryLoad(load)()).rejects.toThrow('Failed to fetch')
  expect(load).toHaveBeenCalledTimes(2)
})
