import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startTestSandbox } from '../../../payment-sandbox/test/support.ts'
import type { TestSandbox } from '../../../payment-sandbox/test/support.ts'

let world: TestSandbox
let apiUrl: string
beforeAll(async () => {
  world = await startTestSandbox()
  apiUrl = await world.sandbox.api.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => world.close())

function runSetup(settings: Record<string, string>) {
  const program = resolve(import.meta.dirname, '../../../scripts/stripe-setup.ts')
  return promisify(execFile)(process.execPath, [program, '--api-base', apiUrl], {
    env: { PATH: process.env.PATH ?? '', DATA_DIR: '/nonexistent', ...settings },
    timeout: 30_000,
  })
}

test('npm run stripe:setup: publishes the price file, lists the prices, and changes nothing the second time', async () => {
  const settings = { STRIPE_SECRET_KEY: world.sandbox.apiKey }
  const first = await runSetup(settings)
  expect(first.stdout).toMatch(
    /created {4}gpu_instance_seconds\.local-cpu\.local\.0\.00001-usd {2}0\.00001 usd/,
  )
  expect(first.stdout).toContain('/v1/billing/webhook')
  const prices = await world.stripe.prices.list({ active: true, limit: 100 })
  expect(prices.data.map(({ lookup_key: key }) => key)).toContain(
    'gpu_instance_seconds.local-cpu.local.0.00001-usd',
  )
  const second = await runSetup(settings)
  expect(second.stdout).toContain('unchanged  gpu_instance_seconds.local-cpu.local.0.00001-usd')
  expect(second.stdout).toContain('0 of them new')
  expect(await world.stripe.prices.list({ active: true, limit: 100 })).toEqual(prices)
})

test('npm run stripe:setup: on Kubernetes publishes the configured instance types', async () => {
  const settings = { STRIPE_SECRET_KEY: world.sandbox.apiKey, RUNTIME: 'kubernetes' }
  const named = { KUBERNETES_INSTANCE_TYPES: 'l4-x1,h100-x8' }
  const { stdout } = await runSetup({ ...settings, ...named })
  expect(stdout).toMatch(
    /created {4}gpu_instance_seconds\.l4-x1\.default\.0\.000222222222-usd {2}0\.000222222222 usd/,
  )
  expect(stdout).toContain('gpu_instance_seconds.h100-x8.default')
  const meters = await world.stripe.billing.meters.list({ limit: 100 })
  expect(meters.data.map(({ event_name: name }) => name)).toContain(
    'gpu_instance_seconds.l4-x1.default.0.000222222222-usd',
  )
  await expect(runSetup(settings)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/KUBERNETES_INSTANCE_TYPES: .*20 prices.*34/),
  })
})

test('npm run stripe:setup: on a host with GPUs publishes their instance types, and their shares', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-stripe-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const smi =
    "#!/bin/sh\ncase $1 in *compute_cap*) echo 'GPU-a, 8.9' ;; *) echo '0, GPU-a, NVIDIA L4, 23034, 580.159' ;; esac\n"
  await writeFile(join(folder, 'nvidia-smi'), smi, { mode: 0o755 })
  const { stdout } = await runSetup({
    STRIPE_SECRET_KEY: world.sandbox.apiKey,
    GPU_SHARES: '4',
    PATH: `${folder}:${process.env['PATH']}`,
  })
  expect(stdout).toMatch(/created {4}gpu_instance_seconds\.l4-x1\.local\.0\.000222222222-usd/)
  expect(stdout).toMatch(/created {4}gpu_instance_seconds\.l4-x1\S*4\S*local\.0\.000055555555-usd/)
})

test('npm run stripe:setup: a missing or invalid key is reported in one sentence', async () => {
  await expect(runSetup({})).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('STRIPE_SECRET_KEY'),
  })
  await expect(runSetup({ STRIPE_SECRET_KEY: 'sk_test_wrong' })).rejects.toMatchObject({
    code: 1,
    stderr: 'Invalid API Key provided.\n',
  })
})
