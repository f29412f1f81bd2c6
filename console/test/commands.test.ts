import { expect, test } from 'vitest'
import type { Deployment } from '../src/contract.ts'
import { writeCommand } from '../src/domain/cli/write-command.ts'
import { writeDeployCommand } from '../src/domain/deploy/deploy-command.ts'
import { writeScaleCommand } from '../src/features/deployments/scale-command.ts'
import { createProgram } from '../../cli/src/program/program.ts'

const policy = {
  min_instances: 1,
  max_instances: 1,
  idle_minutes: null,
  yields: false,
  cache_scope: 'organization',
  target_concurrency: null,
  schedules: [],
} as const
const deployment = { id: '0198c1', alias: 'assistant', policy } as unknown as Deployment
const draft = {
  idleMinutes: '30',
  least: '2',
  most: '4',
  concurrency: '8',
  yields: true,
  cacheScope: 'member',
  rules: [{ kind: 'time', cron: '0 8 * * MON-FRI', timeZone: 'Europe/Berlin', instances: '2' }],
} as const

test.each([
  writeCommand(['share', 'assistant'], { off: true }),
  writeCommand(['rm', 'assistant']),
  writeScaleCommand(deployment, draft),
  writeScaleCommand(
    { ...deployment, policy: { ...deployment.policy, yields: true } },
    { ...draft, yields: false },
  ),
  writeDeployCommand(
    {
      model_name: 'qwen3',
      model_format: 'ggufv2',
      model_size_in_billions: 0.6,
      quantization: 'q4_k_m',
      min_context_tokens: 8192,
      instance_type: 'l4-x1',
      alias: 'assistant',
      engine_options: { seed: 1 },
    },
    { sleeps: true, shares: true },
  ),
])('`berth` knows %s', async (line) => {
  const [program, name, ...rest] = line.match(/'[^']*'|\S+/g)!.map((word) => word.replaceAll("'", ''))
  expect(program).toBe('berth')
  const command = (await createProgram([])).commands.find((one) => one.name() === name)!
  const { operands, unknown } = command.parseOptions(rest)
  expect([operands.length, unknown]).toEqual([1, []])
})
