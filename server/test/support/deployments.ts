import { expect, vi } from 'vitest'
import type { Client } from './client.ts'

/** Waits until a deployment reaches a status and returns it. */
export async function waitForStatus(client: Client, id: string, status: string, timeout = 30_000) {
  return vi.waitFor(
    async () => {
      const { body } = await client.get(`/api/v1/model-deployments/${id}`)
      expect(body.status).toBe(status)
      return body
    },
    { timeout, interval: 50 },
  )
}

/** Deploys a bundled model and waits until it is running. */
export async function deployBundled(
  client: Client,
  model: 'berth-tiny' | 'berth-tiny-embedding' = 'berth-tiny',
) {
  const created = await client.post('/api/v1/model-deployments', { model_name: model })
  expect(created.status).toBe(201)
  return waitForStatus(client, created.body.id, 'running')
}
