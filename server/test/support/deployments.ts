import { expect, vi } from 'vitest'
import type { z } from 'zod'
import type { deploymentBody } from '../../src/features/deployments/schemas.ts'
import type { Client } from './client.ts'

type Deployment = z.infer<typeof deploymentBody>

/** Waits until a deployment reaches a status and returns it. */
export async function waitForStatus(
  client: Client,
  id: string,
  status: string,
  timeout = 90_000,
): Promise<Deployment> {
  return vi.waitFor(
    async () => {
      const { body } = await client.get(`/api/v1/model-deployments/${id}`)
      expect(body.status).toBe(status)
      return body
    },
    { timeout, interval: 50 },
  )
}

/** Deploys a model, waits until the deployment has a status, and returns it. */
export async function deploy(
  client: Client,
  model_name = 'berth-tiny',
  status = 'running',
): Promise<Deployment> {
  const created = await client.post('/api/v1/model-deployments', { model_name })
  expect(created.status).toBe(201)
  return waitForStatus(client, created.body.id, status)
}
