import { expect, vi } from 'vitest'
import type { Answer, Client } from './client.ts'

const path = '/api/v1/model-deployments'

/** The deployments of one person, by the names of the runtimes that serve them. */
export interface ServedDeployments<Name extends string> {
  /** Filled by the test */
  ids: Record<Name, string>
  chat: (name: Name) => Promise<Answer>
  /** Waits until a running deployment has a status message. */
  waitForMessage: (name: Name, expected: unknown) => Promise<void>
  waitForAnswer: (name: Name, status?: number) => Promise<void>
  /** Runs `work` while the other deployments get requests, of which none may fail. Returns their counts. */
  whileOthersServe: (killed: Name, work: () => Promise<void>) => Promise<Partial<Record<Name, number>>>
}

/** `timeout`: the longest wait, in milliseconds. */
export function openServedDeployments<Name extends string>(
  client: () => Client,
  names: readonly Name[],
  timeout: number,
): ServedDeployments<Name> {
  const ids = {} as Record<Name, string>
  const waiting = { timeout, interval: 100 }

  function chat(name: Name) {
    const messages = [{ role: 'user', content: 'Hello' }]
    return client().post('/v1/chat/completions', { model: ids[name], messages, max_tokens: 4 })
  }

  return {
    ids,
    chat,
    async waitForMessage(name, expected) {
      await vi.waitFor(async () => {
        const { body } = await client().get(`${path}/${ids[name]}`)
        expect([body.status, body.status_message]).toEqual(['running', expected])
      }, waiting)
    },
    async waitForAnswer(name, status = 200) {
      await vi.waitFor(async () => expect((await chat(name)).status).toBe(status), waiting)
    },
    async whileOthersServe(killed, work) {
      const end = new AbortController()
      const others = names.filter((name) => name !== killed)
      const asking = others.map(async (name) => {
        const statuses: number[] = []
        while (!end.signal.aborted) statuses.push((await chat(name)).status)
        return [name, statuses] as const
      })
      try {
        await work()
      } finally {
        end.abort()
      }
      const all = await Promise.all(asking)
      for (const [name, statuses] of all) {
        expect(statuses.length, name).toBeGreaterThan(0)
        expect(
          statuses.filter((status) => status !== 200),
          name,
        ).toEqual([])
      }
      const counts = all.map(([name, statuses]) => [name, statuses.length] as const)
      return Object.fromEntries(counts) as Partial<Record<Name, number>>
    },
  }
}
